// Reads cases in their text form: strict and line by line; what is malformed is named with its line and what was expected.
#include <algorithm>
#include <charconv>
#include <set>

#include "harness/json_fields.h"
#include "harness/step_fields.h"
#include "harness/text.h"
#include "harness/text_lines.h"

namespace cachet {
namespace {

using text::Word;

const std::vector<std::string> kHeaders = {"law", "backend", "peer", "vary", "note"};

std::string show(std::string_view word) { return "\"" + std::string(word.substr(0, 40)) + (word.size() > 40 ? "...\"" : "\""); }

/// A whole number as JSON writes it: no plus, no leading zeros. The problem when it is none, empty when all is well.
template <typename T>
std::string read_number(std::string_view word, T& out) {
  const std::string_view digits = word.substr(word.rfind('-', 0) == 0 ? 1 : 0);
  const bool shaped = !digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos &&
                      (digits[0] != '0' || (digits.size() == 1 && digits.size() == word.size()));
  if (!shaped) return show(word) + " is not a number; expected a whole number";
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), out);
  if (error == std::errc() && end == word.data() + word.size()) return {};
  return show(word) + " is out of range; expected a number from " + std::to_string(std::numeric_limits<T>::min()) + " to " +
         std::to_string(std::numeric_limits<T>::max());
}

/// Reads the fields of one step from the words behind its op. The first problem is kept; the rest is skipped then.
class Reader {
 public:
  Reader(std::string op, std::vector<Word> words) : op_(std::move(op)) {
    for (Word& word : words) {
      if (word.key.empty()) {
        if (!keyed_.empty()) problem_ = show(word.text) + " after key=value; expected positional words first";
        positional_.push_back(std::move(word));
      } else if (std::string key = word.key; !keyed_.emplace(key, std::move(word)).second) {
        problem_ = "the key " + show(key) + " appears twice; expected each key once";
      }
      if (!problem_.empty()) return;
    }
  }

  void word(const char* name, std::string& out) {
    const Word* word = next(name);
    if (word == nullptr) return;
    if (word->kind == Word::Kind::kPlain || word->kind == Word::Kind::kQuoted) {
      out = word->text;
    } else {
      fail(show(word->text) + " in place of the " + name + "; expected a name");
    }
  }

  void rows(const char* name, Rows& out) {
    if (at_ == positional_.size() || !problem_.empty()) return empty_list(name);
    out.emplace_back();
    bool begun = false, dash = false;
    for (; at_ < positional_.size() && problem_.empty(); ++at_) {
      const Word& word = positional_[at_];
      if (word.kind == Word::Kind::kBar) {
        if (!begun) return fail("a row without tokens before \"|\"; expected numbers, or a dash for an empty row");
        out.emplace_back();
        begun = dash = false;
      } else if (word.kind != Word::Kind::kPlain || dash || (word.text == "-" && begun)) {
        return fail(show(word.text) + " in a row of tokens; expected numbers, or a dash alone for an empty row");
      } else {
        dash = word.text == "-";
        begun = true;
        if (!dash) take_number(word.text, out.back().emplace_back());
      }
    }
    if (!begun) fail("a row without tokens after \"|\"; expected numbers, or a dash for an empty row");
  }
  void rows(const char* name, std::optional<Rows>& out) {
    if (at_ < positional_.size() || find(name) != nullptr) rows(name, out.emplace());
  }

  void numbers(const char* name, std::vector<int>& out) {
    if (at_ == positional_.size() || !problem_.empty()) return empty_list(name);
    for (; at_ < positional_.size() && problem_.empty(); ++at_) take_plain_number(positional_[at_], name, out.emplace_back());
  }

  void place(const char* name, int& out) {
    if (const Word* word = next(name)) take_plain_number(*word, name, out);
  }
  void place(const char* name, std::optional<int>& out) {
    if (at_ < positional_.size()) place(name, out.emplace());
  }

