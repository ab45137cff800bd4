"""Talks to an adapter as cachet will and says what is missing: `python -m cachet_adapter check MODULE`. It judges whether the
adapter can be tested, never whether the engine is right: that is cachet's part."""

import argparse
import json
import os
import random
import struct
import sys
import tempfile

from . import talk
from .engine import DECLARATIONS, METHODS, NAMED

USEFUL = {
    "numeric": "the laws against the reference",
    "architectures": "the choice of models",
    "overflow": "the laws about capacity",
    "reuse": "the laws about what `complete` retains",
    "last_token_cached": "what follows a `generate`",
}
RELIES_ON = {"reuse": "complete", "last_token_cached": "generate"}
SIZES = {"n_layer": 1, "n_head": 1, "n_embd": 4, "n_positions": 16, "vocab_size": 8}

OPEN = {"op": "open", "session": "a", "rows": 1, "capacity": 12}
APPEND = {"op": "append", "session": "a", "tokens": [[3, 1, 2]]}
LOOP = {"new": 2}


def on(op, **fields):
    return {"op": op, "session": "a", **fields}


# A run for each capability whose last step must be answered with "ok".
TRACES = {
    "append": [OPEN, APPEND, on("length"), on("reset"), APPEND, on("close")],
    "complete": [{"op": "complete", "tokens": [[3, 1, 2]], **LOOP}],
    "generate": [OPEN, on("generate", tokens=[[3, 1, 2]], **LOOP)],
    "all_rows": [OPEN, {**APPEND, "want": "all"}],
    "crop": [OPEN, APPEND, on("crop", length=[1])],
    "remove": [OPEN, APPEND, on("remove", begin=0, end=1)],
    "shift": [OPEN, APPEND, on("shift", begin=2, delta=1)],
    "fork": [OPEN, APPEND, on("fork", into="b"), on("length", session="b")],
    "save": [OPEN, APPEND, on("save", blob="x"), on("restore", blob="x")],
    "snapshot": [OPEN, APPEND, on("snapshot", mark="x"), on("rollback", mark="x")],
    "release": [OPEN, APPEND, on("release")],
    "poison": [OPEN, APPEND, on("poison")],
    "recompile": [{"op": "recompile"}],
    "peek": [OPEN, {**APPEND, "keep": False}],
    "reorder": [OPEN, APPEND, on("reorder", rows=[0])],
}
BATCHES = {
    "append": [{**OPEN, "rows": 2}, {**APPEND, "tokens": [[3, 1], [2, 4]]}],
    "complete": [{"op": "complete", "tokens": [[3, 1], [2, 4]], **LOOP}],
}


class Check:
    """Findings, each a word and a text: `ok`, `missing` (the adapter cannot be tested so), `note`."""

    def __init__(self, command, directory):
        self.command = command
        self.directory = directory
        self.findings = []

    def say(self, good, text):
        finding = ("ok" if good else "missing", text)
        if finding not in self.findings:
            self.findings.append(finding)
        return good

    def note(self, text):
        self.findings.append(("note", text))

    def run(self):
        with talk.Adapter(self.command) as adapter:
            try:
                self.converse(adapter)
            except talk.Gone as gone:
                self.say(False, f"an answer: {gone}")
            except (TimeoutError, ValueError, KeyError, AssertionError) as error:
                self.say(False, f"an answer by the protocol: {type(error).__name__}: {error}")
        return self.findings

    def converse(self, adapter):
        answer = adapter.ask("initialize", protocol=1, suite="cachet check")[0].get("result", {})
        if not self.say(answer.get("protocol") == 1 and answer.get("configurations"), "initialize answers, with configurations"):
            return
        self.say(isinstance(answer.get("name"), str) and isinstance(answer.get("version"), str), "a name and a version")
        if not answer.get("engine"):
            self.note("no 'engine': say at least its version and device")
        self.errors(adapter, answer["configurations"][0]["name"])
        for configuration in answer["configurations"]:
            self.configuration(adapter, configuration)
        if any("restart" in c["capabilities"] for c in answer["configurations"]):
            self.say("result" in adapter.ask("restart")[0], "restart answers")
            self.say("configurations" in adapter.result("initialize", protocol=1), "initialize answers after a restart")
        self.say(adapter.leave() == 0, "shutdown ends the program with 0")

    def errors(self, adapter, configuration):
        model = {"directory": os.path.join(self.directory, "none"), "spec": {}}
        for code, method, params in (
            (-32601, "no_such_method", {}),
            (-32002, "run", {"model": "no such handle", "trace": []}),
            (-32002, "load", {"configuration": "no such configuration", "model": model}),
            (-32001, "load", {"configuration": configuration, "model": model}),
        ):
            got = adapter.ask(method, **params)[0].get("error", {}).get("code")
            self.say(got == code, f"error {code} of a bad {method!r}" + ("" if got == code else f", got {got}"))

    def configuration(self, adapter, configuration):
        name, offered, declared = configuration["name"], configuration["capabilities"], configuration.get("declarations", {})
        for capability in offered:
            if capability not in (*METHODS, *NAMED, "layer_lengths", "restart"):
                self.say(False, f"{name}: a capability that the protocol knows, not {capability!r}")
        for declaration in declared:
            if declaration not in DECLARATIONS:
                self.say(False, f"{name}: a declaration that the protocol knows, not {declaration!r}")
        for declaration, what in USEFUL.items():
            if declaration not in declared and RELIES_ON.get(declaration, "append") in (*offered, "append"):
                self.note(f"{name}: {declaration!r} is not declared: {what} are not judged")
        answer = adapter.ask("load", configuration=name, model={"directory": self.directory, "spec": {}})[0]
        if "error" in answer:
            self.note(f"{name}: the model was refused ({answer['error'].get('message')}); give one with --model")
            return
        self.capabilities(adapter, name, offered)

    def capabilities(self, adapter, name, offered):
        self.say("append" in offered or "complete" in offered, f"{name}: 'append' or 'complete'")
        for capability, trace in TRACES.items():
            reports = self.reports(adapter, name, trace)
            last = last_of(reports)
            if capability in offered:
                self.say(last["status"] == "ok", f"{name}: {capability}" + told(last))
                for step, report in zip(trace, reports):
                    self.observations(name, capability, step, offered, report)
            elif capability not in ("append", "complete") and "append" in offered:
                self.say(last["status"] == "refused", f"{name}: a refusal of {capability}, which is not offered")
        for op, trace in BATCHES.items():
            if op in offered and "batch" in offered:
                last = last_of(self.reports(adapter, name, trace))
                self.say(last["status"] == "ok", f"{name}: batch in {op}" + told(last))
        unknown = last_of(self.reports(adapter, name, [{"op": "length", "session": "a", "no_such_field": 1}]))
        self.say(unknown.get("kind") == "unsupported", f"{name}: a refusal of an unknown field")

    def reports(self, adapter, configuration, trace):
        """Of a run on a model of its own: what an engine keeps between runs is not judged here."""
        handle = adapter.load(configuration, self.directory)
        reports = adapter.run(handle, trace)
        adapter.result("unload", model=handle)
        if len(reports) != len(trace):
            raise AssertionError(f"{len(reports)} reports of {len(trace)} steps")
        return reports

    def observations(self, name, capability, step, offered, report):
        """What the report of an answered step must tell."""
        if report["status"] != "ok":
            return
        if step["op"] in ("append", "generate", "complete"):
            if "calls" in offered:
                self.say(report.get("calls"), f"{name}: calls in {step['op']}")
            wanted = "logits" if step["op"] == "append" else "tokens"
            self.say(wanted in report, f"{name}: {wanted} in {step['op']} ({capability})")
        if step["op"] in ("append", "crop", "generate"):
            self.say("lengths" in report, f"{name}: lengths after {step['op']} ({capability})")


