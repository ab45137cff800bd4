"""Makes goldens/: logits of the published implementation (Hugging Face transformers, GPT2LMHeadModel) in float64, on weights that
cachet's recipes made and `cachet export` wrote, and one checkpoint that transformers made and wrote itself.

    python3 make_goldens.py PATH-TO-CACHET
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import torch
import transformers

HERE = pathlib.Path(__file__).resolve().parent / "goldens"

MODELS = [
    "gpt2 layers=1 heads=1 width=2 vocab=4 context=8 weights=seed:0",
    "gpt2 layers=1 heads=1 width=4 vocab=6 context=8 weights=seed:1",
    "gpt2 layers=1 heads=2 width=8 vocab=12 context=10 weights=pattern:ramp",
    "gpt2 layers=2 heads=2 width=8 vocab=9 context=12 weights=pattern:biased_ramp",
    "gpt2 layers=2 heads=2 width=6 vocab=7 context=12 inner=5 weights=seed:2",
    "gpt2 layers=2 heads=4 width=8 vocab=5 context=9 activation=gelu weights=seed:3",
    "gpt2 layers=3 heads=3 width=12 vocab=16 context=12 norm_epsilon=0.01 weights=seed:4",
    "gpt2 layers=3 heads=4 width=16 vocab=11 context=16 norm_epsilon=1e-06 activation=gelu weights=seed:18446744073709551615",
]


def histories(vocab, context):
    """A full context, and a short one that repeats and overlaps it."""
    full = [(5 * t * t + 3 * t + 1) % vocab for t in range(context)]
    return [full, full[:2] + [vocab - 1, 0, vocab - 1]]


def logits_of(model, history):
    with torch.no_grad():
        rows = model(torch.tensor([history]), use_cache=False).logits[0]
    return [[float(x) for x in row] for row in rows]


def load(directory):
    model = transformers.GPT2LMHeadModel.from_pretrained(directory, attn_implementation="eager")
    return model.double().eval()


def write(name, spec, model, vocab, context):
    golden = {
        "origin": f"transformers {transformers.__version__} GPT2LMHeadModel, torch {torch.__version__}, "
        "float64, eager attention, no cache",
        "model": spec,
        "histories": [{"tokens": h, "logits": logits_of(model, h)} for h in histories(vocab, context)],
    }
    (HERE / name).write_text(json.dumps(golden, indent=0) + "\n")


def own_checkpoint():
    """Weights from transformers' own initialisation, widened so that biases and gains matter; written by save_pretrained."""
    torch.manual_seed(7)
    config = transformers.GPT2Config(
        vocab_size=6,
        n_positions=8,
        n_embd=4,
        n_layer=2,
        n_head=2,
        bos_token_id=0,
        eos_token_id=5,
        activation_function="gelu_new",
        attn_implementation="eager",
    )
    model = transformers.GPT2LMHeadModel(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.5)
    model.save_pretrained(HERE / "checkpoint")
    (HERE / "checkpoint" / "generation_config.json").unlink(missing_ok=True)
    write("checkpoint.json", "", load(HERE / "checkpoint"), 6, 8)


def main():
    cachet = sys.argv[1]
    HERE.mkdir(exist_ok=True)
    for number, spec in enumerate(MODELS):
        with tempfile.TemporaryDirectory() as directory:
            subprocess.run([cachet, "export", spec, directory], check=True, stdout=subprocess.DEVNULL)
            model = load(directory)
            write(f"model_{number}.json", spec, model, model.config.vocab_size, model.config.n_positions)
    own_checkpoint()


if __name__ == "__main__":
    main()
