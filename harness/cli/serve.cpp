// `cachet serve`: offers a built-in backend to any program that speaks the protocol, cachet itself among them.
#include "harness/serve.h"

#include <iostream>
#include <memory>

#include "harness/cli/commands.h"
#include "harness/cli/common.h"
#include "harness/cli/subject.h"

namespace cachet::cli {

namespace {

int run_serve(const std::string& text, const Suite& suite) {
  const Result<SubjectName> name = parse_subject(text);
  if (!name) return complain(name.error());
  if (!name->configuration.empty())
    return complain(kUsage, "\"" + text + "\": serve offers all configurations; expected NAME or NAME+DEFECT");
  const Result<BackendFactory> factory =
      name->backend == "process" ? Result<BackendFactory>(suite.process(name->argv, {})) : suite.resolve(name->backend);
  if (!factory) return complain(kUsage, "unknown backend \"" + text + "\": " + factory.error().message);
  const Result<std::unique_ptr<Backend>> backend = (*factory)();
  if (!backend) return complain(backend.error());
  return serve(**backend, std::cin, std::cout);
}

}  // namespace

Command serve_command(CLI::App& app, const Suite& suite) {
  auto name = std::make_shared<std::string>();
  CLI::App* serve = app.add_subcommand("serve", "Speak the protocol on standard input and output");
  serve->footer("Example: cachet check 'process:cachet serve static_cache'");
  serve->add_option("BACKEND", *name, "NAME or NAME+DEFECT")->required();
  return {serve, [name, &suite] { return run_serve(*name, suite); }};
}

}  // namespace cachet::cli
