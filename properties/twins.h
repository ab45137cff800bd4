// What the metamorphic laws share: the law's choices out of `vary`, and the twin that starts a session over.
#pragma once

#include <optional>
#include <vector>

#include "harness/compare.h"

namespace cachet::properties {

/// The case's i-th choice, 0 to count - 1; any list of numbers is a valid list of choices.
int choice(const Case& value, std::size_t i, int count);

/// A few choices for Aim::vary, from 0 to `high`.
std::vector<std::int64_t> choices(Draw& draw, int count, std::int64_t high);

/// The case's first choice among the main run's steps that qualify, counted from the last; nullopt when none does.
std::optional<int> chosen_step(const Case& value, const Observed& main, bool (*qualifies)(const StepView&));

/// A fresh run in which `session` starts over with `history` and then gets what it got after step `from` of the main run, and
/// how the two correspond (step `from` itself with the last of the twin's opening steps). Ends before the session's content
/// comes from elsewhere (restore, rollback).
struct Restart {
  std::vector<Step> steps;
  Pairing pairs;
};
Restart restart(const Observed& main, const std::string& session, int from, const Configuration& configuration);

}  // namespace cachet::properties
