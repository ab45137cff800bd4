"""A child that speaks the protocol correctly until a step {"op": "do", "what": NAME} asks it for one of the misbehaviours below,
so that the next life of the same command can be seen to work. Options: --initialize NAME and --load NAME misbehave there instead
(load: only for models of two layers), --restart offers restart, --flood-before-reading, --ignore-end."""

import json
import os
import signal
import sys
import time

OUT = sys.stdout.buffer
MEGABYTE = 1 << 20


def raw(data):
    OUT.write(data)
    OUT.flush()


def send(message):
    raw(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


def step(index, **fields):
    send({"method": "step", "params": {"index": index, "status": "ok", **fields}})


def sleep_for_good():
    while True:
        time.sleep(1000)


def repeat(data, megabytes, descriptor=1):
    chunk = data * (MEGABYTE // len(data))
    for _ in range(megabytes):
        at = 0
        while at < len(chunk):
            at += os.write(descriptor, chunk[at:])


def grandchild(own_session, double=False, keep_pipes=True):
    """Leaves a process behind that does not go by itself."""
    if os.fork():
        return
    if own_session:
        os.setsid()
    if double and os.fork():
        os._exit(0)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    if not keep_pipes:
        for descriptor in (0, 1, 2):
            os.close(descriptor)
    sleep_for_good()


def die_by(number):
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    sleep_for_good()


class Child:
    def __init__(self, options):
        self.options = options
        self.ident = None
        self.count = 0

    def option(self, name):
        return self.options[self.options.index(name) + 1] if name in self.options else None

    # Misbehaviours, within the step of this index. True: the step has been reported already, or is not to be.

    def do(self, what, index):
        return getattr(self, what)(index)

    def segv(self, index):
        print("about to crash", file=sys.stderr, flush=True)
        die_by(signal.SIGSEGV)

    def abort(self, index):
        die_by(signal.SIGABRT)

    def exit0(self, index):
        os._exit(0)

    def exit3(self, index):
        os._exit(3)

    def hang(self, index):
        sleep_for_good()

    def flood_stderr(self, index):
        repeat(b"noise on standard error\n", 100, 2)
        os.write(2, b"the last words\n")

    def flood_stderr_for_good(self, index):
        while True:
            repeat(b"noise on standard error\n", 1, 2)

    def garbage(self, index):
        raw(b"Loading checkpoint shards: 100%\n")

    def blank(self, index):
        raw(b"\n")

    def array(self, index):
        raw(b"[1, 2]\n")

    def half_then_hang(self, index):
        raw(b'{"jsonrpc": "2.0", "meth')
        sleep_for_good()

    def half_then_exit(self, index):
        raw(b'{"jsonrpc": "2.0", "meth')
        os._exit(3)

    def endless_line(self, index):
        raw(b'{"jsonrpc": "2.0", "method": "')
        repeat(b"x", 1024)

    def endless_noise(self, index):
        repeat(b"x", 1024)

    def endless_lines(self, index):
        repeat(b'{"no":1}' + b" " * 7 + b"\n", 1024)

    def many_values(self, index):
        raw(b'{"jsonrpc": "2.0", "method": "step", "params": {"x": [')
        repeat(b"1,", 100)
        raw(b"1]}}\n")

    def close_stdout(self, index):
        os.close(1)
        sleep_for_good()

    def grandchild_then_exit(self, index):
        grandchild(own_session=False)
        os._exit(3)

    def daemon_then_exit(self, index):
        grandchild(own_session=True, double=True)
        os._exit(3)

    def daemon_then_hang(self, index):
        grandchild(own_session=True, double=True)
        sleep_for_good()

    def quiet_daemons(self, index):
        """Goes on correctly: the daemons must end with the process, not before."""
        for _ in range(3):
            grandchild(own_session=True, double=True, keep_pipes=False)

    def wrong_id(self, index):
        send({"id": self.ident + 1, "result": {"steps": index}})

    def text_id(self, index):
        send({"id": str(self.ident), "result": {"steps": index}})

    def no_jsonrpc(self, index):
        raw(b'{"method":"step","params":{"index":%d,"status":"ok"}}\n' % index)
        return True

    def result_and_error(self, index):
        send({"id": self.ident, "result": {}, "error": {"code": -32003, "message": "both"}})

    def duplicate(self, index):
        step(index - 1)

    def missing(self, index):
        step(index + 1)
        return True

    def not_a_report(self, index):
        send({"method": "step", "params": {"index": index, "status": "fine"}})
        return True

    def no_params(self, index):
        send({"method": "step"})
        return True

    def report_as_list(self, index):
        send({"method": "step", "params": [index]})
        return True

    def too_few(self, index):
        return True

    def too_many(self, index):
        step(index)
        step(index + 1)
        return True

    def early_result(self, index):
        send({"id": self.ident, "result": {"steps": self.count}})

    def wrong_count(self, index):
        step(index)
        send({"id": self.ident, "result": {"steps": self.count + 1}})
        return True

    def no_count(self, index):
        step(index)
        send({"id": self.ident, "result": None})
        return True

    def invalid_utf8(self, index):
        raw(b'{"jsonrpc":"2.0","method":"step","params":{"index":%d,"status":"ok","message":"\xff\xfe"}}\n' % index)
        return True

    def nan(self, index):
        raw(b'{"jsonrpc":"2.0","method":"step","params":{"index":%d,"status":"ok","seconds":NaN}}\n' % index)
        return True

    def huge_number(self, index):
        raw(b'{"jsonrpc":"2.0","method":"step","params":{"index":%d,"status":"ok","seconds":1e999}}\n' % index)
        return True

    def huge_index(self, index):
        raw(b'{"jsonrpc":"2.0","method":"step","params":{"index":99999999999999999999,"status":"ok"}}\n')
        return True

    def deep(self, index):
        raw(b'{"jsonrpc":"2.0","method":"step","params":' + b"[" * MEGABYTE + b"]" * MEGABYTE + b"}\n")
        return True

    def deep_and_open(self, index):
        raw(b'{"jsonrpc":"2.0","method":"step","params":' + b'{"a":' * MEGABYTE + b"\n")
        return True

    def notification(self, index):
        send({"method": "progress", "params": {"percent": 50}})

    def request(self, index):
        send({"id": 1, "method": "step", "params": {"index": index, "status": "ok"}})
        return True

    def malformed_error(self, index):
        send({"id": self.ident, "error": "broken"})

    def error(self, index, code):
        send({"id": self.ident, "error": {"code": code, "message": "as asked"}})

    def slow(self, index):
        for byte in b'{"jsonrpc":"2.0","method":"step","params":{"index":%d,"status":"ok"}}\n' % index:
            raw(bytes([byte]))
            time.sleep(0.001)
        return True

    def stop_reading(self, index):
        step(index)
        send({"id": self.ident, "result": {"steps": self.count}})
        sleep_for_good()

    def extra_answer(self, index):
        """A second answer to the same request, which nobody waits for."""
        step(index)
        send({"id": self.ident, "result": {"steps": self.count}})
        self.answered = True
        send({"id": self.ident, "result": {"steps": self.count}})
        return True

    # The protocol

    def initialize(self, params):
        what = self.option("--initialize")
        if what == "no_configurations":
            return {"protocol": 1, "name": "bad", "version": "1", "engine": {}, "configurations": []}
        if what == "protocol_2":
            configuration = {"name": "c", "capabilities": ["append"], "declarations": {}}
            return {"protocol": 2, "name": "bad", "version": "1", "engine": {}, "configurations": [configuration]}
        if what:
            self.misbehave(what, 0)
        capabilities = ["append"] + (["restart"] if "--restart" in self.options else [])
        return {
            "protocol": 1,
            "name": "bad",
            "version": "1",
            "engine": {"pid": str(os.getpid())},
            "configurations": [{"name": "c", "capabilities": capabilities, "declarations": {}}],
        }

    def load(self, params):
        what = self.option("--load")
        if what and params["model"]["spec"].get("layers") == 2:
            self.misbehave(what, 0)
        print("loaded", params["model"]["directory"], file=sys.stderr, flush=True)
        return {"model": "m0"}

    def misbehave(self, what, index):
        if what.startswith("error"):
            return self.error(index, int(what[5:]))
        return self.do(what, index)

    def run(self, params):
        trace = params["trace"]
        self.count = len(trace)
        self.at("before", trace, 0)
        for index, call in enumerate(trace):
            done = False
            if call["op"] == "do" and "when" not in call:
                done = self.misbehave(call["what"], index)
            if not done:
                step(index, lengths={"kind": "integer", "value": index}, message=str(os.getpid()))
        self.at("after", trace, len(trace))
        return {"steps": len(trace)}

    def at(self, when, trace, index):
        for call in trace:
            if call.get("when") == when:
                self.misbehave(call["what"], index)

    def serve(self):
        while True:
            if "--flood-before-reading" in self.options:
                repeat(b"noise on standard error\n", 1, 2)
            line = sys.stdin.buffer.readline()
            if not line:
                break
            request = json.loads(line)
            self.ident, self.answered = request["id"], False
            method = request["method"]
            handler = getattr(self, method, None) if method in ("initialize", "load", "run") else None
            result = handler(request["params"]) if handler else {}
            if not self.answered:
                send({"id": self.ident, "result": result})
            if method == "shutdown" and "--ignore-end" not in self.options:
                return
        if "--ignore-end" in self.options:
            sleep_for_good()


Child(sys.argv[1:]).serve()
