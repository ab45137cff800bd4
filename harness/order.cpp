// The rank of a case as a list of numbers, from what matters most to a reader to what matters least.
#include "harness/order.h"

#include <algorithm>
#include <set>

#include "harness/step_parts.h"
#include "reference/architecture.h"

namespace cachet {
namespace {

using Rank = std::vector<std::int64_t>;

/// Simplest first: of two traces with as many steps the one with simpler calls is the easier to read.
std::int64_t op_rank(const Step& step) { return static_cast<std::int64_t>(step.index()); }

std::int64_t tokens_in(const Rows& rows) {
  std::int64_t n = 0;
  for (const Tokens& row : rows) n += static_cast<std::int64_t>(row.size());
  return n;
}

/// Optional fields that are set: each makes a call harder to read.
std::int64_t fields_of(const Step& step) {
  std::int64_t n = 0;
  if (const auto* a = std::get_if<Append>(&step)) n += (a->want == Want::kAll) + !a->pad.empty() + !a->keep;
  if (const auto* g = std::get_if<Generate>(&step)) n += g->tokens.has_value();
  if (const auto* c = std::get_if<Complete>(&step)) n += c->capacity.has_value();
  if (const Loop* loop = loop_of(step))
    n += static_cast<std::int64_t>(loop->stop ? 1 + loop->stop->size() : 0) + (loop->min_new > 0) +
         static_cast<std::int64_t>(loop->extras.size());
  if (const auto* r = std::get_if<Raw>(&step)) n += static_cast<std::int64_t>(r->json.size());
  return n;
}

/// Numbers of a step other than tokens, as distances from zero with the sign last. A list begins with its length, so that in
/// two ranks the same places hold the same things.
void append_values(const Step& step, Rank& out) {
  const auto put = [&out](std::int64_t v) {
    out.push_back(v < 0 ? -v : v);
    out.push_back(v < 0 ? 1 : 0);
  };
  if (const auto* o = std::get_if<Open>(&step)) put(o->rows), put(o->capacity);
  if (const auto* c = std::get_if<Complete>(&step)) put(c->capacity.value_or(0));
  const auto put_all = [&put](const auto& list) {
    put(static_cast<std::int64_t>(list.size()));
    for (const auto v : list) put(v);
  };
  if (const auto* c = std::get_if<Crop>(&step)) put_all(c->length);
  if (const auto* r = std::get_if<Remove>(&step)) put(r->begin), put(r->end.value_or(-1));
  if (const auto* s = std::get_if<Shift>(&step)) put(s->begin), put(s->end.value_or(-1)), put(s->delta);
  if (const auto* r = std::get_if<Reorder>(&step)) put_all(r->rows);
  if (const Rows* rows = rows_of(step)) {
    put(static_cast<std::int64_t>(rows->size()));
    for (const Tokens& row : *rows) put(static_cast<std::int64_t>(row.size()));
  }
  if (const Loop* loop = loop_of(step)) {
    put(loop->new_tokens);
    put(loop->min_new);
    put_all(loop->stop.value_or(Tokens{}));
  }
}

std::int64_t weight_rank(const WeightRecipe& recipe) {
  const auto& patterns = weight_patterns();
  if (recipe.kind == WeightRecipe::Kind::kPattern)
    return std::find(patterns.begin(), patterns.end(), recipe.name) - patterns.begin();
  if (recipe.kind == WeightRecipe::Kind::kSeed)
    return static_cast<std::int64_t>(patterns.size()) + static_cast<std::int64_t>(recipe.seed & 0x3fffffffffffffffULL);
  return static_cast<std::int64_t>(patterns.size());  // a directory is kept: it has no simpler form
}

/// In the order of the table of families: simplest first.
std::int64_t family_rank(const std::string& family) {
  const auto& all = reference::architectures();
  return std::find_if(all.begin(), all.end(), [&](const auto& a) { return a.name == family; }) - all.begin();
}

/// A head size of its own ranks before the width, so that a model without one may be the wider.
void append_model(const ModelSpec& spec, Rank& out) {
  const ModelSpec plain = standard_spec(spec.family);
  out.push_back(family_rank(spec.family));
  for (const int n : {spec.layers, spec.heads, spec.head_dim, spec.width, spec.inner, spec.vocab, spec.kv_heads})
    out.push_back(n);
  out.push_back(spec.tie_word_embeddings == plain.tie_word_embeddings ? 0 : 1);
  out.push_back(spec.norm_epsilon == plain.norm_epsilon ? 0 : 1);
  out.push_back(spec.activation == plain.activation ? 0 : 1);
  out.push_back(spec.rope_theta == plain.rope_theta ? 0 : spec.rope_theta == kOtherTheta ? 1 : 2);
  out.push_back(weight_rank(spec.weights));
}

}  // namespace

std::vector<std::int64_t> rank(const Case& value) {
  std::int64_t loads = 0, runs = 0, steps = 0, rows = 0, tokens = 0, new_tokens = 0, ops = 0, fields = 0;
  std::set<std::string> sessions;
  Rank models, kinds, values, ids, contexts;
  for (const Event& event : value.trace.events) {
    if (const auto* load = std::get_if<Load>(&event)) {
      ++loads;
      append_model(load->spec, models);
      contexts.push_back(load->spec.context);
    }
    const auto* run = std::get_if<Run>(&event);
    if (run == nullptr) continue;
    ++runs;
    for (const Step& step : run->steps) {
      ++steps;
      ops += op_rank(step);
      fields += fields_of(step);
      kinds.push_back(op_rank(step));
      if (const std::string session = session_of(step); !session.empty()) sessions.insert(std::to_string(runs) + session);
      if (const auto* open = std::get_if<Open>(&step)) rows += open->rows;
      if (const Rows* given = rows_of(step)) {
        rows += std::holds_alternative<Complete>(step) ? static_cast<std::int64_t>(given->size()) : 0;
        tokens += tokens_in(*given);
        for (const Tokens& row : *given)
          for (const Token t : row)
            ids.push_back(t < 0 ? -2 * t + 1 : 2 * t);  // 0, -1, 1, -2 ... is not what a reader wants: small first
      }
      if (const Loop* loop = loop_of(step)) new_tokens += loop->new_tokens;
      append_values(step, values);
    }
  }
  const auto unloads = static_cast<std::int64_t>(value.trace.events.size()) - loads - runs;
  Rank out = {runs,
              loads + unloads,
              steps,
              static_cast<std::int64_t>(sessions.size()),
              rows,
              tokens + new_tokens,
              static_cast<std::int64_t>(value.vary.size()),
              fields,
              ops};
  for (const Rank* part : {&models, &kinds, &ids, &values, &contexts}) {
    out.push_back(static_cast<std::int64_t>(part->size()));
    out.insert(out.end(), part->begin(), part->end());
  }
  for (const std::int64_t v : value.vary) out.push_back(v < 0 ? -2 * v + 1 : 2 * v);
  return out;
}

bool simpler(const Case& a, const Case& b) { return rank(a) < rank(b); }

}  // namespace cachet