  void any_integer(const char* name, int& out) {
    const Word* word = find(name);
    if (word == nullptr) return fail("no " + std::string(name) + "=; expected " + op_ + " with " + name + "=NUMBER");
    take_plain_number(*word, name, out);
  }
  void integer(const char* name, int& out, int least) {
    any_integer(name, out);
    check_least(name, out, least);
  }
  void maybe_integer(const char* name, std::optional<int>& out, int least) {
    const Word* word = find(name);
    if (word == nullptr) return;
    take_plain_number(*word, name, out.emplace());
    check_least(name, *out, least);
  }
  void integer_or_zero(const char* name, int& out) {
    if (const Word* word = find(name)) take_plain_number(*word, name, out);
    check_least(name, out, 0);
  }

  void ids(const char* name, std::optional<Tokens>& out) {
    if (const Word* word = find(name)) take_list(*word, name, out.emplace());
  }
  void pads(const char* name, std::vector<int>& out, const Rows& tokens) {
    const Word* word = find(name);
    if (word == nullptr) return;
    take_list(*word, name, out);
    for (const int pad : out) check_least(name, pad, 0);
    if (out.empty() || out.size() != tokens.size())
      fail("pad= has " + std::to_string(out.size()) + " numbers for " + std::to_string(tokens.size()) +
           " rows; expected one a row");
  }

  void want(const char* name, Want& out) {
    const Word* word = find(name);
    if (word == nullptr) return;
    if (word->text != "last" && word->text != "all") return fail(show(word->text) + " for want=; expected last or all");
    out = word->text == "all" ? Want::kAll : Want::kLast;
  }
  void keep(const char* name, bool& out) {
    const Word* word = find(name);
    if (word == nullptr) return;
    if (word->text != "true" && word->text != "false") return fail(show(word->text) + " for keep=; expected true or false");
    out = word->text == "true";
  }

  void json(const char* name, std::map<std::string, std::string>& extras, JsonKind kind) {
    const Word* word = find(name);
    if (word == nullptr) return;
    const bool object = kind == JsonKind::kObject;
    const std::string expected = object ? "; expected a JSON object" : "; expected a JSON list of objects";
    if (word->kind != Word::Kind::kJson) return fail(show(word->text) + " for " + name + "=" + expected);
    const Result<Json> value = parse_json(word->text);
    if (!value) return fail(std::string(name) + "=: " + value.error().message);
    bool fits = object ? value->is_object() : value->is_array();
    if (!object)
      for (const Json& item : *value) fits = fits && item.is_object();
    if (!fits) return fail(json::sketch(*value) + " for " + name + "=" + expected);
    extras[name] = dump(*value);
  }

  /// The first problem of the line, once every field was visited: unknown keys first, since they explain missing ones.
  std::string finish() {
    for (const auto& [key, word] : keyed_)
      if (std::find(known_.begin(), known_.end(), key) == known_.end()) {
        std::string keys;
        for (const std::string& name : known_) keys += (keys.empty() ? "" : ", ") + name;
        return "unknown key " + show(key) + " of " + op_ + text::suggestion(key, known_) + "; expected " +
               (keys.empty() ? "no keys" : "one of " + keys);
      }
    if (problem_.empty() && at_ < positional_.size())
      return show(positional_[at_].text) + " is one word too many for " + op_ + "; expected the end of the line";
    return problem_;
  }

 private:
  void fail(const std::string& problem) {
    if (problem_.empty()) problem_ = problem;
  }

  const Word* next(const char* name) {
    if (!problem_.empty()) return nullptr;
    if (at_ < positional_.size()) return &positional_[at_++];
    fail(op_ + " without its " + name + "; expected it after " + (at_ == 0 ? op_ : show(positional_[at_ - 1].text)));
    return nullptr;
  }

  const Word* find(const char* name) {
    if (std::find(known_.begin(), known_.end(), name) == known_.end()) known_.emplace_back(name);
    const auto found = keyed_.find(name);
    return found == keyed_.end() ? nullptr : &found->second;
  }

  /// A list that has no positional words is written as NAME=[].
  void empty_list(const char* name) {
    const Word* word = find(name);
    if (word == nullptr) return fail(op_ + " without its " + name + "; expected numbers (or " + name + "=[])");
    if (word->kind != Word::Kind::kJson || word->text != "[]")
      fail(std::string(name) + "= with a value; expected positional numbers, or [] for none");
  }

