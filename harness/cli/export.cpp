// `cachet export`: writes a generated model in the Hugging Face layout, for engines that load nothing else.
#include <fmt/core.h>

#include <memory>

#include "harness/checkpoint.h"
#include "harness/cli/commands.h"
#include "harness/cli/common.h"

namespace cachet::cli {

namespace {

int run_export(const std::string& text, const std::string& directory) {
  const Result<ModelSpec> spec = read_model(text);
  if (!spec) return complain(spec.error());
  const Result<ModelPtr> model = load_model(*spec);
  if (!model) return complain(model.error());
  if (auto error = write_checkpoint(**model, directory)) return complain(*error);
  print(fmt::format("{}: {}\n", directory, to_string(*spec)));
  return kHolds;
}

}  // namespace

Command export_command(CLI::App& app, const Suite&) {
  struct Flags {
    std::string spec, directory;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("export", "Write a model as config.json and model.safetensors");
  command->footer("Example: cachet export 'gpt2 layers=1 heads=1 width=4 vocab=8 context=16 weights=seed:3' model");
  command->add_option("MODEL", flags->spec, "'FAMILY key=value...' or a directory")->required();
  command->add_option("DIR", flags->directory, "Created where it does not exist")->required();
  return {command, [flags] { return run_export(flags->spec, flags->directory); }};
}

}  // namespace cachet::cli
