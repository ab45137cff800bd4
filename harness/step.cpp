// Names of steps: the one word that text and JSON share, and the session a step speaks of.
#include "harness/step.h"

#include <array>

namespace cachet {
namespace {

constexpr std::array<const char*, std::variant_size_v<Step>> kOpNames = {
    "open",    "append",   "generate", "complete", "crop",  "remove",  "shift",  "fork",      "reorder", "save",
    "restore", "snapshot", "rollback", "length",   "reset", "release", "poison", "recompile", "close",   "raw"};

}  // namespace

const char* op_name(const Step& step) { return kOpNames[step.index()]; }

std::string session_of(const Step& step) {
  return std::visit(
      [](const auto& s) -> std::string {
        if constexpr (requires { s.session; }) {
          return s.session;
        } else {
          return {};
        }
      },
      step);
}

}  // namespace cachet
