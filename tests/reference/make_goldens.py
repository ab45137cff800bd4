"""Makes goldens/: logits of the published implementation (Hugging Face transformers, GPT2LMHeadModel and LlamaForCausalLM) in
float64, on weights that cachet's recipes made and `cachet export` wrote, and for each family one checkpoint that transformers
made and wrote itself.

    python3 make_goldens.py PATH-TO-CACHET
"""

import contextlib
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

LLAMAS = [
    "llama layers=1 heads=1 width=2 vocab=4 context=8 weights=seed:0",
    "llama layers=1 heads=1 width=4 vocab=6 context=8 tie_word_embeddings=true weights=seed:1",
    "llama layers=1 heads=4 width=8 vocab=12 context=10 kv_heads=2 weights=pattern:ramp",
    "llama layers=2 heads=4 width=16 vocab=9 context=12 kv_heads=1 rope_theta=100 weights=seed:2",
    "llama layers=2 heads=2 width=6 vocab=7 context=12 inner=5 head_dim=4 tie_word_embeddings=true weights=seed:3",
    "llama layers=2 heads=4 width=8 vocab=5 context=9 kv_heads=2 head_dim=6 rope_theta=500000 weights=seed:4",
    "llama layers=3 heads=3 width=24 vocab=16 context=12 norm_epsilon=0.01 weights=seed:5",
    "llama layers=3 heads=6 width=24 vocab=11 context=40 kv_heads=3 norm_epsilon=1e-06 rope_theta=7.5 tie_word_embeddings=true "
    "weights=seed:18446744073709551615",
]


def histories(vocab, context, lengths):
    """A full context, and shorter ones that repeat and overlap it."""
    full = [(5 * t * t + 3 * t + 1) % vocab for t in range(context)]
    return [full] + [(full[:2] + [vocab - 1, 0, vocab - 1])[:length] for length in lengths]


@contextlib.contextmanager
def no_float32():
    """Llama's module casts its norms and its rotary angles to float32 by name; here those names mean float64."""
    names = {name: getattr(torch, name) for name in ("float", "float32")}
    cast = torch.Tensor.float
    for name in names:
        setattr(torch, name, torch.float64)
    torch.Tensor.float = torch.Tensor.double
    try:
        yield
    finally:
        torch.Tensor.float = cast
        for name, dtype in names.items():
            setattr(torch, name, dtype)


class Gpt2:
    name = "GPT2LMHeadModel"
    how = "float64, eager attention, no cache"
    lengths = (5,)

    @staticmethod
    def load(directory):
        model = transformers.GPT2LMHeadModel.from_pretrained(directory, attn_implementation="eager")
        return model.double().eval()

    @staticmethod
    def rows(model, histories):
        with torch.no_grad():
            return [model(torch.tensor([history]), use_cache=False).logits[0] for history in histories]


class Llama:
    """Its eager attention has a softmax in float32 by name, which no_float32 lifts as well."""

    name = "LlamaForCausalLM"
    how = "float64, its own casts to float32 lifted, eager attention, one padded batch, no cache"
    lengths = (5, 1, 3)

    @staticmethod
    def load(directory):
        model = transformers.LlamaForCausalLM.from_pretrained(directory, attn_implementation="eager").double().eval()
        with no_float32():
            model.model.rotary_emb = type(model.model.rotary_emb)(config=model.config)
        return model

    @staticmethod
    def rows(model, histories):
        """One batch, padded on the right."""
        longest = max(map(len, histories))
        ids = torch.tensor([history + [0] * (longest - len(history)) for history in histories])
        mask = torch.tensor([[1] * len(history) + [0] * (longest - len(history)) for history in histories])
        with torch.no_grad(), no_float32():
            logits = model(ids, attention_mask=mask, use_cache=False).logits
        return [row[: len(history)] for row, history in zip(logits, histories)]


def write(name, spec, family, model):
    config = model.config
    asked = histories(config.vocab_size, config.max_position_embeddings, family.lengths)
    golden = {
        "origin": f"transformers {transformers.__version__} {family.name}, torch {torch.__version__}, {family.how}",
        "model": spec,
        "histories": [
            {"tokens": history, "logits": [[float(x) for x in row] for row in rows]}
            for history, rows in zip(asked, family.rows(model, asked))
        ],
    }
    (HERE / name).write_text(json.dumps(golden, indent=0) + "\n")


def own_checkpoint(name, family, make, config):
    """Weights from transformers' own initialisation, widened so that biases and gains matter; written by save_pretrained."""
    torch.manual_seed(7)
    model = make(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.5)
    model.save_pretrained(HERE / name)
    (HERE / name / "generation_config.json").unlink(missing_ok=True)
    write(f"{name}.json", "", family, family.load(HERE / name))


def gpt2_config():
    return transformers.GPT2Config(
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


def llama_config():
    return transformers.LlamaConfig(
        vocab_size=6,
        max_position_embeddings=12,
        hidden_size=8,
        intermediate_size=10,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=4,
        rope_theta=500.0,
        bos_token_id=0,
        eos_token_id=5,
        attn_implementation="eager",
    )


def of_recipes(cachet, prefix, family, specs):
    for number, spec in enumerate(specs):
        with tempfile.TemporaryDirectory() as directory:
            subprocess.run([cachet, "export", spec, directory], check=True, stdout=subprocess.DEVNULL)
            write(f"{prefix}_{number}.json", spec, family, family.load(directory))


def main():
    cachet = sys.argv[1]
    HERE.mkdir(exist_ok=True)
    of_recipes(cachet, "model", Gpt2, MODELS)
    of_recipes(cachet, "llama", Llama, LLAMAS)
    own_checkpoint("checkpoint", Gpt2, transformers.GPT2LMHeadModel, gpt2_config())
    own_checkpoint("llama_checkpoint", Llama, transformers.LlamaForCausalLM, llama_config())


if __name__ == "__main__":
    main()
