// `cachet zoo`: the planted bugs as a yardstick, against the bars that a release must meet.
#include "harness/zoo.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "harness/cli/commands.h"
#include "harness/cli/common.h"
#include "harness/cli/interrupt.h"
#include "harness/cli/progress.h"
#include "harness/json.h"

namespace cachet::cli {

namespace {

constexpr double kMostMedianCases = 50;
constexpr double kMostMedianEvaluations = 400;
constexpr int kMostNumericMinima = 2;  ///< where a tolerance decides, a neighbour may fall on either side of it

struct ZooFlags {
  std::vector<std::string> defects;
  int pairs = -1;  ///< -1: not asked for; 0: all
  ZooOptions options;
  bool json = false, progress = false, minima = false;
  bool found_only = false;
};

/// Is the defect one of arithmetic, caught by comparison with the reference?
bool is_numeric(const ZooEntry& entry) {
  return std::find(entry.laws.begin(), entry.laws.end(), "logits_match_reference") != entry.laws.end();
}

/// Bars that a row misses, in words.
std::vector<std::string> missed_bars(const ZooEntry& entry, const ZooRow& row) {
  std::vector<std::string> missed = row.missed;
  const int most_minima = is_numeric(entry) ? kMostNumericMinima : 1;
  if (row.found < row.seeds && missed.empty()) missed.push_back(fmt::format("found by {} of {} seeds", row.found, row.seeds));
  if (row.median_cases > kMostMedianCases)
    missed.push_back(fmt::format("median cases {} above {}", row.median_cases, kMostMedianCases));
  if (row.minima > most_minima) missed.push_back(fmt::format("{} minima, at most {}", row.minima, most_minima));
  if (row.steps != row.known_steps) missed.push_back(fmt::format("{} steps, known {}", row.steps, row.known_steps));
  if (row.median_evaluations > kMostMedianEvaluations)
    missed.push_back(fmt::format("median evaluations {} above {}", row.median_evaluations, kMostMedianEvaluations));
  return missed;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::vector<std::string> all_minima(const ZooRow& row) {
  std::vector<std::string> out;
  for (const auto& [signature, texts] : row.minimal) out.insert(out.end(), texts.begin(), texts.end());
  return out;
}

Json row_json(const ZooRow& row, const std::vector<std::string>& missed) {
  return {{"event", "defect"},
          {"defect", row.defect},
          {"host", row.host},
          {"caught_by", row.caught_by},
          {"seeds", row.seeds},
          {"found", row.found},
          {"median_cases", row.median_cases},
          {"minima", row.minima},
          {"steps", row.steps},
          {"known_steps", row.known_steps},
          {"median_evaluations", row.median_evaluations},
          {"slippage", row.slippage},
          {"missed", missed},
          {"minimal", all_minima(row)},
          {"minimal_by", row.minimal}};
}

void print_row(const ZooFlags& flags, const ZooRow& row, const std::vector<std::string>& missed) {
  if (flags.json) return print(row_json(row, missed).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  print(fmt::format("{:28} {:14} {:>3}/{:<3} {:>7.1f} {:>7} {:>3}/{:<3} {:>8.1f} {:>5}  {}\n", row.defect, row.host, row.found,
                    row.seeds, row.median_cases, row.minima, row.steps, row.known_steps, row.median_evaluations, row.slippage,
                    joined(row.caught_by)));
  for (const std::string& bar : missed) print(fmt::format("    missed: {}\n", bar));
  if (flags.minima)
    for (const std::string& text : all_minima(row)) print("\n" + text + "\n");
}

Result<std::vector<const ZooEntry*>> chosen(const ZooFlags& flags, const Suite& suite) {
  std::vector<const ZooEntry*> entries;
  for (const ZooEntry& entry : suite.zoo) {
    const bool named = std::any_of(flags.defects.begin(), flags.defects.end(),
                                   [&](const std::string& d) { return d == entry.name || d == entry.subject.name; });
    if (flags.defects.empty() || named) entries.push_back(&entry);
  }
  for (const std::string& name : flags.defects)
    if (std::none_of(entries.begin(), entries.end(),
                     [&](const ZooEntry* e) { return e->name == name || e->subject.name == name; }))
      return Error{"--defect", 0, "no defect is called \"" + name + "\"; see cachet list defects"};
  return entries;
}

struct Pair {
  const ZooEntry* first;
  const ZooEntry* second;
};

/// Pairs of one host, spread evenly over all of them when fewer are asked for.
std::vector<Pair> pairs_of(const std::vector<const ZooEntry*>& entries, int most) {
  std::vector<Pair> all;
  for (std::size_t i = 0; i < entries.size(); ++i)
    for (std::size_t j = i + 1; j < entries.size(); ++j)
      if (entries[i]->host == entries[j]->host &&
          entries[i]->subject.configuration.name == entries[j]->subject.configuration.name)
        all.push_back({entries[i], entries[j]});
  if (most <= 0 || all.size() <= static_cast<std::size_t>(most)) return all;
  std::vector<Pair> some;
  for (int k = 0; k < most; ++k) some.push_back(all[static_cast<std::size_t>(k) * all.size() / static_cast<std::size_t>(most)]);
  return some;
}

int run_pairs(const ZooFlags& flags, const Suite& suite, const std::vector<const ZooEntry*>& entries,
              const std::atomic<bool>& stop, ProgressLine& line) {
  int judged = 0, failed = 0;
  for (const Pair& pair : pairs_of(entries, flags.pairs)) {
    if (stop) break;
    const std::string name = pair.first->host + "+" + pair.first->name + "+" + pair.second->name;
    const Result<BackendFactory> factory = suite.resolve(name);
    if (!factory) return complain(kHarness, name + ": " + to_string(factory.error()));
    line.show("zoo: " + name);
    const std::string& single = pair.first->subject.name;
    const std::size_t slash = std::min(single.find('/'), single.size());
    const Subject both{name + single.substr(slash), *factory, pair.first->subject.configuration};
    const PairRow row = run_zoo_pair(*pair.first, *pair.second, both, suite.laws, flags.options);
    const bool holds = row.both_found && row.same_minima;
    ++judged;
    failed += holds ? 0 : 1;
    if (flags.json)
      print(Json{{"event", "pair"},
                 {"first", row.first},
                 {"second", row.second},
                 {"host", row.host},
                 {"both_found", row.both_found},
                 {"same_minima", row.same_minima},
                 {"note", row.note}}
                .dump(-1, ' ', false, Json::error_handler_t::replace) +
            "\n");
    else
      print(fmt::format("{:64} {:18} {:20} {}\n", name, row.both_found ? "both found" : "MISSED ONE",
                        row.same_minima ? "minima as alone" : "OTHER MINIMA", row.note));
    std::fflush(stdout);
  }
  if (flags.json)
    print(Json{{"event", "summary"}, {"pairs", judged}, {"missed", failed}}.dump() + "\n");
  else
    print(fmt::format("{} of {} pairs meet every bar\n", judged - failed, judged));
  return stop ? kInterrupted : failed > 0 ? kFails : judged == 0 ? kNothingJudged : kHolds;
}

int run_zoo(const ZooFlags& flags, const Suite& suite) {
  const Result<std::vector<const ZooEntry*>> entries = chosen(flags, suite);
  if (!entries) return complain(entries.error());
  const std::atomic<bool>& stop = watch_interrupts();
  ProgressLine line(flags.progress);
  if (flags.pairs >= 0) return run_pairs(flags, suite, *entries, stop, line);
  if (!flags.json)
    print(fmt::format("{:28} {:14} {:>7} {:>7} {:>7} {:>7} {:>8} {:>5}  {}\n", "defect", "host", "found", "cases", "minima",
                      "steps", "evals", "slip", "caught by"));
  int judged = 0, failed = 0, found = 0;
  for (const ZooEntry* entry : *entries) {
    if (stop) break;
    line.show("zoo: " + entry->subject.name);
    const ZooRow row = run_zoo_entry(*entry, suite.laws, flags.options);
    const std::vector<std::string> missed = missed_bars(*entry, row);
    ++judged;
    failed += missed.empty() ? 0 : 1;
    found += row.found == row.seeds ? 1 : 0;
    print_row(flags, row, missed);
    std::fflush(stdout);
  }
  if (flags.json)
    print(Json{{"event", "summary"}, {"defects", judged}, {"found", found}, {"missed", failed}, {"seeds", flags.options.seeds}}
              .dump() +
          "\n");
  else
    print(fmt::format("found {} of {} by every seed; {} meet every bar\n", found, judged, judged - failed));
  if (flags.found_only) failed = judged - found;
  return stop ? kInterrupted : failed > 0 ? kFails : judged == 0 ? kNothingJudged : kHolds;
}

}  // namespace

Command zoo_command(CLI::App& app, const Suite& suite) {
  auto flags = std::make_shared<ZooFlags>();
  CLI::App* zoo = app.add_subcommand("zoo", "Run the planted bugs: exit code 1 when a bar is missed");
  zoo->footer(
      fmt::format("Bars: found by every seed, median cases at most {}, one minimum of the known length ({} where arithmetic "
                  "decides), median evaluations at most {}.\n"
                  "Example: cachet zoo --seeds 20 --json\n         cachet zoo --pairs 10",
                  kMostMedianCases, kMostNumericMinima, kMostMedianEvaluations));
  zoo->add_option("--defect", flags->defects, "Only this one, NAME or HOST+NAME; repeatable")
      ->allow_extra_args(false)
      ->type_name("NAME");
  CLI::Option* pairs = zoo->add_option("--pairs", flags->pairs, "Plant two of one host at once; at most N pairs")
                           ->expected(0, 1)
                           ->default_str("0")
                           ->check(CLI::Range(0, 100000))
                           ->type_name("[N]");
  zoo->add_option("--seeds", flags->options.seeds, "Campaigns a defect")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str()
      ->type_name("N");
  zoo->add_option("--cases", flags->options.cases, "Cases a campaign at most")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{10'000'000}))
      ->capture_default_str()
      ->type_name("N");
  zoo->add_flag("--found", flags->found_only, "Exit code 1 only where a defect is not found by every seed");
  zoo->add_option("--jobs", flags->options.jobs, "Threads")->check(CLI::Range(1, 1024))->capture_default_str()->type_name("J");
  zoo->add_flag("--json", flags->json, "One JSON object a line");
  zoo->add_flag("--minima", flags->minima, "Print the minimal cases too");
  zoo->add_flag("--progress", flags->progress, "Show progress where standard error is no terminal too");
  return {zoo, [flags, pairs, &suite] {
            if (pairs->count() == 0) flags->pairs = -1;
            return run_zoo(*flags, suite);
          }};
}

}  // namespace cachet::cli
