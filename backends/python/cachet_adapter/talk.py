"""The other end of the protocol, as small as can be: starts an adapter and asks it. For the check and for tests;
cachet itself does not use it. A dead or silent adapter is an answer too."""

import json
import select
import subprocess


class Gone(Exception):
    """The adapter ended. code: its exit code, negative for a signal."""

    def __init__(self, code):
        super().__init__(f"the adapter ended with {code}")
        self.code = code


class Adapter:
    """An adapter program being talked to, one request at a time."""

    def __init__(self, command, timeout_s=120, **popen):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, **popen)
        self.timeout_s = timeout_s
        self.pending = b""
        self.sent = 0

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def write(self, line):
        try:
            self.process.stdin.write(line + b"\n")
        except BrokenPipeError:
            raise Gone(self.process.wait(self.timeout_s)) from None

    def message(self):
        """The next message; anything else on standard output is an error."""
        while b"\n" not in self.pending:
            if not select.select([self.process.stdout], [], [], self.timeout_s)[0]:
                raise TimeoutError(f"no answer within {self.timeout_s} s")
            chunk = self.process.stdout.read(1 << 16)
            if not chunk:
                raise Gone(self.process.wait(self.timeout_s))
            self.pending += chunk
        line, _, self.pending = self.pending.partition(b"\n")
        return json.loads(line)

    def ask(self, method, **params):
        """(answer, steps): the response to a request, and the Reports that came before it."""
        self.sent += 1
        self.write(json.dumps({"jsonrpc": "2.0", "id": self.sent, "method": method, "params": params}).encode())
        steps = []
        while (message := self.message()).get("method") == "step":
            steps.append(message["params"])
        return message, steps

    def result(self, method, **params):
        """The result of a request that must succeed."""
        answer = self.ask(method, **params)[0]
        if "result" not in answer:
            raise AssertionError(f"{method}: {answer.get('error')}")
        return answer["result"]

    def load(self, configuration, directory, spec=None):
        """The handle of a loaded model."""
        return self.result("load", configuration=configuration, model={"directory": directory, "spec": spec or {}})["model"]

    def run(self, handle, trace):
        """The Reports of a run."""
        return self.ask("run", model=handle, trace=trace)[1]

    def leave(self):
        """The exit code after shutdown."""
        self.result("shutdown")
        return self.process.wait(self.timeout_s)
