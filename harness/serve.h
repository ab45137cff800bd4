// The protocol's server side: offers any backend to another process, one JSON-RPC line at a time (PROTOCOL.md). It also holds
// the decoder of raw steps, which backends in this process share with it.
#pragma once

#include <iosfwd>

#include "harness/backend.h"

namespace cachet {

/// Answers the requests on `in` until shutdown or the end of input; returns the exit code. Each step's notification is flushed
/// before the next step begins. Models come from `directory` where a load names one, else from `spec`. A malformed or unknown
/// step is a refused step, whatever it is made of, and never an error of its run. The backend's life is one of one
/// configuration: a load in another one while models are loaded is refused.
int serve(Backend& backend, std::istream& in, std::ostream& out);

/// The well-formed step that a raw one spells; error.file is the refusal's kind, as of step_from_json.
Result<Step> decode_raw(const Raw& raw);

/// Executes a step on an engine; a raw step as what it decodes to, and what does not decode is a refused report.
Report execute_step(Engine& engine, const Step& step);

}  // namespace cachet
