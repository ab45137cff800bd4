// Executes a trace event by event and stops at the first that is refused or breaks.
#include "harness/transcript.h"

#include "harness/checkpoint.h"

namespace cachet {
namespace {

void execute_load(const Load& load, Life& life, Transcript& transcript) {
  const Result<ModelPtr> model = load_model(load.spec);
  if (!model) {
    transcript.refused = "the model cannot be made: " + to_string(model.error());
    return;
  }
  LoadOutcome outcome = life.load(load.handle, *model);
  transcript.broken = std::move(outcome.broken);
  if (!transcript.broken && !outcome.ok) transcript.refused = std::move(outcome.refusal);
}

}  // namespace

Transcript execute(const Trace& trace, Life& life) {
  Transcript transcript;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const Event& event = trace.events[i];
    if (const auto* load = std::get_if<Load>(&event)) {
      execute_load(*load, life, transcript);
    } else if (const auto* run = std::get_if<Run>(&event)) {
      transcript.runs.push_back(life.run(run->handle, run->steps));
      transcript.broken = transcript.runs.back().broken;
    } else {
      transcript.broken = life.unload(std::get<Unload>(event).handle);
    }
    if (transcript.broken) transcript.broken_event = static_cast<int>(i);
    if (!transcript.complete()) break;
  }
  return transcript;
}

}  // namespace cachet
