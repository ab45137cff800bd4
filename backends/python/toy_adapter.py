"""The smallest honest adapter: GPT-2 on Python lists in double precision, with a growing key-value cache.
An example for authors of adapters; the engine is the upper half, what the kit asks for is the lower."""

import json
import math
import os
import struct
import sys

from cachet_adapter import Configuration, Engine, Generated, Refused, serve


class Gpt2:
    """GPT-2 (Radford et al. 2019) in the Hugging Face layout: the tensors of model.safetensors as nested lists."""

    def __init__(self, directory):
        with open(os.path.join(directory, "config.json")) as f:
            config = json.load(f)
        self.activation = ACTIVATIONS.get(config.get("activation_function", "gelu_new"))
        if config.get("model_type") != "gpt2" or self.activation is None:
            raise ValueError(f"this engine computes GPT-2 with {' or '.join(ACTIVATIONS)} only")
        self.layers, self.heads, self.context = config["n_layer"], config["n_head"], config["n_positions"]
        self.epsilon = config.get("layer_norm_epsilon", 1e-5)
        self.tensors = read_safetensors(os.path.join(directory, "model.safetensors"))
        self.vocabulary = len(self["wte.weight"])

    def __getitem__(self, name):
        return self.tensors.get("transformer." + name) or self.tensors[name]

    def linear(self, x, name):
        columns = zip(*self[name + ".weight"])  # (in, out)
        return [b + math.fsum(map(float.__mul__, x, column)) for b, column in zip(self[name + ".bias"], columns)]

    def norm(self, x, name):
        mean = math.fsum(x) / len(x)
        scale = 1 / math.sqrt(math.fsum((v - mean) ** 2 for v in x) / len(x) + self.epsilon)
        return [(v - mean) * scale * g + b for v, g, b in zip(x, self[name + ".weight"], self[name + ".bias"])]

    def attend(self, q, keys, values):
        """One head: q (head,), keys and values (tokens, head)."""
        scores = [math.fsum(map(float.__mul__, q, k)) / math.sqrt(len(q)) for k in keys]
        top = max(scores)
        weights = [math.exp(s - top) for s in scores]
        return [math.fsum(map(float.__mul__, weights, v)) / math.fsum(weights) for v in zip(*values)]

    def step(self, token, cache):
        """The logits after one token, whose keys and values join the cache: a list over layers of (key, value) pairs."""
        x = [a + b for a, b in zip(self["wte.weight"][token], self["wpe.weight"][len(cache[0])])]
        width, head = len(x), len(x) // self.heads
        for layer, past in enumerate(cache):
            at = f"h.{layer}."
            qkv = self.linear(self.norm(x, at + "ln_1"), at + "attn.c_attn")
            past.append((qkv[width : 2 * width], qkv[2 * width :]))
            mixed = []
            for i in range(0, width, head):
                mixed += self.attend(qkv[i : i + head], [k[i : i + head] for k, _ in past], [v[i : i + head] for _, v in past])
            x = [a + b for a, b in zip(x, self.linear(mixed, at + "attn.c_proj"))]
            hidden = self.linear(self.norm(x, at + "ln_2"), at + "mlp.c_fc")
            x = [a + b for a, b in zip(x, self.linear([self.activation(v) for v in hidden], at + "mlp.c_proj"))]
        x = self.norm(x, "ln_f")
        return [math.fsum(map(float.__mul__, x, row)) for row in self["wte.weight"]]


ACTIVATIONS = {
    "gelu_new": lambda v: 0.5 * v * (1 + math.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v**3))),
    "gelu": lambda v: 0.5 * v * (1 + math.erf(v / math.sqrt(2))),
}


def read_safetensors(path):
    """name -> nested lists of the F32 tensors in a file."""
    with open(path, "rb") as f:
        raw = f.read()
    size = struct.unpack_from("<Q", raw)[0]
    header, data = json.loads(raw[8 : 8 + size]), raw[8 + size :]
    header.pop("__metadata__", None)
    if any(entry["dtype"] != "F32" for entry in header.values()):
        raise ValueError("this engine reads F32 tensors only")
    return {
        name: nested(
            struct.unpack(f"<{(e['data_offsets'][1] - e['data_offsets'][0]) // 4}f", data[slice(*e["data_offsets"])]), e["shape"]
        )
        for name, e in header.items()
    }


