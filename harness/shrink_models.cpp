// Passes that make the model smaller and its weights plainer, and the standard models and tokens that normal forms start from.
#include <algorithm>

#include "harness/order.h"
#include "harness/shrink_search.h"
#include "harness/step_parts.h"
#include "reference/architecture.h"

namespace cachet {
namespace {

std::vector<Load*> loads_of(Case& value) {
  std::vector<Load*> out;
  for (Event& event : value.trace.events)
    if (auto* load = std::get_if<Load>(&event)) out.push_back(load);
  return out;
}

/// Ids of runs of the model brought into a smaller vocabulary; ids outside the old one stay outside the new.
void fold_tokens(Case& value, const std::string& handle, int from, int to) {
  const auto fold = [&](Token& t) {
    if (t >= from)
      t += to - from;
    else if (t >= to)
      t %= to;
  };
  for (Event& event : value.trace.events) {
    Run* run = std::get_if<Run>(&event);
    if (run == nullptr || run->handle != handle) continue;
    for (Step& step : run->steps) {
      if (Rows* rows = rows_of(step))
        for (Tokens& row : *rows) std::for_each(row.begin(), row.end(), fold);
      if (Loop* loop = loop_of(step); loop && loop->stop) std::for_each(loop->stop->begin(), loop->stop->end(), fold);
    }
  }
}

/// Offers the change on each model; true when one was taken.
bool offer_on_models(Search& search, const std::function<bool(Case&, Load&)>& change) {
  bool any = false;
  Case probe = search.best();
  const std::size_t count = loads_of(probe).size();
  for (std::size_t i = 0; i < count && !search.exhausted(); ++i) {
    Case candidate = search.best();
    Load& load = *loads_of(candidate)[i];
    if (load.spec.weights.kind == WeightRecipe::Kind::kDirectory) continue;  // its sizes are those of the files
    if (change(candidate, load)) any |= search.offer(std::move(candidate));
  }
  return any;
}

/// The fixed ladder: patterns, then seeds 0, 1, 2 ...
std::vector<WeightRecipe> ladder(int seeds) {
  std::vector<WeightRecipe> out;
  for (const std::string& name : weight_patterns()) out.push_back({WeightRecipe::Kind::kPattern, name, 0});
  for (int seed = 0; seed < seeds; ++seed) out.push_back({WeightRecipe::Kind::kSeed, "", static_cast<std::uint64_t>(seed)});
  return out;
}

/// Fewer heads until the sizes fit each other again.
void fit_heads(ModelSpec& spec) {
  const auto fit_keys = [&] {
    if (spec.kv_heads >= spec.heads || (spec.kv_heads > 0 && spec.heads % spec.kv_heads != 0)) spec.kv_heads = 0;
  };
  for (fit_keys(); spec.heads > 1 && check_model_spec(spec); fit_keys()) --spec.heads;
}

/// The model as one of another family, its sizes kept and its choices at that family's default.
ModelSpec of_family(const std::string& family, const ModelSpec& of) {
  ModelSpec out = standard_spec(family);
  out.layers = of.layers;
  out.heads = of.heads;
  out.width = of.width;
  out.vocab = of.vocab;
  out.context = of.context;
  out.weights = of.weights;
  return out;
}

/// With the sizes as they are, and where that does not fail, on the family's standard model and its plainest weights: whether a
/// bug shows in the tokens is a matter of the numbers, and those of another family are others.
void simpler_families(Search& search) {
  for (const reference::Architecture& simpler : reference::architectures()) {
    if (offer_on_models(search, [&](Case&, Load& l) {
          return l.spec.family != simpler.name && (l.spec = of_family(simpler.name, l.spec), true);
        }))
      return;
    const ModelSpec standard = standard_model(standard_spec(simpler.name));
    for (const WeightRecipe& weights : {ladder(0).front(), standard.weights})
      if (offer_on_models(search, [&](Case& value, Load& l) {
            if (l.spec.family == simpler.name) return false;
            fold_tokens(value, l.handle, l.spec.vocab, standard.vocab);
            const int context = l.spec.context;
            l.spec = standard;
            l.spec.context = context;
            l.spec.weights = weights;
            return true;
          }))
        return;
  }
}

/// Choices that only some families have, towards their defaults.
void plainer_choices(Search& search) {
  offer_on_models(search, [](Case&, Load& l) {
    if (l.spec.head_dim == 0) return false;
    l.spec.width = l.spec.heads * l.spec.head_dim;
    return l.spec.head_dim = 0, true;
  });
  offer_on_models(search, [](Case&, Load& l) { return l.spec.head_dim > 2 && (l.spec.head_dim = 2, true); });
  for (const int kv_heads : {0, 1, 2})
    offer_on_models(search, [&](Case&, Load& l) { return l.spec.kv_heads > kv_heads && (l.spec.kv_heads = kv_heads, true); });
  offer_on_models(search, [](Case&, Load& l) { return l.spec.tie_word_embeddings && !(l.spec.tie_word_embeddings = false); });
  for (const double theta : {ModelSpec{}.rope_theta, kOtherTheta})
    offer_on_models(search, [&](Case&, Load& l) { return l.spec.rope_theta != theta && (l.spec.rope_theta = theta, true); });
}

void smaller_models(Search& search) {
  for (const int layers : {1, 2})
    offer_on_models(search, [&](Case&, Load& l) { return l.spec.layers > layers && (l.spec.layers = layers, true); });
  for (const int heads : {1, 2})
    offer_on_models(search, [&](Case&, Load& l) {
      return l.spec.heads > heads && l.spec.width % heads == 0 && (l.spec.heads = heads, fit_heads(l.spec), true);
    });
  for (const int width : {2, 4, 8})
    offer_on_models(search, [&](Case&, Load& l) {
      if (l.spec.width <= width) return false;
      l.spec.width = width;
      fit_heads(l.spec);
      return true;
    });
  offer_on_models(search, [](Case&, Load& l) { return l.spec.inner != 0 && (l.spec.inner = 0, true); });
  for (const int vocab : {2, 3, 4, 8})
    offer_on_models(search, [&](Case& value, Load& l) {
      if (l.spec.vocab <= vocab) return false;
      fold_tokens(value, l.handle, l.spec.vocab, vocab);
      l.spec.vocab = vocab;
      return true;
    });
  offer_on_models(search, [&](Case&, Load& l) {
    const ModelSpec plain = standard_spec(l.spec.family);
    return l.spec.norm_epsilon != plain.norm_epsilon && (l.spec.norm_epsilon = plain.norm_epsilon, true);
  });
  offer_on_models(search, [&](Case&, Load& l) {
    const ModelSpec plain = standard_spec(l.spec.family);
    return l.spec.activation != plain.activation && (l.spec.activation = plain.activation, true);
  });
}

void plainer_weights(Search& search) {
  constexpr int kSeeds = 4;
  for (const WeightRecipe& recipe : ladder(kSeeds))
    if (offer_on_models(search, [&](Case&, Load& l) { return l.spec.weights != recipe && (l.spec.weights = recipe, true); }))
      break;
}

void smaller_context(Search& search) {
  constexpr int kMostTries = 4;
  const int needed = longest_history(search.best());
  for (int context = std::max(needed - 1, 1); context < needed + kMostTries; ++context)
    if (offer_on_models(search, [&](Case&, Load& l) { return l.spec.context > context && (l.spec.context = context, true); }))
      break;
}

/// The ids of all calls that their model knows, in order.
std::vector<Token*> known_ids(Case& value) {
  std::vector<Token*> out;
  for (const At at : places(value)) {
    const ModelSpec* spec = value.trace.spec_at(at.event, run_at(value, at).handle);
    if (Rows* rows = rows_of(step_at(value, at)); rows != nullptr && spec != nullptr)
      for (Tokens& row : *rows)
        for (Token& id : row)
          if (id >= 0 && id < spec->vocab) out.push_back(&id);
  }
  return out;
}

/// The case with standard ids in all ways: a few ids are zeros and ones in every combination, many follow a pattern.
std::vector<Case> with_standard_ids(const Case& value) {
  constexpr std::size_t kFew = 4;
  std::vector<Case> out;
  const auto add = [&](const std::function<Token(std::size_t)>& id) {
    Case form = value;
    const std::vector<Token*> ids = known_ids(form);
    for (std::size_t i = 0; i < ids.size(); ++i) *ids[i] = id(i);
    out.push_back(std::move(form));
  };
  Case probe = value;
  const std::size_t n = known_ids(probe).size();
  if (n <= kFew) {
    for (std::size_t bits = 0; bits < (std::size_t{1} << n); ++bits)
      add([&](std::size_t i) { return static_cast<Token>(bits >> (n - 1 - i) & 1); });
    return out;
  }
  add([](std::size_t) { return 0; });
  add([](std::size_t) { return 1; });
  add([](std::size_t i) { return static_cast<Token>(i % 2); });
  add([&](std::size_t i) { return static_cast<Token>(i + 1 == n); });
  add([](std::size_t i) { return static_cast<Token>(i == 0); });
  add([](std::size_t i) { return static_cast<Token>(i % 4); });
  return out;
}

/// The case with all stop ids the same, one case for each id of the standard vocabulary; itself where it has none.
std::vector<Case> with_standard_stops(const Case& value) {
  std::vector<Case> out;
  for (Token id = 0; id < standard_model({}).vocab; ++id) {
    Case form = value;
    bool any = false;
    for (const At at : places(form))
      if (Loop* loop = loop_of(step_at(form, at)); loop && loop->stop) any = true, loop->stop = Tokens{id};
    if (!any) return {value};
    out.push_back(std::move(form));
  }
  return out;
}

}  // namespace

WeightRecipe telling_weights(const std::string& family) {
  constexpr std::uint64_t kGpt2 = 455844, kLlama = 352772;
  return {WeightRecipe::Kind::kSeed, "", family == "gpt2" ? kGpt2 : kLlama};
}

ModelSpec standard_model(const ModelSpec& of) {
  ModelSpec out = standard_spec(of.family);
  out.width = 4;
  out.tie_word_embeddings = of.tie_word_embeddings;
  if (of.rope_theta != out.rope_theta) out.rope_theta = kOtherTheta;
  if (of.kv_heads > 0) {
    out.heads = 4;
    out.kv_heads = 2;
    out.width = 8;
  }
  out.vocab = 4;
  constexpr int kContext = 16;
  out.context = kContext;
  out.weights = telling_weights(of.family);
  return out;
}

std::optional<Case> on_standard_model(const Case& value) {
  Case out = value;
  for (Load* load : loads_of(out)) {
    if (load->spec.weights.kind == WeightRecipe::Kind::kDirectory) return std::nullopt;
    const int before = load->spec.vocab, context = std::max(load->spec.context, longest_history(out));
    load->spec = standard_model(load->spec);
    load->spec.context = context;
    fold_tokens(out, load->handle, before, load->spec.vocab);
  }
  return out;
}

namespace {

/// The case on standard models of one family, or each model of its own where none is named.
std::vector<Case> forms_on(const std::string& family, const Case& value) {
  constexpr int kMostLayers = 2;
  std::vector<Case> out;
  for (int layers = 1; layers <= kMostLayers; ++layers)
    for (const bool telling : {true, false}) {
      Case form = value;
      for (Load* load : loads_of(form)) {
        const int before = load->spec.vocab;
        const int context = std::max(load->spec.context, longest_history(form));
        load->spec = standard_model(family.empty() ? load->spec : standard_spec(family));
        load->spec.layers = layers;
        load->spec.context = context;
        if (!telling) load->spec.weights = ladder(0).front();
        fold_tokens(form, load->handle, before, load->spec.vocab);
      }
      for (const Case& ids : with_standard_ids(form))
        for (Case& stops : with_standard_stops(ids)) out.push_back(std::move(stops));
    }
  return out;
}

}  // namespace

bool has_choices(const ModelSpec& spec) { return !(standard_model(spec) == standard_model(standard_spec(spec.family))); }

std::vector<Case> canonical_forms(const Case& value) {
  constexpr std::size_t kMostOfOneKind = 32;
  std::vector<std::string> families;
  bool choices = false;
  Case probe = value;
  for (const Load* load : loads_of(probe)) {
    if (load->spec.weights.kind == WeightRecipe::Kind::kDirectory) return {};
    choices |= has_choices(load->spec);
    for (const std::string& family : {reference::architectures().front().name, load->spec.family})
      if (std::find(families.begin(), families.end(), family) == families.end()) families.push_back(family);
  }
  if (choices) families.emplace_back();  // last, each model as it is
  std::vector<Case> out;
  for (const std::string& family : families) {
    std::vector<Case> forms = forms_on(family, value);
    forms.resize(std::min(forms.size(), kMostOfOneKind));
    std::move(forms.begin(), forms.end(), std::back_inserter(out));
  }
  return out;
}

Case with_ids_of_one(Case value) {
  for (Token* id : known_ids(value)) *id = 1;
  return value;
}

std::vector<ShrinkPass> model_passes() {
  return {{"simpler_families", simpler_families},
          {"smaller_models", smaller_models},
          {"plainer_choices", plainer_choices},
          {"plainer_weights", plainer_weights},
          {"smaller_context", smaller_context}};
}

}  // namespace cachet