def last_of(reports):
    """The last report, or the first that is not `ok`."""
    return next((r for r in reports if r["status"] != "ok"), reports[-1])


def told(report):
    return "" if report["status"] == "ok" else f", got {report['status']}: {report.get('message')}"


def command_of(module):
    """The command line that runs an adapter given as a file or as a module's name."""
    return [sys.executable, module] if module.endswith(".py") else [sys.executable, "-m", module]


def write_model(directory):
    """A GPT-2 of one layer in the Hugging Face layout; its weights are the same everywhere."""
    numbers = random.Random(0)
    with open(os.path.join(directory, "config.json"), "w") as f:
        json.dump(
            {
                "model_type": "gpt2",
                **SIZES,
                "n_ctx": SIZES["n_positions"],
                "layer_norm_epsilon": 1e-5,
                "tie_word_embeddings": True,
                "activation_function": "gelu_new",
                "resid_pdrop": 0.0,
                "embd_pdrop": 0.0,
                "attn_pdrop": 0.0,
            },
            f,
        )
    header, data = {}, b""
    for name, shape in shapes(SIZES["n_embd"]):
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        scale = 512 if name.endswith("bias") else 32  # large biases would choose the tokens alone
        values = [numbers.randint(-64, 64) / scale for _ in range(count)]
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + 4 * count]}
        data += struct.pack(f"<{count}f", *values)
    text = json.dumps({"__metadata__": {"format": "pt"}, **header}).encode()
    text += b" " * (-len(text) % 8)
    with open(os.path.join(directory, "model.safetensors"), "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)


def shapes(width):
    """(name, shape) of each tensor."""
    yield "transformer.wte.weight", [SIZES["vocab_size"], width]
    yield "transformer.wpe.weight", [SIZES["n_positions"], width]
    for name in ("h.0.ln_1", "h.0.ln_2", "ln_f"):
        yield f"transformer.{name}.weight", [width]
        yield f"transformer.{name}.bias", [width]
    for name, rows, columns in (("attn.c_attn", 1, 3), ("attn.c_proj", 1, 1), ("mlp.c_fc", 1, 4), ("mlp.c_proj", 4, 1)):
        yield f"transformer.h.0.{name}.weight", [rows * width, columns * width]
        yield f"transformer.h.0.{name}.bias", [columns * width]


def main(arguments):
    parser = argparse.ArgumentParser(prog="python -m cachet_adapter", description=__doc__)
    commands = parser.add_subparsers(required=True)
    check = commands.add_parser(
        "check", help="say what an adapter lacks", epilog="example: python -m cachet_adapter check toy_adapter.py"
    )
    check.add_argument("module", help="the adapter's file (*.py), or its module name")
    check.add_argument("--model", help="a directory with config.json and model.safetensors (default: a tiny GPT-2)")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as directory:
        if options.model is None:
            write_model(directory)
        findings = Check(command_of(options.module), options.model or directory).run()
    for word, text in findings:
        print(f"{word:8}{text}")
    missing = sum(word == "missing" for word, _ in findings)
    print(f"{missing} missing of {sum(word != 'note' for word, _ in findings)}")
    return 1 if missing else 0
