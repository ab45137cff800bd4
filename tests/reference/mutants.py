"""Shows that the golden logits are worth something: plants one mistake at a time in a copy of the reference and demands that the
golden tests fail. A mutant that survives, does not compile or no longer fits the text is printed, and the exit code is 1.

    python3 mutants.py [NAME...]
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
GPT2 = "reference/architectures/gpt2.cpp"
LLAMA = "reference/architectures/llama.cpp"
LAYERS = "reference/layers.cpp"
ARITHMETIC = "reference/arithmetic.cpp"
WEIGHTS = "reference/weights.cpp"

# name, file, text as it stands (exactly once), what takes its place
MUTANTS = [
    ("positions_all_zero", GPT2, "wpe.data[t * width + i]", "wpe.data[i]"),
    ("positions_off_by_one", GPT2, "wpe.data[t * width + i]", "wpe.data[(t + 1) % spec.context * width + i]"),
    ("no_positions", GPT2, " + wpe.data[t * width + i]", ""),
    ("previous_token", GPT2, "wte.data[history[t] * width + i]", "wte.data[history[std::max(t - 1, 0)] * width + i]"),
    ("epsilon_fixed", GPT2, 'w(block + name + ".bias"), spec.norm_epsilon, normed', 'w(block + name + ".bias"), 1e-6, normed'),
    ("values_for_keys", GPT2, "qkv.data() + width + h * head", "qkv.data() + 2 * width + h * head"),
    (
        "keys_for_queries",
        GPT2,
        "row(qkv, t, 3 * width).subspan(h * head, head)",
        "row(qkv, t, 3 * width).subspan(width + h * head, head)",
    ),
    ("heads_share_queries", GPT2, "row(qkv, t, 3 * width).subspan(h * head, head)", "row(qkv, t, 3 * width).subspan(0, head)"),
    ("sees_next_position", GPT2, "attend(a, t, query", "attend(a, std::min(t + 1, tokens - 1), query"),
    ("sees_all_positions", GPT2, "attend(a, t, query", "attend(a, tokens - 1, query"),
    (
        "attention_not_added",
        GPT2,
        'linear("attn.c_proj", t, normed, branch);\n      add(a, t, row(x, t, width), branch);',
        'linear("attn.c_proj", t, normed, branch);',
    ),
    ("no_second_norm", GPT2, 'norm("ln_2", t);', ""),
    ("first_norm_twice", GPT2, 'norm("ln_2", t);', 'norm("ln_1", t);'),
    (
        "mlp_not_added",
        GPT2,
        'linear("mlp.c_proj", t, inner, branch);\n      add(a, t, row(x, t, width), branch);',
        'linear("mlp.c_proj", t, inner, branch);',
    ),
    (
        "one_layer_less",
        GPT2,
        "layer < spec.layers; ++layer) {\n    const std::string block = \"h.\"",
        "layer < std::max(1, spec.layers - 1); ++layer) {\n    const std::string block = \"h.\"",
    ),
    ("head_tied_to_positions", GPT2, "normed, wte, rows", "normed, spec.vocab <= spec.context ? wpe : wte, rows"),
    ("norm_of_first_layer_at_the_end", GPT2, 'w("ln_f.weight")', 'w("h.0.ln_1.weight")'),
    ("activations_exchanged", LAYERS, 'activation == "gelu"', 'activation != "gelu"'),
    ("tanh_coefficient", LAYERS, "x + 0.044715 *", "x + 0.044714 *"),
    ("tanh_scale_rounded", LAYERS, "std::sqrt(2 / std::numbers::pi) * inner", "0.7979 * inner"),
    ("erf_without_root", LAYERS, "x / std::numbers::sqrt2", "x"),
    (
        "unbiased_variance",
        LAYERS,
        "spread = a.close(t, squares) / width",
        "spread = a.close(t, squares) / std::max(1, width - 1)",
    ),
    ("llama_head_by_modulo", LLAMA, "h / (spec.heads / kv_heads_of(spec)) * head;", "h % kv_heads_of(spec) * head;"),
    ("llama_first_key_head", LLAMA, "h / (spec.heads / kv_heads_of(spec)) * head;", "0;"),
    (
        "llama_positions_from_one",
        LLAMA,
        "rotation(a, t, static_cast<int>(head), spec.rope_theta)",
        "rotation(a, t ? t + 1 : 0, static_cast<int>(head), spec.rope_theta)",
    ),
    (
        "llama_no_positions",
        LLAMA,
        "rotation(a, t, static_cast<int>(head), spec.rope_theta)",
        "rotation(a, 0, static_cast<int>(head), spec.rope_theta)",
    ),
    ("llama_theta_fixed", LLAMA, "static_cast<int>(head), spec.rope_theta)", "static_cast<int>(head), 10000)"),
    (
        "llama_theta_of_width",
        LLAMA,
        "rotation(a, t, static_cast<int>(head), spec.rope_theta)",
        "rotation(a, t, static_cast<int>(width), spec.rope_theta)",
    ),
    ("llama_keys_not_rotated", LLAMA, "      turn(t, row(k, t, keys));\n", ""),
    ("llama_queries_not_rotated", LLAMA, "      turn(t, row(q, t, queries));\n", ""),
    (
        "llama_values_rotated",
        LLAMA,
        "      turn(t, row(k, t, keys));\n",
        "      turn(t, row(k, t, keys));\n      turn(t, row(v, t, keys));\n",
    ),
    ("llama_values_for_keys", LLAMA, "k.data() + shared, v.data() + shared", "v.data() + shared, v.data() + shared"),
    ("llama_sees_all_positions", LLAMA, "attend(a, t, row(q", "attend(a, tokens - 1, row(q"),
    ("llama_gate_and_up_exchanged", LLAMA, "activate(a, t, spec.activation, gate);", "activate(a, t, spec.activation, up);"),
    ("llama_gate_not_activated", LLAMA, "activate(a, t, spec.activation, gate);", ""),
    ("llama_no_up", LLAMA, "a.round(t, gate[i] * up[i])", "gate[i]"),
    ("llama_gelu_for_silu", LLAMA, "activate(a, t, spec.activation, gate);", 'activate(a, t, "gelu", gate);'),
    ("llama_gelu_new_for_silu", LLAMA, "activate(a, t, spec.activation, gate);", 'activate(a, t, "gelu_new", gate);'),
    ("llama_untied_head_ignored", LLAMA, 'spec.tie_word_embeddings ? embedding : w("lm_head")', "embedding"),
    (
        "llama_head_of_default_size",
        LLAMA,
        "spec.head_dim > 0 ? spec.head_dim : spec.width / spec.heads",
        "spec.width / spec.heads",
    ),
    ("llama_epsilon_fixed", LLAMA, 'w(block + "input_layernorm"), spec.norm_epsilon', 'w(block + "input_layernorm"), 1e-6'),
    ("llama_last_epsilon_fixed", LLAMA, 'w("model.norm"), spec.norm_epsilon', 'w("model.norm"), 1e-6'),
    ("llama_first_norm_twice", LLAMA, 'w(block + "post_attention_layernorm")', 'w(block + "input_layernorm")'),
    (
        "llama_attention_not_added",
        LLAMA,
        'w(block + "self_attn.o_proj"), branch);\n      add(a, t, row(x, t, width), branch);',
        'w(block + "self_attn.o_proj"), branch);',
    ),
    (
        "llama_layer_less",
        LLAMA,
        'layer < spec.layers; ++layer) {\n'
        '    const std::string block = "model.layers." + std::to_string(layer) + ".";\n'
        '    const auto turn',
        'layer < std::max(1, spec.layers - 1); ++layer) {\n'
        '    const std::string block = "model.layers." + std::to_string(layer) + ".";\n'
        '    const auto turn',
    ),
    ("llama_inner_rounded_down", LLAMA, "{8} * width + 2) / 3", "{8} * width) / 3"),
    ("rms_epsilon_outside_root", LAYERS, "1 / std::sqrt(a.round(t, mean + epsilon))", "1 / (std::sqrt(mean) + epsilon)"),
    (
        "rms_epsilon_before_mean",
        LAYERS,
        "a.round(t, a.close(t, squares) / width);\n  const double inverse",
        "a.round(t, (a.close(t, squares) + epsilon) / width) - epsilon;\n  const double inverse",
    ),
    (
        "rms_minus_mean",
        LAYERS,
        "for (const int i : a.order(t, width)) squares.add(x[i] * x[i]);",
        "double centre = 0;\n"
        "  for (const double v : x) centre += v / width;\n"
        "  for (const int i : a.order(t, width)) squares.add((x[i] - centre) * (x[i] - centre));",
    ),
    ("rms_without_gain", LAYERS, "a.round(t, x[i] * inverse) * gain.data[i])", "a.round(t, x[i] * inverse))"),
    (
        "rms_gain_plus_one",
        LAYERS,
        "a.round(t, x[i] * inverse) * gain.data[i])",
        "a.round(t, x[i] * inverse) * (1 + gain.data[i]))",
    ),
    ("silu_without_x", LAYERS, "a.round(t, x * logistic)", "logistic"),
    ("silu_steeper", LAYERS, "std::exp(-x));\n", "std::exp(-1.702 * x));\n"),
    (
        "rope_neighbours",
        LAYERS,
        "const std::size_t half = rotation.cosines.size();\n  for",
        "x = x.subspan(0, 2 * rotation.cosines.size());\n"
        "  std::vector<double> sorted(x.size());\n"
        "  const std::size_t half = x.size() / 2;\n"
        "  for (std::size_t i = 0; i < half; ++i) sorted[i] = x[2 * i], sorted[i + half] = x[2 * i + 1];\n"
        "  std::copy(sorted.begin(), sorted.end(), x.begin());\n"
        "  for",
    ),
    (
        "rope_turned_back",
        LAYERS,
        "c = rotation.cosines[i], s = rotation.sines[i]",
        "c = rotation.cosines[i], s = -rotation.sines[i]",
    ),
    (
        "rope_sine_for_cosine",
        LAYERS,
        "c = rotation.cosines[i], s = rotation.sines[i]",
        "c = rotation.sines[i], s = rotation.cosines[i]",
    ),
    ("rope_sign", LAYERS, "first * c - second * s,", "first * c + second * s,"),
    ("rope_one_frequency", LAYERS, "std::pow(theta, -2.0 * i / head)", "std::pow(theta, -2.0 * 0 / head)"),
    ("rope_exponent_of_half", LAYERS, "std::pow(theta, -2.0 * i / head)", "std::pow(theta, -1.0 * i / head)"),
    (
        "rope_frequency_in_float",
        LAYERS,
        "const double exact = std::pow(theta, -2.0 * i / head);",
        "const double exact = static_cast<float>(std::pow(theta, -2.0 * i / head));",
    ),
    ("product_of_first_column", ARITHMETIC, "weight.data.data() + k, out", "weight.data.data(), out"),
    ("mean_not_subtracted", LAYERS, "a.round(t, x[i] - mean, std::max", "a.round(t, x[i], std::max"),
    ("norm_without_gain", LAYERS, "centred * inverse) * gain.data[i]", "centred * inverse)"),
    ("norm_without_bias", LAYERS, "scaled + bias.data[i]", "scaled"),
    ("scale_by_head_size", LAYERS, "1 / std::sqrt(static_cast<double>(head))", "1 / static_cast<double>(head)"),
    ("no_scale", LAYERS, "1 / std::sqrt(static_cast<double>(head))", "1.0"),
    (
        "first_position_hidden",
        LAYERS,
        "for (int s = 0; s <= t; ++s) weights[s] =",
        "for (int s = t > 0; s <= t; ++s) weights[s] =",
    ),
    ("linear_without_bias", ARITHMETIC, "sum = offset;\n    for", "sum.setZero();\n    for"),
    ("other_seed_stream", WEIGHTS, "reference::mix(seed, hash_of(info.name))", "reference::mix(seed + 1, hash_of(info.name))"),
    ("weights_not_rounded", WEIGHTS, "value = to_bfloat16(centre", "value = (centre"),
]

TABLE = """#include "reference/architecture.h"
namespace cachet::reference {
Architecture gpt2();
Architecture llama();
const std::vector<Architecture>& architectures() {
  static const std::vector<Architecture> table = {gpt2(), llama()};
  return table;
}
}  // namespace cachet::reference
"""


def compile_one(tree, source):
    target = tree / (source.replace("/", "_") + ".o")
    command = [
        "g++",
        "-std=c++20",
        "-O1",
        "-w",
        "-I",
        str(tree),
        "-I",
        str(ROOT),
        "-isystem",
        "/usr/include/eigen3",
        f'-DCACHET_TESTS_DIR="{ROOT}/tests/reference"',
        "-c",
        str(tree / source),
        "-o",
        str(target),
    ]
    return subprocess.run(command, capture_output=True, text=True), target


def goldens_hold(tree, objects):
    program = tree / "goldens"
    subprocess.run(["g++", *map(str, objects), "-o", str(program), "-lgtest_main", "-lgtest", "-lpthread"], check=True)
    return subprocess.run([str(program), "--gtest_filter=*Goldens*"], capture_output=True).returncode == 0


def main():
    wanted = set(sys.argv[1:])
    bad = 0
    with tempfile.TemporaryDirectory() as directory:
        tree = pathlib.Path(directory)
        shutil.copytree(ROOT / "reference", tree / "reference")
        (tree / "table.cpp").write_text(TABLE)
        for family in ("gpt2", "llama"):
            shutil.copy(ROOT / f"tests/reference/{family}_test.cpp", tree / f"{family}_test.cpp")
        sources = [str(p.relative_to(tree)) for p in sorted(tree.rglob("*.cpp"))]
        objects = {}
        for source in sources:
            result, objects[source] = compile_one(tree, source)
            if result.returncode:
                sys.exit(result.stderr)
        if not goldens_hold(tree, objects.values()):
            sys.exit("the goldens fail on the unchanged reference")
        for name, file, before, after in MUTANTS:
            if wanted and name not in wanted:
                continue
            original = (tree / file).read_text()
            if original.count(before) != 1:
                outcome = f"does not fit: the text stands {original.count(before)} times in {file}"
            else:
                (tree / file).write_text(original.replace(before, after))
                result, _ = compile_one(tree, file)
                outcome = (
                    "does not compile" if result.returncode else "SURVIVES" if goldens_hold(tree, objects.values()) else "killed"
                )
                (tree / file).write_text(original)
                compile_one(tree, file)
            bad += outcome != "killed"
            print(f"{name:32} {outcome}", flush=True)
    print(f"{bad} mutants not killed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
