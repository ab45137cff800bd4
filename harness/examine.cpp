// Alone, with its prefix, or not at all: how a failure is confirmed before it counts as one that anybody can replay.
#include "harness/examine.h"

#include <map>
#include <set>

namespace cachet {

Case with_prefix(const Case& value, const std::vector<Event>& prefix) {
  Case out = value;
  out.trace.events = prefix;
  std::map<std::string, ModelSpec> held;  // by the life's handles
  for (const Event& event : prefix) {
    if (const auto* load = std::get_if<Load>(&event)) held[load->handle] = load->spec;
    if (const auto* unload = std::get_if<Unload>(&event)) held.erase(unload->handle);
  }
  std::map<std::string, std::string> renamed;
  for (const Event& event : value.trace.events) {
    if (const auto* load = std::get_if<Load>(&event)) {
      std::string name;
      for (const auto& [handle, spec] : held)
        if (spec == load->spec) name = handle;
      if (name.empty()) {
        name = load->handle;
        for (int i = 0; held.count(name) > 0; ++i) name = load->handle + std::to_string(i);
        out.trace.events.push_back(Load{name, load->spec});
        held[name] = load->spec;
      }
      renamed[load->handle] = name;
    } else if (const auto* run = std::get_if<Run>(&event)) {
      out.trace.events.push_back(Run{renamed[run->handle], run->steps});
    } else {
      out.trace.events.push_back(Unload{renamed[std::get<Unload>(event).handle]});
    }
  }
  return out;
}

namespace {

/// Replays in fresh lives; true when it fails that way. A few tries, since one pass proves nothing about a race.
bool confirmed(const Signature& signature, const Case& value, Judge& judge, int tries, std::set<std::string>& seen) {
  for (int i = 0; i < tries; ++i) {
    const Verdict verdict = judge.replay(value);
    if (is_failure(verdict) && signature_of(value.law, verdict) == signature) return true;
    seen.insert(is_failure(verdict) ? to_string(signature_of(value.law, verdict)) : verdict_name(verdict));
  }
  return false;
}

std::string joined(const std::set<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

}  // namespace

void examine(Finding& finding, const std::vector<Event>& prefix, Judge& judge, const std::vector<Property>& laws,
             const Configuration& configuration, const CampaignOptions& options) {
  constexpr int kTries = 3;
  std::set<std::string> seen;
  Case base = finding.found;
  if (!confirmed(finding.signature, base, judge, 1, seen)) {
    base = with_prefix(finding.found, prefix);
    if (!confirmed(finding.signature, base, judge, kTries, seen) &&
        !confirmed(finding.signature, finding.found, judge, kTries, seen)) {
      finding.found = base;
      finding.verdict =
          Nondeterministic{to_string(finding.signature) + " in the campaign's life; in fresh lives: " + joined(seen)};
      finding.signature = signature_of(base.law, finding.verdict);
      return;
    }
  }
  finding.found = base;
  if (!options.shrink_findings) return;
  finding.shrunk = shrink(base, judge, laws, configuration, options.shrinking);
  std::set<std::string> last;
  if (!confirmed(finding.signature, finding.shrunk->minimal, judge, 1, last)) {
    finding.verdict = Nondeterministic{to_string(finding.signature) + " while shrinking; its minimum once more: " + joined(last)};
    finding.signature = signature_of(base.law, finding.verdict);
  }
  finding.exhibits = judge.exhibits();
}

}  // namespace cachet
