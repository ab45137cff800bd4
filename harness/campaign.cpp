// Chunks are judged by workers in any order and merged by their number, so that no result depends on jobs or shards.
#include "harness/campaign.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>

#include "harness/checkpoint.h"
#include "harness/examine.h"
#include "harness/generator.h"

namespace cachet {
namespace {

/// A failing judgement with all that its life had executed before.
struct Failure {
  std::int64_t number = 0;
  std::uint64_t seed = 0;
  Case as_case;
  Verdict verdict;
  std::vector<Event> prefix;
};

struct ChunkResult {
  bool done = false;
  std::int64_t cases = 0, failures = 0;
  std::map<std::string, LawTally> laws;
  std::map<Signature, std::vector<Failure>> failing;  // lowest first, at most one a case
  std::vector<std::string> harness_errors;
};

void add_reason(LawTally& tally, const std::string& reason, std::int64_t count) {
  constexpr std::size_t kMostReasons = 16;
  const bool room = tally.reasons.size() < kMostReasons || tally.reasons.count(reason) > 0;
  tally.reasons[room ? reason : "other"] += count;
}

void add(LawTally& tally, const Verdict& verdict) {
  ++tally.verdicts[verdict_name(verdict)];
  if (const auto* v = std::get_if<Vacuous>(&verdict)) add_reason(tally, v->reason, 1);
  if (const auto* v = std::get_if<Unsupported>(&verdict)) add_reason(tally, v->reason, 1);
}

/// Everything a campaign's workers share and never change.
struct Plan {
  const Subject& subject;
  const std::vector<Property>& laws;       // of the suite, as restricted
  std::vector<const Property*> generated;  // those whose needs are met: round robin
  const CampaignOptions& options;

  std::int64_t chunks() const { return generated.empty() ? 0 : (options.cases + kChunk - 1) / kChunk; }
};

std::vector<ModelPtr> pool_of(const Plan& plan, std::int64_t chunk, std::vector<std::string>& errors) {
  const std::vector<ModelSpec> specs =
      plan.options.models.empty()
          ? model_pool(hash_seed(plan.options.seed, "models", static_cast<std::uint64_t>(chunk)), plan.subject.configuration)
          : plan.options.models;
  std::vector<ModelPtr> out;
  for (const ModelSpec& spec : specs) {
    Result<ModelPtr> model = load_model(spec);
    if (model)
      out.push_back(*model);
    else
      errors.push_back(to_string(model.error()));
  }
  return out;
}

void judge_case(const Plan& plan, Judge& judge, std::int64_t number, const std::vector<ModelPtr>& pool, ChunkResult& out) {
  const auto laws = static_cast<std::int64_t>(plan.generated.size());
  const Property& law = *plan.generated[static_cast<std::size_t>(number % laws)];
  const std::uint64_t seed = hash_seed(plan.options.seed, law.name, static_cast<std::uint64_t>(number));
  const Case value = generate_case({&law, plan.subject.name, &plan.subject.configuration, pool, seed}, judge.oracle());
  ++out.cases;
  ++out.laws[law.name].cases;
  bool failed = false;
  for (Judgement& j : judge.judge(value)) {
    add(out.laws[j.law], j.verdict);
    if (const auto* error = std::get_if<HarnessError>(&j.verdict))
      out.harness_errors.push_back("case " + std::to_string(number) + ": " + error->message);
    if (!is_failure(j.verdict)) continue;
    failed = true;
    std::vector<Failure>& failing = out.failing[signature_of(j.law, j.verdict)];
    if (failing.empty() || failing.back().number != number)
      failing.push_back({number, seed, std::move(j.as_case), std::move(j.verdict), judge.prefix()});
  }
  out.failures += failed;
}

ChunkResult run_chunk(const Plan& plan, Judge& judge, std::int64_t chunk) {
  ChunkResult out;
  judge.begin_chunk();
  const std::vector<ModelPtr> pool = pool_of(plan, chunk, out.harness_errors);
  const std::int64_t end = std::min((chunk + 1) * kChunk, plan.options.cases);
  for (std::int64_t number = chunk * kChunk; number < end && !pool.empty(); ++number) judge_case(plan, judge, number, pool, out);
  for (auto& [signature, failing] : out.failing)  // only the lowest can be shrunk: the others need no case any more
    for (std::size_t i = static_cast<std::size_t>(plan.options.per_signature); i < failing.size(); ++i)
      failing[i] = {failing[i].number, failing[i].seed, {}, {}, {}};
  out.done = true;
  return out;
}

/// Laws that other laws' cases seldom or never exercise get twice as many of their own.
int weight(const Property& law) { return law.always && !law.aim.bad_calls && !law.aim.overflow ? 1 : 2; }

/// Chunks of this shard, handed out in order and collected; knows when enough was found.
class Ledger {
 public:
  Ledger(const Plan& plan, const ProgressSink& progress, const std::atomic<bool>* stop)
      : plan_(plan), progress_(progress), stop_(stop), deadline_(std::chrono::steady_clock::now()) {
    if (plan.options.seconds)
      deadline_ +=
          std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(*plan.options.seconds));
    for (std::int64_t chunk = plan.options.shard; chunk < plan.chunks(); chunk += plan.options.shards) chunks_.push_back(chunk);
    results_.resize(chunks_.size());
  }

