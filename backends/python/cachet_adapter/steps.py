"""The fields of each step, as the protocol has them, and the check that a step is well formed.
A call with bad contents (unknown ids, a length beyond the end) is well formed: judging it is the engine's part."""

from .engine import Refused


def text(x):
    return isinstance(x, str)


def integer(x):
    return isinstance(x, int) and not isinstance(x, bool)


def natural(x):
    return integer(x) and x >= 0


def positive(x):
    return integer(x) and x >= 1


def flag(x):
    return isinstance(x, bool)


def integers(x):
    return isinstance(x, list) and all(map(integer, x))


def naturals(x):
    return isinstance(x, list) and all(map(natural, x))


def rows_of_integers(x):
    return isinstance(x, list) and all(map(integers, x))


def last_or_all(x):
    return x in ("last", "all") if isinstance(x, str) else False


def an_object(x):
    return isinstance(x, dict)


def objects(x):
    return isinstance(x, list) and all(map(an_object, x))


LOOP = {
    "new": positive,
    "stop?": integers,
    "min_new?": natural,
    "sampling?": an_object,
    "processors?": objects,
    "beams?": an_object,
    "draft?": an_object,
}
SESSION = {"session": text}

FIELDS = {
    "open": {**SESSION, "rows": positive, "capacity": positive},
    "append": {**SESSION, "tokens": rows_of_integers, "pad?": naturals, "want?": last_or_all, "keep?": flag},
    "generate": {**SESSION, "tokens?": rows_of_integers, **LOOP},
    "complete": {"tokens": rows_of_integers, "capacity?": positive, **LOOP},
    "crop": {**SESSION, "length": integers},
    "remove": {**SESSION, "begin": integer, "end?": integer},
    "shift": {**SESSION, "begin": integer, "end?": integer, "delta": integer},
    "fork": {**SESSION, "into": text},
    "reorder": {**SESSION, "rows": integers},
    "save": {**SESSION, "blob": text},
    "restore": {**SESSION, "blob": text},
    "snapshot": {**SESSION, "mark": text},
    "rollback": {**SESSION, "mark": text},
    "length": SESSION,
    "reset": SESSION,
    "release": SESSION,
    "close": SESSION,
    "poison": SESSION,
    "recompile": {},
}

# What a field asks for beyond its op, by the capability or declaration that must offer it.
NEEDS_CAPABILITY = {"sampling": "sampling", "processors": "processors", "beams": "beams", "draft": "draft"}


def check(step, capabilities, declarations):
    """Raises Refused unless the step is well formed and asks only for what the configuration offers."""
    if not isinstance(step, dict):
        raise Refused("invalid", "a step is an object")
    op = step.get("op")
    if not isinstance(op, str):
        raise Refused("invalid", "a step needs the field 'op', a text")
    if op not in FIELDS:
        raise Refused("unsupported", f"unknown op {op!r}")
    check_fields(step, FIELDS[op])
    check_offered(step, capabilities, declarations)


def check_fields(step, fields):
    for name in step:
        if name != "op" and name not in fields and name + "?" not in fields:
            raise Refused("unsupported", f"unknown field {name!r} of {step['op']!r}")
    for name, holds in fields.items():
        bare = name.removesuffix("?")
        if bare not in step:
            if bare == name:
                raise Refused("invalid", f"{step['op']!r} needs the field {name!r}")
        elif not holds(step[bare]):
            raise Refused("invalid", f"field {bare!r} of {step['op']!r} is malformed: not {holds.__name__.replace('_', ' ')}")


def check_offered(step, capabilities, declarations):
    op = step["op"]
    if capability_of(op) not in capabilities:
        raise Refused("unsupported", f"{op!r} is not offered by this configuration")
    for name, capability in NEEDS_CAPABILITY.items():
        if name in step and capability not in capabilities:
            raise Refused("unsupported", f"{name!r} is not offered by this configuration")
    if "gumbel" in step.get("sampling", ()) and "sampling_noise" not in capabilities:
        raise Refused("unsupported", "'gumbel' is not offered by this configuration")
    if step.get("want") == "all" and "all_rows" not in capabilities:
        raise Refused("unsupported", "logits of all rows are not offered by this configuration")
    if step.get("keep") is False and "peek" not in capabilities:
        raise Refused("unsupported", "'keep' is not offered by this configuration")
    if ("pad" in step or ragged(step.get("tokens"))) and "pad_side" not in declarations:
        raise Refused("unsupported", "rows of different lengths are not offered by this configuration")
    rows = step.get("rows") if op == "open" else len(step["tokens"]) if op == "complete" else 1
    if rows > 1 and "batch" not in capabilities:
        raise Refused("unsupported", "more than one row is not offered by this configuration")


def capability_of(op):
    """The capability that offers an op."""
    if op in ("open", "append", "length", "reset", "close"):
        return "append"
    return {"restore": "save", "rollback": "snapshot"}.get(op, op)


def ragged(rows):
    return rows is not None and len({len(row) for row in rows}) > 1
