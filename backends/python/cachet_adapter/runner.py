"""Executes the steps of a run on one engine and writes a Report of each: what came back, and nothing that was worked out.
It clears nothing between runs but the sessions, blobs and marks, which end with a run."""

import sys
import time
import traceback

from . import steps, values
from .engine import Refused


class EngineBroken(Exception):
    """The engine failed where no step can say so: only a new process helps."""


class Session:
    """An open session: the engine's own object, and whether a failure has torn it."""

    def __init__(self, state):
        self.state = state
        self.dead = False
        self.marks = {}


class Runner:
    def __init__(self, engine, configuration):
        self.engine = engine
        self.capabilities = frozenset(configuration.capabilities())
        self.declarations = configuration.declarations
        self.sessions = {}
        self.blobs = {}
        self.kept = []  # (step, array as the engine holds it, its fingerprint then)

    def run(self, trace, send):
        """Executes every step, sends its Report as soon as it is known."""
        try:
            for index, step in enumerate(trace):
                send(self.report(index, step))
        finally:
            self.end()

    def end(self):
        """Ends the run: every session is closed, torn ones too."""
        open_sessions, self.sessions, self.blobs, self.kept = self.sessions, {}, {}, []
        try:
            for session in open_sessions.values():
                self.engine.close(session.state)
        except Exception as error:
            raise EngineBroken(f"closing a session: {type(error).__name__}: {error}") from error

    def report(self, index, step):
        self.engine.calls, self.engine.compilations, self.engine.watched = [], [], []
        report = {"index": index, "status": "ok"}
        begin = time.perf_counter()
        try:
            steps.check(step, self.capabilities, self.declarations)
            getattr(self, "do_" + step["op"])(step, report)
        except Refused as refusal:
            report.update(status="refused", kind=refusal.kind, message=str(refusal), state_unchanged=refusal.state_unchanged)
        except Exception as error:
            self.failed(step, report, error)
        report["seconds"] = time.perf_counter() - begin
        self.observe(step, report)
        return report

    def failed(self, step, report, error):
        """The engine raised: its state is in doubt, so the session is dead."""
        traceback.print_exc(file=sys.stderr)
        report.pop("logits", None)
        report.update(status="failed", kind=type(error).__name__, message=str(error), state_unchanged=None)
        session = self.sessions.get(step.get("session"))
        if session is not None:
            session.dead = True

    # What the protocol asks of a report beyond the answer itself

    def observe(self, step, report):
        if "calls" in self.capabilities:
            report["calls"] = [{name: values.plain(x) for name, x in call.items()} for call in self.engine.calls]
        if "compilations" in self.capabilities:
            report["compilations"] = self.engine.compilations
        if isinstance(step, dict):
            self.observe_lengths(step, report)
        self.observe_outputs(report)

    def observe_lengths(self, step, report):
        """The engine's own lengths, after refused and failed steps too. An engine that cannot tell has failed."""
        try:
            length, layers = self.ask_lengths(step, report["status"])
            if length is not None:
                report["lengths"] = values.lengths(length[0])
            if layers is not None:
                report["layer_lengths"] = [values.lengths(x) for x in layers]
        except Exception as error:
            if report["status"] == "ok":
                self.failed(step, report, error)

    def ask_lengths(self, step, status):
        """((length,), layer lengths), each None where it cannot be asked."""
        engine, probed = self.engine, "layer_lengths" in self.capabilities
        if step.get("op") == "complete":
            length = engine.retained_length() if hasattr(engine, "retained_length") else None
            layers = engine.retained_layer_lengths() if probed and hasattr(engine, "retained_layer_lengths") else None
            return (None if length is None else (length,)), layers
        name = step.get("into") if step.get("op") == "fork" and status == "ok" else step.get("session")
        session = self.sessions.get(name) if isinstance(name, str) else None
        if session is None:
            return None, None
        layers = engine.layer_lengths(session.state) if probed and hasattr(engine, "layer_lengths") else None
        return (engine.length(session.state),), layers

    def observe_outputs(self, report):
        if "outputs" not in self.capabilities:
            return
        self.kept += [(report["index"], array, values.fingerprint(array)) for array in self.engine.watched]
        changed = sorted({index for index, array, before in self.kept if values.fingerprint(array) != before})
        if changed:
            report["changed"] = changed

    # Sessions

    def session(self, step):
        """The step's session; refused if it is not open, or torn."""
        session = self.sessions.get(step["session"])
        if session is None:
            raise Refused("invalid", f"session {step['session']!r} is not open")
        if session.dead and step["op"] not in ("reset", "close"):
            raise Refused("dead", f"session {step['session']!r} is torn by an earlier failure")
        return session

    def do_open(self, step, report):
        if step["session"] in self.sessions:
            raise Refused("invalid", f"session {step['session']!r} is open already")
        self.sessions[step["session"]] = Session(self.engine.open(step["rows"], step["capacity"]))

    def do_append(self, step, report):
        state = self.session(step).state
        logits = self.engine.append(state, step["tokens"], step.get("want", "last"), **given(step, "pad", "keep"))
        report["logits"] = values.logits(logits)
        self.engine.watch(logits)

    def do_length(self, step, report):
        self.session(step)

    def do_reset(self, step, report):
        session = self.session(step)
        self.engine.reset(session.state)
        session.dead = False

    def do_close(self, step, report):
        self.session(step)
        self.engine.close(self.sessions.pop(step["session"]).state)

    def do_release(self, step, report):
        self.session(step)
        self.engine.release(self.sessions.pop(step["session"]).state)

    def do_poison(self, step, report):
        self.engine.poison(self.session(step).state)

    def do_crop(self, step, report):
        self.engine.crop(self.session(step).state, step["length"])

    def do_remove(self, step, report):
        self.engine.remove(self.session(step).state, step["begin"], **given(step, "end"))

    def do_shift(self, step, report):
        self.engine.shift(self.session(step).state, step["begin"], step["delta"], **given(step, "end"))

    def do_reorder(self, step, report):
        self.engine.reorder(self.session(step).state, step["rows"])

    def do_fork(self, step, report):
        state = self.session(step).state
        if step["into"] in self.sessions:
            raise Refused("invalid", f"session {step['into']!r} is open already")
        self.sessions[step["into"]] = Session(self.engine.fork(state))

    def do_save(self, step, report):
        self.blobs[step["blob"]] = self.engine.save(self.session(step).state)

    def do_restore(self, step, report):
        state = self.session(step).state
        if step["blob"] not in self.blobs:
            raise Refused("invalid", f"unknown blob {step['blob']!r}")
        self.engine.restore(state, self.blobs[step["blob"]])

    def do_snapshot(self, step, report):
        session = self.session(step)
        session.marks[step["mark"]] = self.engine.snapshot(session.state)

    def do_rollback(self, step, report):
        session = self.session(step)
        if step["mark"] not in session.marks:
            raise Refused("invalid", f"unknown mark {step['mark']!r}")
        self.engine.rollback(session.state, session.marks[step["mark"]])

    # Whole generations

    def do_generate(self, step, report):
        state = self.session(step).state
        put_generated(report, self.engine.generate(state, *loop(step), **given(step, "tokens", *steps.NEEDS_CAPABILITY)))

    def do_complete(self, step, report):
        more = given(step, "capacity", *steps.NEEDS_CAPABILITY)
        put_generated(report, self.engine.complete(step["tokens"], *loop(step), **more))

    def do_recompile(self, step, report):
        self.engine.recompile()


def given(step, *names):
    """The optional fields that the step has."""
    return {name: step[name] for name in names if name in step}


def loop(step):
    return step["new"], step.get("stop", []), step.get("min_new", 0)


def put_generated(report, generated):
    report["tokens"], report["stopped"] = values.plain(generated.tokens), list(generated.stopped)
    if generated.scores is not None:
        report["scores"] = values.plain(generated.scores)
    if generated.cached is not None:
        report["cached"] = values.plain(generated.cached)
