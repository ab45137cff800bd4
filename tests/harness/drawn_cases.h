// Arbitrary well-formed steps and cases from a seed, for tests that hold of every one: all kinds of steps, every field absent and
// present, numbers at their limits, names and notes that need quoting.
#pragma once

#include <rapidcheck.h>

#include <limits>
#include <string>
#include <vector>

#include "harness/trace.h"

namespace cachet {

class Drawn {
 public:
  explicit Drawn(std::uint64_t seed) : random_(seed) {}

  std::uint64_t below(std::uint64_t n) { return random_.next() % n; }
  bool chance(int of_hundred) { return below(100) < static_cast<std::uint64_t>(of_hundred); }

  template <typename T>
  const T& pick(const std::vector<T>& from) {
    return from[below(from.size())];
  }

  int number(int least) {
    const int number =
        pick<int>({0, 1, 2, 3, 7, 64, 1000, std::numeric_limits<int>::max(), least, -1, -8, std::numeric_limits<int>::min()});
    return number < least ? least : number;
  }
  int any() { return number(std::numeric_limits<int>::min()); }
  Token token() {
    return pick<Token>({0, 1, 2, 3, 5, 50256, -1, std::numeric_limits<Token>::max(), std::numeric_limits<Token>::min()});
  }
  std::string name() {
    return pick<std::string>({"a", "b", "m0", "3", "-", "session_with_a_long_name", "ö", "a b", "x=1", "#", "|", "", "\"q\"", "[",
                              "{}", "tab\there", "line\nfeed", "back\\slash"});
  }
  std::string words() {
    return pick<std::string>({"repeat_call", "eager", "process:python3 'my adapter.py' --fast/static",
                              "static_cache+stale_length", "a # no comment", " blanks ", "\"quoted\"", "two\nlines",
                              "ünïcödé \xE2\x82\xAC", "=", "{\"json\": 1}", "back\\slash", "\x01 control"});
  }

  Tokens tokens() {
    Tokens out(below(5));
    for (Token& t : out) t = token();
    return out;
  }
  Rows rows() {
    Rows out(chance(5) ? 0 : 1 + below(4));
    for (Tokens& row : out) row = tokens();
    return out;
  }
  std::vector<int> numbers() {
    std::vector<int> out(below(5));
    for (int& n : out) n = any();
    return out;
  }
  std::optional<int> maybe(int least) { return chance(50) ? std::optional<int>(number(least)) : std::nullopt; }

