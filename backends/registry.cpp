// Looks up a host, applies the named changes to its seams, and wraps the result as a backend.
#include "backends/registry.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/defect.h"
#include "backends/host.h"

namespace cachet {
namespace {

using backends::Defect;
using backends::Host;
using backends::Seams;
using backends::Variant;

std::vector<std::string> split(const std::string& name) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t end = std::min(name.find('+', at), name.size());
    words.push_back(name.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

const Host* find_host(const std::string& name) {
  const auto& all = backends::hosts();
  const auto at = std::find_if(all.begin(), all.end(), [&](const Host& host) { return host.name == name; });
  return at == all.end() ? nullptr : &*at;
}

/// Variants and planted bugs of a host, for its error messages.
std::vector<std::string> words_of(const std::string& host) {
  std::vector<std::string> out;
  for (const Variant& variant : backends::variants())
    if (variant.host == host) out.push_back(variant.name);
  for (const Defect& defect : backends::defects())
    if (defect.host == host) out.push_back(defect.name);
  return out;
}

/// nullptr when the host has nothing of that name.
void (*find_change(const std::string& host, const std::string& word))(Seams&) {
  for (const Variant& variant : backends::variants())
    if (variant.host == host && variant.name == word) return variant.plant;
  for (const Defect& defect : backends::defects())
    if (defect.host == host && defect.name == word) return defect.plant;
  return nullptr;
}

Result<std::unique_ptr<Backend>> make(const Host& host, const std::string& name, const Seams& seams) {
  Description description;
  description.name = name;
  description.version = "1";
  description.engine = {{"device", "cpu"}, {"arithmetic", "float32"}};
  description.configurations = {host.configuration};
  description.configurations.insert(description.configurations.end(), host.others.begin(), host.others.end());
  return make_in_process_backend(std::move(description), [&host, seams](const std::string& configuration, const ModelPtr& model) {
    const auto other =
        std::find_if(host.others.begin(), host.others.end(), [&](const auto& c) { return c.name == configuration; });
    return host.make_engine(model, seams, other == host.others.end() ? host.configuration : *other);
  });
}

}  // namespace

namespace backends {

const std::vector<Variant>& variants() {
  static const std::vector<Variant> table = {
      {"pairwise", "eager", [](Seams& seams) { seams.summation = kernels::Summation::kPairwise; }},
      {"reversed", "eager", [](Seams& seams) { seams.summation = kernels::Summation::kReversed; }},
      {"unpadded", "compiled", [](Seams& seams) { seams.compiler.decode_is_padded = false; }, false},
      {"online_softmax", "static_cache", [](Seams& seams) { seams.softmax = kernels::Softmax::kOnline; }},
  };
  return table;
}

}  // namespace backends

std::vector<std::string> backend_names() {
  std::vector<std::string> out;
  for (const Host& host : backends::hosts()) out.push_back(host.name);
  for (const Variant& variant : backends::variants())
    if (variant.conforms) out.push_back(variant.host + "+" + variant.name);
  return out;
}

Result<BackendFactory> resolve_backend(const std::string& name) {
  const std::vector<std::string> words = split(name);
  const Host* host = find_host(words.front());
  if (host == nullptr)
    return Error{"", 0,
                 fmt::format("no built-in backend \"{}\"; expected one of {}", words.front(), fmt::join(backend_names(), ", "))};
  Seams seams;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto change = find_change(host->name, words[i]);
    if (change == nullptr)
      return Error{"", 0,
                   fmt::format("{} has no variant or planted bug \"{}\"; expected one of {}", host->name, words[i],
                               fmt::join(words_of(host->name), ", "))};
    if (std::find(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(i), words[i]) !=
        words.begin() + static_cast<std::ptrdiff_t>(i))
      return Error{"", 0, fmt::format("\"{}\" is named twice in \"{}\"; expected each word once", words[i], name)};
    change(seams);
  }
  return BackendFactory([host, name, seams] { return make(*host, name, seams); });
}

std::vector<ZooEntry> zoo_entries() {
  std::vector<ZooEntry> out;
  for (const Defect& defect : backends::defects()) {
    const std::string name = defect.host + "+" + defect.name;
    const Host& host = *find_host(defect.host);
    const auto other =
        std::find_if(host.others.begin(), host.others.end(), [&](const auto& c) { return c.name == defect.configuration; });
    const bool first = other == host.others.end();
    const std::string tail = host.others.empty() ? "" : "/" + (first ? host.configuration : *other).name;
    out.push_back({defect.name, defect.host, defect.laws, defect.known_steps,
                   Subject{name + tail, *resolve_backend(name), first ? host.configuration : *other}});
  }
  return out;
}

}  // namespace cachet
