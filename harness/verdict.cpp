// Verdicts as words, and the signature by which two failures count as the same bug.
#include "harness/verdict.h"

#include <array>

namespace cachet {
namespace {

constexpr std::array<const char*, std::variant_size_v<Verdict>> kVerdictNames = {
    "pass",  "fail",    "tie",           "vacuous", "unsupported",    "overclaim", "nondeterministic",
    "crash", "timeout", "harness_error", "waived",  "unexpected_pass"};

}  // namespace

const char* verdict_name(const Verdict& verdict) { return kVerdictNames[verdict.index()]; }

bool is_failure(const Verdict& verdict) {
  return divergence_of(verdict) != nullptr || std::holds_alternative<Nondeterministic>(verdict) ||
         std::holds_alternative<UnexpectedPass>(verdict);
}

const Divergence* divergence_of(const Verdict& verdict) {
  return std::visit(
      [](const auto& v) -> const Divergence* {
        if constexpr (requires { v.divergence; }) {
          return &v.divergence;
        } else {
          return nullptr;
        }
      },
      verdict);
}

std::string to_string(const Signature& signature) {
  std::string text = signature.law + " " + signature.kind;
  if (!signature.op.empty()) text += " " + signature.op;
  return text;
}

Signature signature_of(const std::string& law, const Verdict& verdict) {
  if (const Divergence* divergence = divergence_of(verdict)) return {law, divergence->kind, divergence->op};
  return {law, verdict_name(verdict), ""};
}

}  // namespace cachet