  /// The next chunk to judge, nullopt when none is to begin.
  std::optional<std::size_t> next() {
    const std::lock_guard lock(mutex_);
    const bool late = plan_.options.seconds && std::chrono::steady_clock::now() >= deadline_;
    if (begun_ == chunks_.size() || late || enough_ || stopped()) return std::nullopt;
    return begun_++;
  }

  std::int64_t number(std::size_t index) const { return chunks_[index]; }

  void put(std::size_t index, ChunkResult result) {
    const std::lock_guard lock(mutex_);
    done_ += result.cases;
    failures_ += result.failures;
    results_[index] = std::move(result);
    while (counted_ < results_.size() && results_[counted_].done && !enough_) {
      for (const auto& [signature, failing] : results_[counted_].failing) found_.insert(signature);
      ++counted_;
      enough_ = is_enough();
    }
    if (progress_) progress_({plan_.subject.name, done_, cases(), failures_, "judging"});
  }

  bool stopped() const { return stop_ != nullptr && stop_->load(); }
  /// The results that count: up to the chunk in which enough was found, and no further.
  std::vector<ChunkResult> take() {
    if (enough_) results_.resize(counted_);
    return std::move(results_);
  }
  std::int64_t cases() const {
    return std::min<std::int64_t>(static_cast<std::int64_t>(chunks_.size()) * kChunk, plan_.options.cases);
  }

 private:
  bool is_enough() const {
    const CampaignOptions& o = plan_.options;
    if (o.stop_after > 0 && static_cast<long>(found_.size()) >= o.stop_after) return true;
    return !o.until.empty() && std::all_of(o.until.begin(), o.until.end(), [&](const std::string& law) {
      return std::any_of(found_.begin(), found_.end(), [&](const Signature& s) { return s.law == law; });
    });
  }

  const Plan& plan_;
  const ProgressSink& progress_;
  const std::atomic<bool>* stop_;
  std::chrono::steady_clock::time_point deadline_;
  std::mutex mutex_;
  std::vector<std::int64_t> chunks_;
  std::vector<ChunkResult> results_;
  std::size_t begun_ = 0, counted_ = 0;
  bool enough_ = false;
  std::set<Signature> found_;
  std::int64_t done_ = 0, failures_ = 0;
};

/// Runs `work` on `count` threads, the last on this one.
template <typename F>
void on_threads(int count, F&& work) {
  std::vector<std::thread> threads;
  for (int i = 1; i < count; ++i) threads.emplace_back(work, i);
  work(0);
  for (std::thread& t : threads) t.join();
}

void merge(LawTally& into, const LawTally& from) {
  into.cases += from.cases;
  for (const auto& [name, count] : from.verdicts) into.verdicts[name] += count;
  for (const auto& [reason, count] : from.reasons) add_reason(into, reason, count);
}

/// Sums the chunks in order and keeps the lowest failures of each signature.
std::vector<std::pair<Finding, std::vector<Event>>> collect(std::vector<ChunkResult> chunks, int per_signature,
                                                            CampaignResult& out) {
  std::map<Signature, std::vector<Failure>> lowest;
  std::map<Signature, std::int64_t> counts;
  constexpr std::size_t kMostErrors = 20;
  for (ChunkResult& chunk : chunks) {
    out.cases += chunk.cases;
    out.failures += chunk.failures;
    for (const auto& [law, tally] : chunk.laws) merge(out.laws[law], tally);
    for (std::string& error : chunk.harness_errors)
      if (out.harness_errors.size() < kMostErrors) out.harness_errors.push_back(std::move(error));
    for (auto& [signature, failing] : chunk.failing) {
      counts[signature] += static_cast<std::int64_t>(failing.size());
      for (Failure& failure : failing)
        if (static_cast<int>(lowest[signature].size()) < per_signature) lowest[signature].push_back(std::move(failure));
    }
  }
  std::vector<std::pair<Finding, std::vector<Event>>> found;
  for (auto& [signature, failing] : lowest)
    for (Failure& failure : failing) {
      Finding finding;
      finding.signature = signature;
      finding.case_number = failure.number;
      finding.seed = failure.seed;
      finding.count = counts[signature];
      finding.found = std::move(failure.as_case);
      finding.verdict = std::move(failure.verdict);
      found.emplace_back(std::move(finding), std::move(failure.prefix));
    }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first.case_number < b.first.case_number; });
  return found;
}

