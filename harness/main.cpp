// The one file that sees every layer: hands backends, planted bugs and laws to the command line as values.
#include "backends/process.h"
#include "backends/registry.h"
#include "harness/cli/suite.h"
#include "properties/properties.h"

int main(int argc, char** argv) {
  cachet::cli::Suite suite;
  suite.program = argc > 0 ? argv[0] : "cachet";
  suite.version = CACHET_VERSION;
  suite.backends = cachet::backend_names();
  suite.resolve = cachet::resolve_backend;
  suite.process = [](const std::vector<std::string>& words, const cachet::cli::Deadlines& deadlines) -> cachet::BackendFactory {
    cachet::ProcessOptions options;
    options.initialize_s = options.load_s = options.step_s = deadlines.step;
    options.suite = "cachet " CACHET_VERSION;
    return [words, options] { return cachet::make_process_backend(words, options); };
  };
  suite.laws = cachet::properties::properties();
  suite.zoo = cachet::zoo_entries();
  return cachet::cli::run_command_line(argc, argv, suite);
}
