// What can be asked of a trace without executing it: counts, its runs, and which model a handle names where.
#include "harness/trace.h"

namespace cachet {

int Trace::steps() const {
  std::size_t count = 0;
  for (const Event& event : events)
    if (const auto* run = std::get_if<Run>(&event)) count += run->steps.size();
  return static_cast<int>(count);
}

int Trace::runs() const { return static_cast<int>(run_indices().size()); }

std::vector<int> Trace::run_indices() const {
  std::vector<int> indices;
  for (std::size_t i = 0; i < events.size(); ++i)
    if (std::holds_alternative<Run>(events[i])) indices.push_back(static_cast<int>(i));
  return indices;
}

const Run* Trace::last_run() const {
  for (auto event = events.rbegin(); event != events.rend(); ++event)
    if (const auto* run = std::get_if<Run>(&*event)) return run;
  return nullptr;
}

Run* Trace::last_run() { return const_cast<Run*>(std::as_const(*this).last_run()); }

const ModelSpec* Trace::spec_at(int index, const std::string& handle) const {
  const ModelSpec* spec = nullptr;
  for (int i = 0; i < index && i < static_cast<int>(events.size()); ++i) {
    const Event& event = events[static_cast<std::size_t>(i)];
    if (const auto* load = std::get_if<Load>(&event); load && load->handle == handle) spec = &load->spec;
    if (const auto* unload = std::get_if<Unload>(&event); unload && unload->handle == handle) spec = nullptr;
  }
  return spec;
}

}  // namespace cachet
