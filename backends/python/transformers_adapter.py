"""Hugging Face transformers on torch (CPU, float32), by its public calls: `generate` for whole completions, `forward` with a
cache for sessions. Nothing is repaired here: a retained cache is handed over as it is, and what the engine says is reported.

Configurations: `dynamic` and `static` keep one cache object and pass it to every `generate`, as users do; `dynamic+library`
and `static+library` leave retention to the library. README.md has the rules that are this adapter's own."""

import copy
import functools
import inspect
import os
import sys

from cachet_adapter import Configuration, Engine, Generated, Refused, claim_stdio, serve

if __name__ == "__main__":
    claim_stdio()  # before the engine is imported: it may print
for name, setting in {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "TRANSFORMERS_VERBOSITY": "error",
    "OMP_NUM_THREADS": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TOKENIZERS_PARALLELISM": "false",
}.items():
    os.environ.setdefault(name, setting)

import torch  # noqa: E402
import torch._dynamo  # noqa: E402, F401  (a static cache imports it at its first use: keep it warm)
import transformers  # noqa: E402
from transformers import AutoConfig, AutoModelForCausalLM, DynamicCache, StaticCache  # noqa: E402
from transformers.cache_utils import DynamicLayer, StaticLayer  # noqa: E402
from transformers.models.gpt2 import modeling_gpt2  # noqa: E402, F401
from transformers.models.llama import modeling_llama  # noqa: E402, F401
from transformers.models.mistral import modeling_mistral  # noqa: E402, F401

torch.set_num_threads(1)
transformers.utils.logging.disable_progress_bar()

ARCHITECTURES = ["gpt2", "llama", "mistral"]
ATTENTION = "sdpa"  # the library's default, pinned
PAD_TOKEN = 0  # fills finished rows; never attended to otherwise
MAX_ROWS = 8
# The cache keyword of forward and generate, and whether crop takes a number of tokens to remove, differ between releases.
CACHE_KEYWORD = "cache" if "cache" in inspect.signature(modeling_gpt2.GPT2LMHeadModel.forward).parameters else "past_key_values"
CROP_REMOVES = "tokens_to_remove" in inspect.signature(DynamicLayer.crop).parameters


def load_model(directory):
    """The model, all of whose weights came from the file: the library fills missing ones with random numbers."""
    kind = AutoConfig.from_pretrained(directory).model_type
    if kind not in ARCHITECTURES:
        raise Refused("unsupported", f"model_type {kind!r} is not one of {', '.join(ARCHITECTURES)}")
    model, info = AutoModelForCausalLM.from_pretrained(
        directory, dtype=torch.float32, attn_implementation=ATTENTION, output_loading_info=True
    )
    for trouble in ("missing_keys", "mismatched_keys", "error_msgs"):
        if info.get(trouble):
            raise Refused("invalid", f"{trouble} in the checkpoint: {sorted(map(str, info[trouble]))}")
    model.generation_config.eos_token_id = None  # the step's stop list decides, not the checkpoint's
    return model.eval()


def tensor(rows):
    return torch.tensor(rows, dtype=torch.long)


class TransformersEngine(Engine):
    """A loaded model; `complete` and what it retains. kind: "dynamic" or "static"."""

    kind = None

    def __init__(self, directory, spec, configuration):
        self.model = load_model(directory)
        self.retained = None
        forward = self.model.forward

        @functools.wraps(forward)
        def logged(*args, **kwargs):
            ids = kwargs.get("input_ids", args[0] if args else None)
            self.watch(ids)
            self.log_call(ids.tolist(), ids.shape)
            return forward(*args, **kwargs)

        self.model.forward = logged

    def context(self):
        return self.model.config.max_position_embeddings

    def make_cache(self, capacity):
        if self.kind == "static":
            return StaticCache(config=self.model.config, max_cache_len=capacity)
        return DynamicCache(config=self.model.config)

    def complete(self, tokens, new, stop, min_new, capacity=None):
        if not 1 <= len(tokens) <= MAX_ROWS:
            raise Refused("invalid", f"1 to {MAX_ROWS} rows")
        if capacity is not None and not self.engine_has_capacity() and len(tokens[0]) + new - 1 > capacity:
            raise Refused("capacity", f"{len(tokens[0])} tokens and {new} new ones do not fit into {capacity}")
        return self.call_generate(tokens, new, stop, min_new, self.retention(capacity))

    def call_generate(self, rows, new, stop, min_new, retention):
        """The library's generate, greedy, over whole rows of ids. retention: its keyword arguments about the cache."""
        ids = tensor(rows)
        minimum = {"min_new_tokens": min_new} if min_new else {}
        self.watch(ids)
        out = self.model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=new,
            do_sample=False,
            num_beams=1,
            eos_token_id=stop or None,
            pad_token_id=PAD_TOKEN,
            return_dict_in_generate=True,
            **minimum,
            **retention,
        )
        self.generated_with(out)
        emitted = out.sequences[:, ids.shape[1] :].tolist()
        ends = [first_of(stop, row) for row in emitted]
        self.forget_pads(ends)
        return Generated(emitted, ["length" if end is None else "stop" for end in ends])

    def forget_pads(self, ends):
        """Call i + 1 of a generation feeds each row's i-th new token: after a row's stop these are pads, not real ids."""
        for i, call in enumerate(self.calls[1:] if self.calls else ()):
            call["tokens"] = [[] if end is not None and i > end else row for row, end in zip(call["tokens"], ends)]

    def retained_length(self):
        return None if self.retained is None else self.retained.get_seq_length()

    def retained_layer_lengths(self):
        return None if self.retained is None else layer_lengths(self.retained)


