"""What an adapter's author writes: an Engine whose methods are the protocol's steps, and Configurations that offer it.
A step is offered when its methods are defined, so the list of capabilities cannot disagree with the code."""

from dataclasses import dataclass, field


class Refused(Exception):
    """A call refused by rule before anything was done. kind: "invalid", "unsupported" or "capacity".
    Raise it only for rules that are the adapter's own, or to pass on the engine's own refusal. Any other
    exception counts as the engine's failure, after which the session is dead until reset or close."""

    def __init__(self, kind, message, state_unchanged=True):
        super().__init__(message)
        self.kind = kind
        self.state_unchanged = state_unchanged


@dataclass
class Generated:
    """What generate and complete return. tokens: the new ids of each row; stopped: "stop", "length" or "capacity" of each;
    scores: of beams; cached: how many tokens of the prompt were reused, of each row."""

    tokens: object
    stopped: list
    scores: object = None
    cached: list = None


class Engine:
    """One loaded model. A session is whatever object `open` returns; the kit keeps the names, and ends sessions at the
    end of a run. Methods get the step's fields; optional ones are passed only where the step has them.
    Undefined methods are not offered. Methods that take a session may not replace it: change the object.

        __init__(directory, spec, configuration)    load, or raise: the model is then refused
        open(rows, capacity) -> session
        append(session, tokens, want, pad=, keep=) -> logits, (rows, 1 or tokens, vocabulary)
        length(session)                             exactly what the engine's own call says, of any type; a list is one a row
        layer_lengths(session)                      a list of the same over layers
        reset(session), release(session), poison(session), close(session)
        crop(session, length), remove(session, begin, end=), shift(session, begin, delta, end=), reorder(session, rows)
        fork(session) -> session
        save(session) -> blob, restore(session, blob), snapshot(session) -> mark, rollback(session, mark)
        generate(session, new, stop, min_new, tokens=, sampling=, processors=, beams=, draft=) -> Generated
        complete(tokens, new, stop, min_new, capacity=, ...) -> Generated
        retained_length(), retained_layer_lengths() of what `complete` retains; None where there is nothing
        recompile()
    """

    calls = compilations = watched = None  # the kit gives each step empty lists

    def close(self, session):
        """Called when a session ends; by default its storage just goes with the object."""

    def log_call(self, tokens, shape, positions=None):
        """Reports one call of the model: rows of the real ids fed, the padded shape."""
        if self.calls is not None:
            call = {"tokens": tokens, "shape": [int(n) for n in shape]}
            self.calls.append(call if positions is None else {**call, "positions": positions})

    def log_compilation(self, what, signature):
        if self.compilations is not None:
            self.compilations.append({"what": what, "signature": signature})

    def watch(self, array):
        """For the probe `outputs`: an argument that the engine was given and must not change later."""
        if self.watched is not None:
            self.watched.append(array)


# The methods that make a capability.
METHODS = {
    "append": ("open", "append", "length", "reset"),
    "complete": ("complete",),
    "generate": ("generate",),
    "crop": ("crop",),
    "remove": ("remove",),
    "shift": ("shift",),
    "fork": ("fork",),
    "reorder": ("reorder",),
    "save": ("save", "restore"),
    "snapshot": ("snapshot", "rollback"),
    "release": ("release",),
    "poison": ("poison",),
    "recompile": ("recompile",),
}
# A probe that either of two methods makes.
LAYER_LENGTHS = ("layer_lengths", "retained_layer_lengths")
# Capabilities that no method shows: the configuration names them.
NAMED = (
    "all_rows",
    "batch",
    "peek",
    "sampling",
    "sampling_noise",
    "processors",
    "beams",
    "draft",
    "calls",
    "compilations",
    "outputs",
)
DECLARATIONS = (
    "numeric",
    "undefined_calls",
    "reuse",
    "context",
    "length_counts",
    "drift",
    "rotated_keys_stay",
    "bitwise",
    "architectures",
    "max_rows",
    "max_capacity",
    "append_min",
    "append_max",
    "append_buckets",
    "capacity_buckets",
    "row_buckets",
    "block",
    "ring",
    "pad_side",
    "mask_source",
    "pad_token",
    "pads_use_capacity",
    "idle_rows",
    "last_token_cached",
    "pads_after_stop",
    "overflow",
    "window_counts_current",
    "compile_budget",
    "load_cost_s",
    "step_cost_s",
)


@dataclass
class Configuration:
    """One way to run an engine. adds: capabilities that no method shows; without: methods not offered here."""

    name: str
    engine: type
    declarations: dict = field(default_factory=dict)
    adds: tuple = ()
    without: tuple = ()

    def capabilities(self):
        """The protocol's capabilities, but `restart`, which is the kit's own."""
        offered = [c for c, methods in METHODS.items() if all(self.defines(m) for m in methods)]
        if any(map(self.defines, LAYER_LENGTHS)):
            offered.append("layer_lengths")
        return [c for c in (*offered, *self.adds) if c not in self.without]

    def defines(self, method):
        return getattr(self.engine, method, None) is not None

    def faults(self):
        """What is wrong with this configuration, as texts; empty if nothing."""
        offered = self.capabilities()
        faults = [
            f"unknown capability {c!r}" for c in (*self.adds, *self.without) if c not in (*METHODS, *NAMED, LAYER_LENGTHS[0])
        ]
        faults += [f"unknown declaration {d!r}" for d in self.declarations if d not in DECLARATIONS]
        for capability, methods in METHODS.items():
            missing = [m for m in methods if not self.defines(m)]
            if missing and len(missing) < len(methods):
                faults.append(f"{capability!r} needs the methods {', '.join(missing)} too")
        if "append" not in offered and "complete" not in offered:
            faults.append("offers neither 'append' nor 'complete'")
        if "append" not in offered:
            faults += [f"{c!r} needs sessions ('append')" for c in ("generate", "crop", "fork", "reorder") if c in offered]
        return [f"{self.name}: {fault}" for fault in faults]