  template <typename T>
  void take_number(std::string_view word, T& out) {
    if (const std::string problem = read_number(word, out); !problem.empty()) fail(problem);
  }

  void take_plain_number(const Word& word, const char* name, int& out) {
    if (word.kind != Word::Kind::kPlain) return fail(show(word.text) + " for " + name + "; expected a whole number");
    take_number(word.text, out);
  }

  template <typename T>
  void take_list(const Word& word, const char* name, std::vector<T>& out) {
    if (word.kind == Word::Kind::kJson) {
      const Result<Json> value = parse_json(word.text);
      json::Flaw flaw;
      if (!value) return fail(std::string(name) + "=: " + value.error().message);
      if (!json::read(*value, out, flaw)) fail(std::string(name) + "=: " + to_string(flaw));
      return;
    }
    if (word.kind != Word::Kind::kPlain) return fail(show(word.text) + " for " + name + "=; expected numbers with commas");
    std::string_view rest = word.text;
    while (true) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      take_number(rest.substr(0, comma), out.emplace_back());
      if (comma == rest.size() || !problem_.empty()) return;
      rest.remove_prefix(comma + 1);
    }
  }

  void check_least(const char* name, int value, int least) {
    if (problem_.empty() && value < least)
      fail(std::string(name) + "=" + std::to_string(value) + "; expected at least " + std::to_string(least));
  }

  std::string op_;
  std::vector<Word> positional_;
  std::map<std::string, Word> keyed_;
  std::vector<std::string> known_;  // keys that the step's fields asked for
  std::size_t at_ = 0;              // the next positional word
  std::string problem_;
};

/// Every word that may begin a line.
std::vector<std::string> line_words() {
  std::vector<std::string> words = {"model", "run", "unload"};
  words.insert(words.end(), kHeaders.begin(), kHeaders.end());
  [&]<std::size_t... I>(std::index_sequence<I...>) { (words.emplace_back(op_name(Step(std::in_place_index<I>))), ...); }
  (std::make_index_sequence<std::variant_size_v<Step>>());
  return words;
}

/// Reads a case line by line; every method returns the problem with its line, empty when there is none.
class CaseReader {
 public:
  std::string read_line(std::string_view line) {
    const std::size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
    const std::string_view first = line.substr(begin, line.find_first_of(" \t#", begin) - begin);
    if (first.empty()) return {};
    if (std::find(kHeaders.begin(), kHeaders.end(), first) != kHeaders.end())
      return read_header(std::string(first), line.substr(begin + first.size()));
    Result<std::vector<Word>> words = text::split_line(line);
    if (!words) return words.error().message;
    const Word op = words->front();
    words->erase(words->begin());
    if (op.kind != Word::Kind::kPlain || !op.key.empty())
      return show(first) + " begins the line; expected an op, a header or a comment";
    header_over_ = true;
    if (op.text == "model") return read_model(*words);
    if (op.text == "run" || op.text == "unload") return read_handle(op.text, *words);
    return read_step(op.text, std::move(*words));
  }

  const std::set<std::string>& headers() const { return headers_; }
  Case& value() { return case_; }

 private:
  std::string read_header(const std::string& word, std::string_view rest) {
    if (header_over_) return "the header " + show(word) + " after the first model, run or step; expected headers first";
    if (word != "note" && !headers_.insert(word).second) return "the header " + show(word) + " appears twice; expected it once";
    const Result<std::string> text = text::header_text(rest);
    if (!text) return text.error().message;
    if (word == "note") return case_.notes.push_back(*text), "";
    if (text->empty()) return "the header " + show(word) + " without a text; expected one behind it";
    if (word == "law") case_.law = *text;
    if (word == "backend") case_.backend = *text;
    if (word == "peer") case_.peer = *text;
    return word == "vary" ? read_vary(rest) : "";
  }

  std::string read_vary(std::string_view rest) {
    const Result<std::vector<Word>> words = text::split_line(rest);
    if (!words) return words.error().message;
    for (const Word& word : *words) {
      if (word.kind != Word::Kind::kPlain || !word.key.empty()) return show(word.text) + " in vary; expected whole numbers";
      if (std::string problem = read_number(word.text, case_.vary.emplace_back()); !problem.empty()) return problem;
    }
    return {};
  }