  Loop loop() {
    Loop out;
    out.new_tokens = number(1);
    if (chance(50)) out.stop = tokens();
    if (chance(30)) out.min_new = number(0);
    if (chance(20))
      out.extras["sampling"] = pick<std::string>({"{}", R"({"seed":7,"temperature":0.5,"top_k":2})", R"({"min_p":1e-300})"});
    if (chance(20))
      out.extras["processors"] =
          pick<std::string>({"[]", R"([{"ids":[[1,2],[3]],"name":"bad_words"},{"name":"a # b","value":1.5}])"});
    if (chance(20)) out.extras["beams"] = R"({"early_stopping":true,"width":2})";
    if (chance(20)) out.extras["draft"] = R"({"proposals":[[1,2],[]]})";
    return out;
  }

  Step step() {
    switch (below(std::variant_size_v<Step>)) {
      case 0:
        return Open{name(), number(1), number(1)};
      case 1:
        return append();
      case 2:
        return Generate{name(), chance(50) ? std::optional<Rows>(rows()) : std::nullopt, loop()};
      case 3:
        return Complete{rows(), maybe(1), loop()};
      case 4:
        return Crop{name(), numbers()};
      case 5:
        return Remove{name(), any(), maybe(std::numeric_limits<int>::min())};
      case 6:
        return Shift{name(), any(), maybe(std::numeric_limits<int>::min()), any()};
      case 7:
        return Fork{name(), name()};
      case 8:
        return Reorder{name(), numbers()};
      case 9:
        return Save{name(), name()};
      case 10:
        return Restore{name(), name()};
      case 11:
        return Snapshot{name(), name()};
      case 12:
        return Rollback{name(), name()};
      case 13:
        return Length{name()};
      case 14:
        return Reset{name()};
      case 15:
        return Release{name()};
      case 16:
        return Poison{name()};
      case 17:
        return Recompile{};
      case 18:
        return Close{name()};
      default:
        return Raw{pick<std::string>({"{}", R"({"op":"warp","x":[1, 2]})", R"({ "op" : "append" , "text" : "# ] } \" ü" })",
                                      R"({"op":"open","rows":0})"})};
    }
  }

  Append append() {
    Append out{name(), rows(), {}, chance(50) ? Want::kAll : Want::kLast, chance(70)};
    if (chance(40))
      for (std::size_t i = 0; i < out.tokens.size(); ++i) out.pad.push_back(number(0));
    return out;
  }

  ModelSpec spec() {
    ModelSpec out = standard_spec(pick<std::string>({"gpt2", "llama"}));
    out.heads = pick<int>({1, 2});
    out.width = out.heads * pick<int>({2, 4});
    if (out.family == "llama") {
      if (chance(30)) out.kv_heads = out.heads;
      if (chance(30)) out.head_dim = pick<int>({2, 8});
      if (chance(30)) out.rope_theta = pick<double>({100, 500000, 0.1});
      out.tie_word_embeddings = chance(30);
    }
    out.vocab = pick<int>({2, 4, 17});
    out.layers = pick<int>({1, 2});
    if (chance(30)) out.norm_epsilon = 1e-6;
    if (chance(20)) out.inner = 8;
    if (chance(30)) out.weights.seed = std::numeric_limits<std::uint64_t>::max();
    if (chance(20))
      out.weights = {WeightRecipe::Kind::kDirectory, pick<std::string>({"/models/tiny", "my models/a #1", "a|b=c", "100%"}), 0};
    return out;
  }

  Case value() {
    Case out;
    out.law = words();
    out.backend = words();
    if (chance(30)) out.peer = words();
    if (chance(40))
      for (std::uint64_t n = 1 + below(3); n > 0; --n) out.vary.push_back(token());
    for (std::uint64_t n = below(3); n > 0; --n) out.notes.push_back(chance(10) ? "" : words());
    std::vector<std::string> loaded;
    for (std::uint64_t n = below(6); n > 0; --n) {
      if (loaded.empty() || chance(25)) {
        loaded.push_back(name());
        out.trace.events.push_back(Load{loaded.back(), spec()});
      } else if (chance(15)) {
        const std::string gone = pick(loaded);
        std::erase(loaded, gone);
        out.trace.events.push_back(Unload{gone});
      } else {
        Run run{pick(loaded), {}};
        for (std::uint64_t steps = below(7); steps > 0; --steps) run.steps.push_back(step());
        out.trace.events.push_back(run);
      }
    }
    return out;
  }

  /// The text with one to three changes: bytes flipped, ranges cut, doubled or taken from `other`, lines swapped, words
  /// that mean something put anywhere.
  std::string mutate(std::string text, const std::string& other) {
    static const std::vector<std::string> kPieces = {"\n",         " ",
                                                     "#",          "|",
                                                     "-",          "=",
                                                     "\"",         "[",
                                                     "]",          "{",
                                                     "}",          "[]",
                                                     "stop=",      "new=1",
                                                     "rows=2",     "99999999999999999999",
                                                     "-0",         "007",
                                                     "1e9",        "\\",
                                                     "\r",         std::string(1, '\0'),
                                                     "\xFF",       "\xC3",
                                                     "law x\n",    "run m\n",
                                                     "raw {",      "model m gpt2\n",
                                                     "unload m\n", "null",
                                                     "true",       ",",
                                                     ":",          "NaN",
                                                     "1e999"};
    for (std::uint64_t n = 1 + below(3); n > 0; --n) {
      const std::size_t at = below(text.size() + 1), size = below(1 + std::min<std::size_t>(text.size() - at, 40));
      switch (below(5)) {
        case 0:
          if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
          break;
        case 1:
          text.erase(at, size);
          break;
        case 2:
          text.insert(at, text.substr(at, size));
          break;
        case 3:
          text.insert(at, other.substr(std::min(other.size(), static_cast<std::size_t>(below(other.size() + 1))), size));
          break;
        default:
          text.insert(at, pick(kPieces));
          break;
      }
    }
    return text;
  }

 private:
  rc::Random random_;
};

}  // namespace cachet
