// Reads a published config.json key by key and keeps the first complaint; keys that nobody asked for are complaints too.
#pragma once

#include <set>
#include <string>

#include "reference/architecture.h"

namespace cachet::reference {

class ConfigReader {
 public:
  explicit ConfigReader(const Config& config) : config_(config) {}

  /// A size in 1..kLargestSize. Absence is a complaint, or `fallback` where one is given (null counts as absent).
  int size(const std::string& key);
  int size(const std::string& key, int fallback);
  double positive(const std::string& key, double fallback);
  std::string text(const std::string& key, const std::string& fallback);
  bool flag(const std::string& key, bool fallback);

  /// Is there a value that is not null? The key counts as asked for.
  bool has(const std::string& key);

  /// A switch that this family supports in one position only; absent means that position.
  void require(const std::string& key, bool value);
  void require_null(const std::string& key);

  void complain(const std::string& key, const std::string& what);
  bool ok() const { return !error_; }

  /// The spec, or the first complaint. Every key must have been asked for, be in `harmless`, or be one of those that any
  /// decoder's config may hold without a change of its logits.
  Result<ModelSpec> finish(const ModelSpec& spec, const std::set<std::string>& harmless);

 private:
  const ConfigValue* find(const std::string& key);
  bool reads_inside(const std::string& object) const;

  const Config& config_;
  std::set<std::string> asked_;
  std::optional<Error> error_;
};

/// The largest size a spec or a config may name; keeps every product of sizes inside 64 bits.
inline constexpr int kLargestSize = 1 << 20;

}  // namespace cachet::reference
