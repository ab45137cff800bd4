"""How lengths, logits and token ids become JSON: lengths with the type in which the engine gave them, floats bit for bit.
NumPy arrays and torch tensors are recognised by what they can do, so neither library is needed here."""

import array
import base64
import math
import sys

WORDS = {math.inf: "Infinity", -math.inf: "-Infinity"}


def value(x):
    """The protocol's Value: what an engine's length call returned, never converted to what it should have been."""
    if x is None:
        return {"kind": "none"}
    if is_array(x):
        return array_value(x)
    if isinstance(x, int) and not isinstance(x, bool):
        return {"kind": "integer", "value": int(x)}
    if isinstance(x, float):
        return {"kind": "real", "value": finite(x)}
    return {"kind": "text", "value": x if isinstance(x, str) else repr(x)}


def lengths(x):
    """One Value for all rows, or a list of one a row if the engine's answer is a list or a tuple."""
    return [value(row) for row in x] if isinstance(x, (list, tuple)) else value(x)


def is_array(x):
    return hasattr(x, "dtype") and hasattr(x, "shape") and hasattr(x, "tolist")


def array_value(x):
    return {
        "kind": "array",
        "dtype": str(x.dtype).removeprefix("torch."),
        "shape": [int(n) for n in x.shape],
        "value": plain(x.tolist()),
        "device": str(getattr(x, "device", "cpu")),
    }


def finite(x):
    """A float that JSON can hold: numbers beyond it become the protocol's words."""
    return x if math.isfinite(x) else WORDS.get(x, "NaN")


def plain(x):
    """The same nested lists and scalars, of types that JSON knows."""
    if is_array(x):
        x = x.tolist()
    if isinstance(x, (list, tuple)):
        return [plain(item) for item in x]
    if isinstance(x, float):
        return finite(x)
    return x


def logits(x):
    """The protocol's Array, copied out of the engine at once. x: torch tensor, NumPy array, or nested lists of numbers
    in which None is an absent value."""
    if hasattr(x, "detach"):
        x = x.detach().cpu()
        x = (x if str(x.dtype) in ("torch.float32", "torch.float64") else x.float()).numpy()
    if is_array(x):
        kind = "float64" if str(x.dtype) == "float64" else "float32"
        return packed(kind, x.shape, x.astype("<f8" if kind == "float64" else "<f4").tobytes())
    shape, flat = flatten(x)
    if any(item is None for item in flat):
        return {"shape": shape, "values": [None if item is None else finite(float(item)) for item in flat]}
    doubles = array.array("d", flat)
    if sys.byteorder == "big":
        doubles.byteswap()
    return packed("float64", shape, doubles.tobytes())


def packed(dtype, shape, data):
    return {"dtype": dtype, "shape": [int(n) for n in shape], "data": base64.b64encode(data).decode()}


def flatten(x):
    """(shape, flat list) of nested lists of equal lengths."""
    if not isinstance(x, (list, tuple)):
        return [], [x]
    parts = [flatten(item) for item in x]
    if any(shape != parts[0][0] for shape, _ in parts):
        raise ValueError("logits are not rectangular")
    return [len(x), *(parts[0][0] if parts else [])], [item for _, flat in parts for item in flat]


def fingerprint(x):
    """Bytes that change when x's contents change: to notice outputs and arguments that a later call overwrote."""
    if hasattr(x, "detach"):
        x = x.detach().cpu()
        x = (x.float() if str(x.dtype) == "torch.bfloat16" else x).numpy()
    return x.tobytes() if hasattr(x, "tobytes") else repr(x).encode()
