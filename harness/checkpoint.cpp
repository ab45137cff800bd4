// The directory as a model: config.json through the family's own reading of it, model.safetensors tensor by tensor against the
// shapes that the config implies. Nothing in a file is believed before it is checked.
#include "harness/checkpoint.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "harness/files.h"
#include "harness/json.h"
#include "harness/safetensors.h"
#include "reference/architecture.h"

namespace cachet {

namespace fs = std::filesystem;

namespace {

using reference::Architecture;
using reference::Config;
using reference::ConfigValue;

constexpr std::uintmax_t kLargestConfig = 16u << 20;

/// Lists and objects travel as their JSON text, since a Config holds scalars.
ConfigValue to_value(const Json& json) {
  if (json.is_null()) return {};
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_unsigned() && json.get<std::uint64_t>() > INT64_MAX) return json.get<double>();
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json to_json(const ConfigValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* text = std::get_if<std::string>(&value)) return text->rfind('[', 0) == 0 ? Json::parse(*text) : Json(*text);
  return nullptr;
}

Result<std::pair<const Architecture*, ModelSpec>> read_config(const fs::path& file) {
  auto text = read_whole_file(file, kLargestConfig);
  if (!text) return text.error();
  auto json = parse_object(*text, file.string());
  if (!json) return json.error();
  Config config;
  for (const auto& [key, value] : json->items()) {
    config[key] = to_value(value);
    if (!value.is_object()) continue;
    for (const auto& [inside, part] : value.items()) config[key + "." + inside] = to_value(part);
  }
  const auto type = config.find("model_type");
  const auto* family = type == config.end() ? nullptr : std::get_if<std::string>(&type->second);
  const Architecture* architecture = family ? reference::find_architecture(*family) : nullptr;
  if (!architecture) {
    std::string known;
    for (const Architecture& each : reference::architectures()) known += (known.empty() ? "" : ", ") + each.name;
    return Error{file.string(), 0, "model_type is " + (family ? "'" + *family + "'" : "missing") + "; expected " + known};
  }
  auto spec = architecture->from_config(config);
  if (!spec) return Error{file.string(), 0, spec.error().message};
  return std::pair(architecture, *spec);
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string out;
  for (const std::int64_t size : shape) out += (out.empty() ? "" : ", ") + std::to_string(size);
  return "[" + out + "]";
}

/// One stored tensor into its place in the model, or what is wrong with it.
std::optional<std::string> take(const SafetensorsFile& file, const StoredTensor& stored, const std::vector<std::int64_t>& shape,
                                Tensor& into) {
  const std::string name = "tensor '" + stored.name + "' ";
  if (stored.shape != shape) return name + "has shape " + shape_text(stored.shape) + "; expected " + shape_text(shape);
  auto values = file.values(stored);
  if (!values) return name + values.error().message;
  for (std::size_t i = 0; i < values->size(); ++i) {
    if (!std::isfinite((*values)[i]))
      return name + "holds NaN or infinity at element " + std::to_string(i) + "; expected finite numbers";
  }
  // A second copy of a tied parameter must be the same; otherwise the model is not the one that the config describes.
  if (!into.shape.empty() && into.data != *values)
    return name + "differs from the parameter it is tied to; expected the same numbers";
  into = {shape, std::move(*values)};
  return std::nullopt;
}

}  // namespace

Result<ModelPtr> read_checkpoint(const fs::path& directory) {
  std::error_code code;
  if (!fs::is_directory(directory, code))
    return Error{directory.string(), 0, "not a directory; expected one with config.json and model.safetensors"};
  auto config = read_config(directory / "config.json");
  if (!config) return config.error();
  const auto [architecture, spec] = *config;

  const fs::path path = directory / "model.safetensors";
  auto file = SafetensorsFile::read(path);
  if (!file) return file.error();
  const auto infos_bound = static_cast<std::size_t>(spec.layers);
  if (infos_bound > file->tensors().size()) {
    return Error{path.string(), 0,
                 "holds " + std::to_string(file->tensors().size()) + " tensors; expected those of " +
                     std::to_string(spec.layers) + " layers"};
  }
  std::map<std::string, std::vector<std::int64_t>> expected;
  for (const auto& info : architecture->tensors(spec)) expected[info.name] = info.shape;

  auto model = std::make_shared<Model>();
  model->spec = spec;
  model->spec.weights = {WeightRecipe::Kind::kDirectory, directory.string(), 0};
  for (const StoredTensor& stored : file->tensors()) {
    const std::string name = architecture->canonical_name(spec, stored.name);
    if (name.empty()) continue;
    const auto shape = expected.find(name);
    if (shape == expected.end())
      return Error{path.string(), 0, "tensor '" + stored.name + "' is unknown; expected only those of " + to_string(spec)};
    if (const auto wrong = take(*file, stored, shape->second, model->tensors[name])) return Error{path.string(), 0, *wrong};
  }
  for (const auto& [name, shape] : expected) {
    if (!model->tensors.count(name))
      return Error{path.string(), 0, "tensor '" + name + "' is missing; expected shape " + shape_text(shape)};
  }
  model->digest = digest_of(*model);
  return ModelPtr(std::move(model));
}

std::optional<Error> write_checkpoint(const Model& model, const fs::path& directory) {
  const Architecture* architecture = reference::find_architecture(model.spec.family);
  if (!architecture) return Error{directory.string(), 0, "unknown family '" + model.spec.family + "'; nothing was written"};
  std::error_code code;
  fs::create_directories(directory, code);
  if (code) return Error{directory.string(), 0, "cannot be created: " + code.message()};
  std::vector<std::pair<std::string, const Tensor*>> tensors;
  for (const auto& info : architecture->tensors(model.spec)) {
    const Tensor& tensor = model.tensors.at(info.name);
    const bool exact = std::all_of(tensor.data.begin(), tensor.data.end(),
                                   [](double x) { return static_cast<double>(static_cast<float>(x)) == x; });
    // A rounded copy would be another model than the one whose cases are to be replayed.
    if (!exact)
      return Error{directory.string(), 0,
                   "tensor '" + info.name + "' holds numbers that F32 cannot express; expected weights exact in F32"};
    tensors.emplace_back(info.name, &tensor);
  }
  // The config comes last: where it is, the numbers are.
  if (auto error = write_file(directory / "model.safetensors", safetensors_f32(tensors), /*durable=*/false)) return error;
  Json config = Json::object();
  for (const auto& [key, value] : architecture->to_config(model.spec)) config[key] = to_json(value);
  return write_file(directory / "config.json", config.dump(2) + "\n", /*durable=*/false);
}

Result<ModelPtr> load_model(const ModelSpec& spec) {
  if (spec.weights.kind != WeightRecipe::Kind::kDirectory) return build_model(spec);
  auto model = read_checkpoint(spec.weights.name);
  if (!model) return model.error();
  ModelSpec found = (*model)->spec;
  found.weights = spec.weights;
  // A spec that names sizes beside a directory must name those of the directory.
  if (!(found == spec))
    return Error{spec.weights.name, 0, "holds '" + to_string(found) + "'; expected '" + to_string(spec) + "'"};
  return model;
}

}  // namespace cachet