/// Later findings of a signature that ended in a minimum already reported are that finding once more.
void drop_repeated(std::vector<Finding>& findings) {
  std::vector<Finding> kept;
  for (Finding& finding : findings) {
    const bool known = std::any_of(kept.begin(), kept.end(), [&](const Finding& k) {
      return k.signature == finding.signature && k.shrunk && finding.shrunk && k.shrunk->minimal == finding.shrunk->minimal;
    });
    if (!known) kept.push_back(std::move(finding));
  }
  findings = std::move(kept);
}

}  // namespace

CampaignResult run_campaign(const Subject& subject, const std::vector<Property>& laws, const CampaignOptions& options,
                            const ProgressSink& progress, const std::atomic<bool>* stop) {
  const auto begin = std::chrono::steady_clock::now();
  CampaignResult out;
  out.subject = subject.name;
  out.seed = options.seed;
  std::vector<Property> suite;
  for (const Property& law : laws)
    if (options.laws.empty() || std::count(options.laws.begin(), options.laws.end(), law.name) > 0) suite.push_back(law);
  Plan plan{subject, suite, {}, options};
  for (const Property& law : suite) {
    if (const auto reason = missing_need(law, subject.configuration))
      out.unsupported[law.name] = *reason;
    else
      plan.generated.insert(plan.generated.end(), static_cast<std::size_t>(weight(law)), &law);
  }

  Ledger ledger(plan, progress, stop);
  const int workers = std::max(1, options.jobs);
  std::vector<std::unique_ptr<Judge>> judges(static_cast<std::size_t>(workers));
  std::mutex broken;
  const auto judge_of = [&](int worker) -> Judge* {
    std::unique_ptr<Judge>& judge = judges[static_cast<std::size_t>(worker)];
    if (judge) return judge.get();
    Result<std::unique_ptr<Judge>> made = Judge::make(subject.make, subject.configuration, suite);
    if (made) judge = std::move(*made);
    const std::lock_guard lock(broken);
    if (!made) out.broken = to_string(made.error());
    return judge.get();
  };
  on_threads(workers, [&](int worker) {
    Judge* judge = judge_of(worker);
    if (judge == nullptr) return;
    while (const auto index = ledger.next()) ledger.put(*index, run_chunk(plan, *judge, ledger.number(*index)));
  });

  auto found = collect(ledger.take(), options.per_signature, out);
  std::atomic<std::size_t> next_finding = 0;
  std::mutex reporting;
  on_threads(workers, [&](int worker) {
    Judge* judge = judges[static_cast<std::size_t>(worker)].get();
    for (std::size_t i = 0; judge != nullptr && !ledger.stopped() && (i = next_finding++) < found.size();) {
      if (progress) {
        const std::lock_guard lock(reporting);
        progress({subject.name, out.cases, ledger.cases(), out.failures,
                  (options.shrink_findings ? "shrinking " : "confirming ") + to_string(found[i].first.signature)});
      }
      examine(found[i].first, found[i].second, *judge, suite, subject.configuration, options);
    }
  });
  for (auto& [finding, prefix] : found) out.findings.push_back(std::move(finding));
  drop_repeated(out.findings);
  out.interrupted = ledger.stopped();
  for (const auto& judge : judges) {
    if (!judge) continue;
    out.seconds_backend += judge->backend_seconds();
    out.seconds_reference += judge->reference_seconds();
  }
  out.seconds_total = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return out;
}

}  // namespace cachet
