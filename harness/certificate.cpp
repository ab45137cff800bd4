// The document is built whole, with text from outside made safe to show; harness/files.h writes it.
#include "harness/certificate.h"

#include "harness/json.h"
#include "harness/reporters.h"
#include "harness/text.h"
#include "harness/words.h"

namespace cachet {

namespace {

Json divergence_json(const Divergence& d) {
  return {{"kind", d.kind},
          {"op", d.op},
          {"run", d.run},
          {"step", d.step},
          {"expected", printable(d.expected)},
          {"observed", printable(d.observed)},
          {"tolerance", printable(d.detail)},
          {"twin", printable(d.twin)}};
}

Json exhibit_json(const Judge::Exhibit& exhibit) {
  Json reports = Json::array();
  for (const Report& report : exhibit.record.reports) reports.push_back(report_to_json(report));
  Json object = {{"name", exhibit.name}, {"trace", print_trace(exhibit.trace)}, {"reports", reports}};
  if (exhibit.record.broken)
    object["broken"] = {{"step", exhibit.record.broken->step},
                        {"message", printable(exhibit.record.broken->message)},
                        {"evidence", printable(exhibit.record.broken->evidence)}};
  return object;
}

Json shrinking_json(const ShrinkResult& shrunk) {
  Json passes = Json::array(), neighbours = Json::array(), slipped = Json::array();
  for (const PassStatistics& p : shrunk.passes)
    passes.push_back({{"name", p.name}, {"proposed", p.proposed}, {"evaluated", p.evaluated}, {"useful", p.useful}});
  for (const Neighbour& n : shrunk.neighbours) neighbours.push_back({{"pass", n.pass}, {"verdict", n.verdict}, {"case", n.text}});
  for (const auto& [signature, value] : shrunk.slipped)
    slipped.push_back({{"signature", to_string(signature)}, {"case", print_case(value)}});
  return {{"evaluations", shrunk.evaluations},
          {"exhausted", shrunk.exhausted},
          {"passes", passes},
          {"neighbours", neighbours},
          {"slipped", slipped}};
}

}  // namespace

std::string failure_certificate(const Finding& finding, const std::string& suite_version) {
  const Case& minimal = minimal_case(finding);
  const Verdict& verdict = minimal_verdict(finding);
  Json object = {{"certificate", "failure"},
                 {"suite", "cachet " + suite_version},
                 {"law", finding.signature.law},
                 {"backend", minimal.backend},
                 {"verdict", verdict_name(verdict)},
                 {"case", print_case(minimal)},
                 {"steps", minimal.trace.steps()},
                 {"found", print_case(finding.found)},
                 {"case_number", finding.case_number},
                 {"seed", finding.seed},
                 {"count", finding.count}};
  if (const Divergence* d = divergence_of(verdict)) object["divergence"] = divergence_json(*d);
  if (const auto* n = std::get_if<Nondeterministic>(&verdict)) object["varied"] = printable(n->varied);
  if (finding.shrunk) object["shrinking"] = shrinking_json(*finding.shrunk);
  Json exhibits = Json::array();
  for (const Judge::Exhibit& exhibit : finding.exhibits) exhibits.push_back(exhibit_json(exhibit));
  object["exhibits"] = std::move(exhibits);
  return object.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace cachet
