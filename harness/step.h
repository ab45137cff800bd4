// The calls a trace is made of, one plain struct a step, in the vocabulary of the protocol. Tokens are always explicit:
// nothing random is left in a step.
#pragma once

#include <compare>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "reference/model.h"

namespace cachet {

using Rows = std::vector<Tokens>;  ///< one list of ids a row; rows may differ in length

/// Fields of the generation loop, shared by generate and complete.
struct Loop {
  int new_tokens = 1;          ///< `new`: how many tokens to emit at most
  std::optional<Tokens> stop;  ///< one list of ids for all rows; nullopt: the field is absent
  int min_new = 0;             ///< stop ids are suppressed until then; 0: the field is absent
  /// `sampling`, `processors`, `beams`, `draft`: compact JSON by field name, canonical key order.
  std::map<std::string, std::string> extras;

  auto operator<=>(const Loop&) const = default;
};

enum class Want { kLast, kAll };

struct Open {
  std::string session;
  int rows = 1;
  int capacity = 1;
  auto operator<=>(const Open&) const = default;
};
struct Append {
  std::string session;
  Rows tokens;
  std::vector<int> pad;  ///< extra pads a row; empty: the field is absent
  Want want = Want::kLast;
  bool keep = true;  ///< false: answer without advancing (`peek`)
  auto operator<=>(const Append&) const = default;
};
struct Generate {
  std::string session;
  std::optional<Rows> tokens;
  Loop loop;
  auto operator<=>(const Generate&) const = default;
};
struct Complete {
  Rows tokens;
  std::optional<int> capacity;
  Loop loop;
  auto operator<=>(const Complete&) const = default;
};
struct Crop {
  std::string session;
  std::vector<int> length;
  auto operator<=>(const Crop&) const = default;
};
struct Remove {
  std::string session;
  int begin = 0;
  std::optional<int> end;
  auto operator<=>(const Remove&) const = default;
};
struct Shift {
  std::string session;
  int begin = 0;
  std::optional<int> end;
  int delta = 0;
  auto operator<=>(const Shift&) const = default;
};
struct Fork {
  std::string session;
  std::string into;
  auto operator<=>(const Fork&) const = default;
};
struct Reorder {
  std::string session;
  std::vector<int> rows;
  auto operator<=>(const Reorder&) const = default;
};
struct Save {
  std::string session;
  std::string blob;
  auto operator<=>(const Save&) const = default;
};
struct Restore {
  std::string session;
  std::string blob;
  auto operator<=>(const Restore&) const = default;
};
struct Snapshot {
  std::string session;
  std::string mark;
  auto operator<=>(const Snapshot&) const = default;
};
struct Rollback {
  std::string session;
  std::string mark;
  auto operator<=>(const Rollback&) const = default;
};
struct Length {
  std::string session;
  auto operator<=>(const Length&) const = default;
};
struct Reset {
  std::string session;
  auto operator<=>(const Reset&) const = default;
};
struct Release {
  std::string session;
  auto operator<=>(const Release&) const = default;
};
struct Poison {
  std::string session;
  auto operator<=>(const Poison&) const = default;
};
struct Recompile {
  auto operator<=>(const Recompile&) const = default;
};
struct Close {
  std::string session;
  auto operator<=>(const Close&) const = default;
};
/// A step whose JSON object is sent as it stands, for calls that no well-formed step can express.
struct Raw {
  std::string json;
  auto operator<=>(const Raw&) const = default;
};

using Step = std::variant<Open, Append, Generate, Complete, Crop, Remove, Shift, Fork, Reorder, Save, Restore, Snapshot, Rollback,
                          Length, Reset, Release, Poison, Recompile, Close, Raw>;

/// The step's word in text and JSON: "open", "append", ... "raw".
const char* op_name(const Step& step);

/// The session a step names; empty for complete, recompile and raw.
std::string session_of(const Step& step);

}  // namespace cachet