  std::string read_model(const std::vector<Word>& words) {
    if (words.size() < 2)
      return "model without its " + std::string(words.empty() ? "handle" : "family") +
             "; expected model HANDLE FAMILY key=value ...";
    std::vector<std::string> spec_words;
    std::set<std::string> keys;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const Word& word = words[i];
      const bool kind_fits = word.kind == Word::Kind::kPlain || word.kind == Word::Kind::kQuoted;
      if (!kind_fits || word.key.empty() != (i < 2))
        return show(word.text) + " in a model; expected model HANDLE FAMILY key=value ...";
      if (i == 0) continue;
      if (i > 1 && !keys.insert(word.key).second) return "the key " + show(word.key) + " appears twice; expected each key once";
      spec_words.push_back(i == 1 ? word.text : word.key + "=" + word.text);
    }
    Result<ModelSpec> spec = parse_model_spec(spec_words);
    if (!spec) return spec.error().message;
    loaded_.insert(words[0].text);
    unloaded_.erase(words[0].text);
    case_.trace.events.push_back(Load{words[0].text, *spec});
    return {};
  }

  std::string read_handle(const std::string& op, const std::vector<Word>& words) {
    const bool named = words.size() == 1 && words[0].key.empty() &&
                       (words[0].kind == Word::Kind::kPlain || words[0].kind == Word::Kind::kQuoted);
    if (!named) return op + " with " + std::to_string(words.size()) + " words; expected " + op + " HANDLE";
    const std::string& handle = words[0].text;
    if (unloaded_.count(handle) > 0) return "the model " + show(handle) + " is unloaded; expected a loaded one";
    if (loaded_.count(handle) == 0)
      return "no model is called " + show(handle) + text::suggestion(handle, {loaded_.begin(), loaded_.end()}) +
             "; expected the handle of an earlier model line";
    if (op == "run") {
      case_.trace.events.push_back(Run{handle, {}});
    } else {
      loaded_.erase(handle);
      unloaded_.insert(handle);
      case_.trace.events.push_back(Unload{handle});
    }
    return {};
  }

  std::string read_step(const std::string& op, std::vector<Word> words) {
    std::optional<Step> step = blank_step(op);
    if (!step && op != "raw")
      return "unknown op " + show(op) + text::suggestion(op, line_words()) + "; expected a header, model, run, unload or a step";
    Run* run = case_.trace.events.empty() ? nullptr : std::get_if<Run>(&case_.trace.events.back());
    if (run == nullptr) return "the step " + show(op) + " outside a run; expected run HANDLE before it";
    if (op == "raw") {
      if (words.size() != 1 || words[0].kind != Word::Kind::kJson || !words[0].key.empty() || words[0].text.front() != '{')
        return "raw without one JSON object; expected raw {...}";
      step = Raw{words[0].text};
    } else {
      Reader reader(op, std::move(words));
      std::visit([&](auto& s) { each_field(s, reader); }, *step);
      if (std::string problem = reader.finish(); !problem.empty()) return problem;
    }
    run->steps.push_back(std::move(*step));
    return {};
  }

  Case case_;
  std::set<std::string> headers_, loaded_, unloaded_;
  bool header_over_ = false;
};

}  // namespace

Result<Case> parse_case(const std::string& text, const std::string& file) {
  const Result<std::vector<std::string_view>> lines = text::split_lines(text, file);
  if (!lines) return lines.error();
  const Result<std::string> version = text::header_text(lines->front());
  if (!version || *version != "cachet case 1" || lines->front().find('"') != std::string_view::npos)
    return Error{file, 1, show(lines->front()) + " on the first line; expected \"cachet case 1\""};
  CaseReader reader;
  for (std::size_t i = 1; i < lines->size(); ++i)
    if (const std::string problem = reader.read_line((*lines)[i]); !problem.empty())
      return Error{file, static_cast<int>(i) + 1, problem};
  for (const char* header : {"law", "backend"})
    if (reader.headers().count(header) == 0)
      return Error{file, static_cast<int>(lines->size()), "no header " + show(header) + "; expected it before the first model"};
  return std::move(reader.value());
}

}  // namespace cachet
