"""Lines in and messages out. The protocol owns the original standard input and output; whatever an engine prints
or reads goes elsewhere, so that it can neither corrupt an answer nor swallow a request."""

import json
import os
import select
import sys

MAX_LINE_BYTES = 256 * 1024 * 1024
TOO_LONG = f"a line of more than {MAX_LINE_BYTES} bytes"
OVERLONG = object()  # stands for a line that was longer than the protocol allows

_claimed = None


def claim_stdio():
    """The protocol's (input, output) descriptors. Points descriptor 0 at nothing and 1 at standard error.
    Call it before the engine is imported: engines print while they load. Further calls change nothing."""
    global _claimed
    if _claimed is None:
        sys.stdout.flush()
        _claimed = os.dup(0), os.dup(1)
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        try:
            os.dup2(2, 1)
        except OSError:  # started without a standard error
            os.dup2(nothing, 1)
        os.close(nothing)
        sys.stdout.reconfigure(line_buffering=True)
    return _claimed


class Wire:
    """Writes messages, each in whole and at once: nothing waits in a buffer when the engine crashes."""

    def __init__(self, descriptor):
        self.descriptor = descriptor

    def send(self, message):
        text = json.dumps({"jsonrpc": "2.0", **message}, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
        line = text.encode(errors="replace")  # half a surrogate pair, which exceptions may quote, is no UTF-8
        if len(line) > MAX_LINE_BYTES:
            raise ValueError(f"a message of {len(line)} bytes; a line holds at most {MAX_LINE_BYTES}")
        write_all(self.descriptor, line + b"\n")

    def error(self, ident, code, message):
        self.send({"id": ident, "error": {"code": code, "message": message}})


class LineReader:
    """Splits a descriptor's bytes into lines. Reading happens here only, so no bytes wait in a second buffer."""

    def __init__(self, descriptor, limit=MAX_LINE_BYTES):
        self.descriptor = descriptor
        self.limit = limit
        self.pending = bytearray()
        self.scanned = 0  # bytes of `pending` known to hold no line end
        self.dropping = False
        self.ended = False

    def take(self):
        """The next line that has arrived in whole, without its end; None if there is none yet."""
        end = self.pending.find(b"\n", self.scanned)
        if end < 0:
            self.scanned = len(self.pending)
            if self.scanned > self.limit:
                self.dropping = True
            if self.dropping:
                self.pending.clear()
                self.scanned = 0
            return self.take_rest() if self.ended else None
        line = bytes(self.pending[:end])
        del self.pending[: end + 1]
        self.scanned = 0
        if self.dropping or len(line) > self.limit:
            self.dropping = False
            return OVERLONG
        return line

    def take_rest(self):
        if self.dropping:
            self.dropping = False
            return OVERLONG
        rest, self.pending = bytes(self.pending), bytearray()
        self.scanned = 0
        return rest or None

    def fill(self):
        """Waits for more bytes; at the end of input sets `ended`."""
        chunk = os.read(self.descriptor, 1 << 20)
        self.pending += chunk
        self.ended = not chunk

    def __iter__(self):
        while True:
            line = self.take()
            if line is not None:
                yield line
            elif self.ended:
                return
            else:
                self.fill()


def write_all(descriptor, data):
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(descriptor, view) :]
        except BlockingIOError:
            select.select([], [descriptor], [])
