"""What the tests share: where the kit lies, a tiny model, an adapter program to talk to, and the way back from Arrays."""

import base64
import os
import struct
import sys

TESTS = os.path.dirname(os.path.abspath(__file__))
KIT = os.path.dirname(TESTS)
sys.path.insert(0, KIT)

from cachet_adapter import talk  # noqa: E402
from cachet_adapter.check import write_model  # noqa: E402, F401


def adapter(program, *arguments, **popen):
    """The other end of an adapter program of the kit's folder or of the tests'."""
    path = next(p for p in (os.path.join(TESTS, program), os.path.join(KIT, program)) if os.path.exists(p))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([KIT, *filter(None, [os.environ.get("PYTHONPATH")])])}
    return talk.Adapter([sys.executable, path, *arguments], env=environment, **popen)


def rows_of(array):
    """Nested lists (rows, tokens, vocabulary) of a protocol Array."""
    flat = array.get("values")
    if flat is None:
        data = base64.b64decode(array["data"])
        code, size = ("d", 8) if array["dtype"] == "float64" else ("f", 4)
        flat = struct.unpack(f"<{len(data) // size}{code}", data)
    _, tokens, vocabulary = array["shape"]
    rows = [flat[i : i + vocabulary] for i in range(0, len(flat), vocabulary)]
    return [rows[i : i + tokens] for i in range(0, len(rows), tokens)]


def running(pid):
    """Does the process still run? One that ended and waits for its parent does not."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