def nested(flat, shape):
    if len(shape) < 2:
        return list(flat)
    stride = len(flat) // shape[0]
    return [nested(flat[i * stride : (i + 1) * stride], shape[1:]) for i in range(shape[0])]


class Session:
    """caches: one a row, each a list over layers."""

    def __init__(self, rows, capacity, layers):
        self.capacity, self.caches = capacity, [[[] for _ in range(layers)] for _ in range(rows)]


class ToyEngine(Engine):
    def __init__(self, directory, spec, configuration):
        self.model = Gpt2(directory)

    def open(self, rows, capacity):
        return Session(rows, capacity, self.model.layers)

    def length(self, session):
        return len(session.caches[0][0])

    def layer_lengths(self, session):
        return [len(past) for past in session.caches[0]]

    def append(self, session, tokens, want):
        """Everything that can be wrong is refused before anything is done."""
        self.check(session, tokens, len(tokens[0]) if tokens else 0)
        self.log_call(tokens, (len(tokens), len(tokens[0])))
        rows = [[self.model.step(token, cache) for token in row] for row, cache in zip(tokens, session.caches)]
        return rows if want == "all" else [row[-1:] for row in rows]

    def check(self, session, tokens, more):
        if len(tokens) != len(session.caches) or not tokens or not all(tokens):
            raise Refused("invalid", f"{len(session.caches) or 1} rows of at least one token are expected")
        if any(not 0 <= token < self.model.vocabulary for row in tokens for token in row):
            raise Refused("invalid", f"a token is outside the vocabulary of {self.model.vocabulary}")
        if self.length(session) + more > min(session.capacity, self.model.context):
            raise Refused("capacity", f"{more} tokens do not fit after {self.length(session)}")

    def reset(self, session):
        session.caches = Session(len(session.caches), 0, self.model.layers).caches

    def crop(self, session, length):
        if len(length) != len(session.caches) or len(set(length)) > 1 or not 0 <= length[0] <= self.length(session):
            raise Refused("invalid", f"one length of 0 to {self.length(session)} for all rows is expected")
        session.caches = [[past[: length[0]] for past in cache] for cache in session.caches]

    def fork(self, session):
        child = Session(0, session.capacity, self.model.layers)
        child.caches = [[list(past) for past in cache] for cache in session.caches]
        return child

    def complete(self, tokens, new, stop, min_new, capacity=None):
        """Greedy, each row by itself, on a new cache; the last token is not fed."""
        session = self.open(len(tokens), capacity or self.model.context)
        self.check(session, tokens, len(tokens[0]) + new - 1 if tokens else 0)
        return Generated(*zip(*(self.continue_row(row, cache, new, stop, min_new) for row, cache in zip(tokens, session.caches))))

    def continue_row(self, prompt, cache, new, stop, min_new):
        out, fed = [], prompt
        while len(out) < new:
            self.log_call([fed], (1, len(fed)))
            logits = [self.model.step(token, cache) for token in fed][-1]
            for barred in stop if len(out) < min_new else ():
                if 0 <= barred < len(logits):
                    logits[barred] = -math.inf
            fed = [logits.index(max(logits))]
            out += fed
            if fed[0] in stop and len(out) > min_new:
                return out, "stop"
        return out, "length"


DECLARATIONS = {
    "numeric": "float64",
    "reuse": "library",
    "architectures": ["gpt2"],
    "append_min": 1,
    "overflow": "refuse",
    "context": "refuse",
    "bitwise": ["repeat", "process", "reset", "fork", "batch", "chunk"],
    "load_cost_s": 0.002,
    "step_cost_s": 0.001,
}

if __name__ == "__main__":
    sys.exit(
        serve(
            "toy",
            "1",
            [Configuration("lists", ToyEngine, DECLARATIONS, adds=("all_rows", "batch", "calls"))],
            engine={"python": sys.version.split()[0], "device": "cpu"},
        )
    )