def first_of(stop, row):
    return next((i for i, token in enumerate(row) if token in stop), None)


def layer_lengths(cache):
    return [cache.get_seq_length(layer) for layer in range(len(cache.layers))]


class LibraryRetains(TransformersEngine):
    """generate decides what it keeps: the cache that it returned is the one to ask."""

    def engine_has_capacity(self):
        return False

    def retention(self, capacity):
        return {"cache_implementation": "static"} if self.kind == "static" else {}

    def generated_with(self, out):
        self.retained = getattr(out, CACHE_KEYWORD)


class CallerRetains(TransformersEngine):
    """One cache object lives as long as the model and goes into every call; another capacity makes another cache."""

    retained_capacity = None

    def engine_has_capacity(self):
        return self.kind == "static"

    def retention(self, capacity):
        capacity = capacity or self.context()
        if self.retained is None or (self.kind == "static" and capacity != self.retained_capacity):
            self.retained, self.retained_capacity = self.make_cache(capacity), capacity
        return {CACHE_KEYWORD: self.retained}

    def generated_with(self, out):
        """The retained cache is known already."""

    # Sessions: forward with a cache, rows of equal lengths

    def open(self, rows, capacity):
        if rows > MAX_ROWS:
            raise Refused("invalid", f"at most {MAX_ROWS} rows")
        return Session(self.make_cache(capacity), rows, capacity)

    def length(self, session):
        return session.cache.get_seq_length()

    def layer_lengths(self, session):
        return layer_lengths(session.cache)

    def append(self, session, tokens, want):
        self.check(session, tokens)
        ids = tensor(tokens)
        with torch.no_grad():
            logits = self.model(input_ids=ids, use_cache=True, **{CACHE_KEYWORD: session.cache}).logits
        self.watch(logits)
        session.fed += len(tokens[0])
        return logits[:, -1:] if want == "last" else logits

    def check(self, session, tokens):
        """Rows and, where the cache has none, capacity are notions of the session, so they are judged here."""
        if len(tokens) != session.rows:
            raise Refused("invalid", f"{len(tokens)} rows for a session of {session.rows}")
        if not self.engine_has_capacity() and session.fed + len(tokens[0]) > session.capacity:
            raise Refused("capacity", f"{session.fed + len(tokens[0])} tokens do not fit into {session.capacity}")

    def reset(self, session):
        session.cache.reset()
        session.fed = 0

    def crop(self, session, length):
        if len(length) != session.rows:
            raise Refused("invalid", f"{len(length)} lengths for {session.rows} rows")
        if len(set(length)) > 1:
            raise Refused("unsupported", "the rows of a cache have one length")
        if length[0] < 0:
            raise Refused("invalid", "a length below zero: to the library that means tokens to remove")
        self.crop_cache(session.cache, length[0])
        session.fed = min(session.fed, length[0])

    def crop_cache(self, cache, length):
        if not CROP_REMOVES:
            return cache.crop(length)
        surplus = int(cache.get_seq_length()) - length
        try:
            cache.crop(-surplus)
        except (ValueError, RuntimeError) as error:
            if surplus >= 0:
                raise
            raise Refused("invalid", str(error), state_unchanged=None) from error  # the library's own rule, in its words

    def fork(self, session):
        return copy.deepcopy(session)

    def reorder(self, session, rows):
        if not 1 <= len(rows) <= MAX_ROWS:
            raise Refused("invalid", f"1 to {MAX_ROWS} rows")
        session.cache.reorder_cache(tensor(rows))
        if any(not 0 <= row < session.rows for row in rows):  # an empty cache does not look at them
            raise Refused("invalid", f"rows {rows} of a session of {session.rows}")
        session.rows = len(rows)


class Session:
    """A cache, and what it cannot be asked: rows, capacity, and how many tokens a row of them is fed."""

    def __init__(self, cache, rows, capacity):
        self.cache, self.rows, self.capacity, self.fed = cache, rows, capacity, 0


def configuration(kind, retains):
    """Its engine class differs from the others only in `kind`."""
    caller = retains is CallerRetains
    name = kind if caller else f"{kind}+library"
    declarations = {
        "numeric": "float32",
        "reuse": "caller" if caller else "library",
        "architectures": ARCHITECTURES,
        "max_rows": MAX_ROWS,
        "append_min": 1,
        "overflow": "refuse",
        "context": "undefined",
        "pads_after_stop": True,
        "pad_token": PAD_TOKEN,
        "bitwise": ["repeat", "process"],
        "load_cost_s": 0.05,
        "step_cost_s": 0.001 if caller else 0.006,
    }
    croppable = kind == "dynamic" or hasattr(StaticLayer, "crop")
    return Configuration(
        name,
        type(name, (retains,), {"kind": kind}),
        declarations,
        adds=("all_rows", "batch", "calls", "outputs") if caller else ("batch", "calls", "outputs"),
        without=() if croppable else ("crop",),
    )


CONFIGURATIONS = [configuration(kind, retains) for retains in (CallerRetains, LibraryRetains) for kind in ("dynamic", "static")]

if __name__ == "__main__":
    sys.exit(
        serve(
            "transformers",
            "1",
            CONFIGURATIONS,
            engine={
                "transformers": transformers.__version__,
                "torch": torch.__version__,
                "python": sys.version.split()[0],
                "device": "cpu",
                "attention": ATTENTION,
                "threads": torch.get_num_threads(),
                "cache keyword": CACHE_KEYWORD,
            },
        )
    )
