// A length that is an array or a real works until someone slices with it; its type is part of the contract.
#include "harness/compare.h"

namespace cachet::properties {
namespace {

Verdict judge(const Case&, Lab& lab) {
  bool any = false;
  for (const StepView& view : lab.main().views) {
    if (!view.judged) continue;
    std::vector<std::pair<std::string, const LengthReport*>> all;
    if (view.report->lengths) all.emplace_back("length", &*view.report->lengths);
    if (view.report->layer_lengths)
      for (std::size_t l = 0; l < view.report->layer_lengths->size(); ++l)
        all.emplace_back("length of layer " + std::to_string(l), &(*view.report->layer_lengths)[l]);
    for (const auto& [name, report] : all)
      for (const Value& value : report->values) {
        any = true;
        if (!std::holds_alternative<IntegerValue>(value))
          return fail_at(view, "length_type", "a plain integer", to_string(value), name);
      }
  }
  return any ? Verdict(Pass{}) : Vacuous{"no length was reported"};
}

}  // namespace

Property seq_length_is_integral() {
  Property law;
  law.name = "seq_length_is_integral";
  law.claim = "Every length a backend reports is a plain host integer: no real, no array, no device tensor.";
  law.needs = {{"append", "complete"}};
  law.always = true;
  law.aim.favour = {{"length", 8}};
  law.judge = judge;
  return law;
}

}  // namespace cachet::properties
