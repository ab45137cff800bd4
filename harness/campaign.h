// A campaign: numbered cases of a subject in chunks, judged in parallel, with the same findings for any number of jobs and
// shards.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/shrinker.h"

namespace cachet {

/// A backend with one configuration, named as it is printed and as a case's header names it.
struct Subject {
  std::string name;  ///< "eager", "static_cache+stale_length", "process:python3 adapter.py/static"
  BackendFactory make;
  Configuration configuration;
};

struct CampaignOptions {
  std::uint64_t seed = 1;
  std::int64_t cases = 2000;      ///< of the subject, over all shards
  std::optional<double> seconds;  ///< no chunk begins after that
  int jobs = 1;
  int shard = 0, shards = 1;      ///< this shard runs the chunks that are shard modulo shards
  std::vector<std::string> laws;  ///< restricts generation and judging; empty: all
  std::vector<ModelSpec> models;  ///< empty: generated
  bool shrink_findings = true;
  long stop_after = 0;             ///< findings (distinct signatures) after which no chunk counts; 0: never
  std::vector<std::string> until;  ///< no chunk counts after every one of these laws has a finding; empty: no such end
  int per_signature = 1;           ///< lowest failing cases of a signature that are shrunk; distinct minima are findings
  ShrinkOptions shrinking;
};

/// How often a law was judged and with which result; one law on one subject.
struct LawTally {
  std::int64_t cases = 0;                        ///< cases generated for it
  std::map<std::string, std::int64_t> verdicts;  ///< by verdict_name, over all transcripts it was judged on
  std::map<std::string, std::int64_t> reasons;   ///< of vacuous, unsupported, tie: how often each reason
};

/// The lowest failing case of a signature, and what became of it.
struct Finding {
  Signature signature;
  std::int64_t case_number = 0;  ///< global number g of the subject
  std::uint64_t seed = 0;        ///< of that case
  std::int64_t count = 0;        ///< failing cases with this signature
  Case found;                    ///< as generated; after a failure that needs the chunk's earlier cases: the whole prefix
  Verdict verdict;               ///< as found; Nondeterministic when it did not fail again
  std::optional<ShrinkResult> shrunk;
  std::vector<Judge::Exhibit> exhibits;  ///< what both sides showed on the minimal case
  std::string file;                      ///< where its case was written; set by the caller
};

struct CampaignResult {
  std::string subject;
  std::uint64_t seed = 0;
  std::int64_t cases = 0;     ///< judged by this shard
  std::int64_t failures = 0;  ///< cases with a verdict that counts against the backend
  std::map<std::string, LawTally> laws;
  std::vector<Finding> findings;                   ///< by case number
  std::map<std::string, std::string> unsupported;  ///< laws whose needs are not declared: the reason
  std::vector<std::string> harness_errors;
  std::string broken;  ///< the backend could not be started or described; nothing was judged
  bool interrupted = false;
  double seconds_total = 0, seconds_backend = 0, seconds_reference = 0;
};

/// Progress of a running campaign, called from one thread at a time.
struct Progress {
  std::string subject;
  std::int64_t done = 0, cases = 0, failures = 0;
  std::string phase;  ///< "judging", "shrinking LAW kind op"
};
using ProgressSink = std::function<void(const Progress&)>;

/// `stop` may be set at any time: chunks under way are finished, findings so far are reported unshrunk.
CampaignResult run_campaign(const Subject& subject, const std::vector<Property>& laws, const CampaignOptions& options,
                            const ProgressSink& progress = {}, const std::atomic<bool>* stop = nullptr);

/// Cases in a chunk: one life. Fixed, never derived from jobs, shards or time.
inline constexpr std::int64_t kChunk = 20;

}  // namespace cachet
