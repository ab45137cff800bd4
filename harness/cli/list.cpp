// `cachet list`: what this program holds, for people and, one JSON object a line, for scripts.
#include <fmt/core.h>

#include <memory>

#include "harness/cli/commands.h"
#include "harness/cli/common.h"
#include "harness/json.h"
#include "reference/architecture.h"

namespace cachet::cli {

namespace {

using Rows = std::vector<std::pair<Json, std::string>>;  // the object beside the line for people

const char* tier_name(Tier tier) {
  return tier == Tier::kSpecified ? "specified" : tier == Tier::kDeclared ? "declared" : "unspecified";
}

std::string joined(const std::vector<std::string>& words, const char* separator = ", ") {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : separator) + word;
  return text;
}

Result<Rows> list_backends(const Suite& suite) {
  Rows rows;
  for (const std::string& name : suite.backends) {
    const Result<BackendFactory> factory = suite.resolve(name);
    if (!factory) return factory.error();
    const Result<std::unique_ptr<Backend>> backend = (*factory)();
    if (!backend) return backend.error();
    Json configurations = Json::array();
    std::vector<std::string> names;
    for (const Configuration& c : (*backend)->describe().configurations) {
      configurations.push_back(configuration_to_json(c));
      names.push_back(c.name);
    }
    rows.emplace_back(Json{{"name", name}, {"configurations", configurations}}, fmt::format("{:24} {}", name, joined(names)));
  }
  return rows;
}

Rows list_laws(const Suite& suite) {
  Rows rows;
  for (const Property& law : suite.laws) {
    std::vector<std::string> needs;
    for (const auto& any : law.needs) needs.push_back(joined(any, " or "));
    const std::string needed = needs.empty() ? "" : "  (needs " + joined(needs) + ")";
    rows.emplace_back(Json{{"name", law.name},
                           {"claim", law.claim},
                           {"tier", tier_name(law.tier)},
                           {"needs", law.needs},
                           {"always", law.always}},
                      fmt::format("{:32} {}{}", law.name, law.claim, needed));
  }
  return rows;
}

Rows list_defects(const Suite& suite) {
  Rows rows;
  for (const ZooEntry& entry : suite.zoo)
    rows.emplace_back(Json{{"name", entry.name},
                           {"host", entry.host},
                           {"laws", entry.laws},
                           {"known_steps", entry.known_steps},
                           {"subject", entry.subject.name}},
                      fmt::format("{:40} {} steps  {}", entry.subject.name, entry.known_steps, joined(entry.laws)));
  return rows;
}

Rows list_architectures() {
  Rows rows;
  for (const reference::Architecture& architecture : reference::architectures())
    rows.emplace_back(Json{{"name", architecture.name}}, architecture.name);
  return rows;
}

int run_list(const std::string& what, bool json, const Suite& suite) {
  Result<Rows> rows = what == "backends"  ? list_backends(suite)
                      : what == "laws"    ? list_laws(suite)
                      : what == "defects" ? list_defects(suite)
                                          : list_architectures();
  if (!rows) return complain(kHarness, to_string(rows.error()));
  for (const auto& [object, line] : *rows) print((json ? object.dump() : line) + "\n");
  return kHolds;
}

}  // namespace

Command list_command(CLI::App& app, const Suite& suite) {
  struct Flags {
    std::string what;
    bool json = false;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* list = app.add_subcommand("list", "Name the backends, laws, planted bugs or architectures");
  list->footer("Example: cachet list laws\n         cachet list defects --json");
  list->add_option("WHAT", flags->what, "backends, laws, defects or architectures")
      ->required()
      ->check(CLI::IsMember({"backends", "laws", "defects", "architectures"}));
  list->add_flag("--json", flags->json, "One JSON object a line");
  return {list, [flags, &suite] { return run_list(flags->what, flags->json, suite); }};
}

}  // namespace cachet::cli
