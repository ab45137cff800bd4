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
    ("head_tied_to_positions", GPT2, "wte.data.data() + j * width", "wpe.data.data() + j % spec.context * width"),
    ("norm_of_first_layer_at_the_end", GPT2, 'w("ln_f.weight")', 'w("h.0.ln_1.weight")'),
    ("activations_exchanged", LAYERS, 'activation == "gelu"', 'activation != "gelu"'),
    ("tanh_coefficient", LAYERS, "x + 0.044715 *", "x + 0.044714 *"),
    ("tanh_scale_rounded", LAYERS, "std::sqrt(2 / std::numbers::pi) * inner", "0.7979 * inner"),
    ("erf_without_root", LAYERS, "x / std::numbers::sqrt2", "x"),
    ("unbiased_variance", LAYERS, "a.close(t, squares) / width", "a.close(t, squares) / std::max(1, width - 1)"),
    ("mean_not_subtracted", LAYERS, "a.round(t, x[i] - mean, std::max", "a.round(t, x[i], std::max"),
    ("norm_without_gain", LAYERS, " * gain.data[i]", ""),
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
const std::vector<Architecture>& architectures() {
  static const std::vector<Architecture> table = {gpt2()};
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
        shutil.copy(ROOT / "tests/reference/gpt2_test.cpp", tree / "gpt2_test.cpp")
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
