// The planted bugs as a yardstick: found by every seed, in how many cases, shrunk to which minima with how many evaluations.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/campaign.h"

namespace cachet {

/// What the zoo must know of a defect; the backends layer supplies the list.
struct ZooEntry {
  std::string name;               ///< "stale_length"
  std::string host;               ///< "static_cache"
  std::vector<std::string> laws;  ///< that must catch it
  int known_steps = 0;
  Subject subject;  ///< HOST+NAME
};

/// A row of `zoo --json`. `minima` is the largest number of distinct minima over its laws and divergences.
struct ZooRow {
  std::string defect, host;
  std::vector<std::string> caught_by;  ///< laws under which it was found
  int seeds = 0, found = 0;            ///< seeds by which every law that must catch it did
  double median_cases = 0;             ///< cases until the first finding
  int minima = 0;
  int steps = 0;  ///< of a seed's shortest minimum under a law that must catch it, the largest over seeds and laws
  int known_steps = 0;
  double median_evaluations = 0;
  long slippage = 0;                                        ///< shrinks that ended in another signature's case
  std::vector<std::string> missed;                          ///< "LAW by seed S": laws that did not catch it
  std::map<std::string, std::vector<std::string>> minimal;  ///< the distinct minima in text form, by signature
};

struct ZooOptions {
  int seeds = 20;
  std::int64_t cases = 3000;  ///< budget of cases for a seed
  int jobs = 1;
};

ZooRow run_zoo_entry(const ZooEntry& entry, const std::vector<Property>& laws, const ZooOptions& options);

/// Two defects planted at once: both found, and each minimum as alone.
struct PairRow {
  std::string first, second, host;
  bool both_found = false;
  bool same_minima = false;
  std::string note;
};
PairRow run_zoo_pair(const ZooEntry& first, const ZooEntry& second, const Subject& both, const std::vector<Property>& laws,
                     const ZooOptions& options);

}  // namespace cachet
