"""An adapter whose engine does what its tokens say: it prints, reads, raises, exits and crashes. For the tests of the kit."""

import os
import signal
import subprocess
import sys
import time

from cachet_adapter import Configuration, Engine, Generated, Refused, claim_stdio, serve

if __name__ == "__main__":
    claim_stdio()
    print("an engine that prints while it is imported")

SAY, READ, RAISE, LEAVE, CRASH, HANG, ORPHAN, TEAR, TYPES = range(10, 19)
LIFE = []  # what an engine leaves behind in its process


class Wild(Engine):
    def __init__(self, directory, spec, configuration):
        if directory == "none":
            raise ValueError("no such model: \udcff")
        LIFE.append(directory)

    def open(self, rows, capacity):
        return {"capacity": capacity, "fed": []}

    def length(self, session):
        fed = session["fed"]
        return float(len(fed)) if TYPES in fed else len(fed)

    def append(self, session, tokens, want):
        self.log_call(tokens, (1, len(tokens[0])))
        for token in tokens[0]:
            self.do(token, session)
            session["fed"].append(token)
        if len(session["fed"]) > session["capacity"]:
            raise Refused("capacity", "full", state_unchanged=False)
        return [[[float(len(LIFE)), float(os.getpid())]]]

    def do(self, token, session):
        if token == SAY:
            print("this must not mix with the protocol")
            sys.__stdout__.write("nor this\n")
            os.write(1, b"nor this\n")
            subprocess.run(["echo", "nor", "a", "child's"], check=True)
        elif token == READ:
            assert sys.stdin.read() == "" and os.read(0, 1) == b""
        elif token in (RAISE, TEAR):
            session["fed"].append(token)
            raise ArithmeticError("raised on purpose")
        elif token == LEAVE:
            sys.exit(7)
        elif token == CRASH:
            os.kill(os.getpid(), signal.SIGSEGV)
        elif token == HANG:
            time.sleep(600)
        elif token == ORPHAN:  # holds its parent's end of everything it may inherit
            subprocess.Popen(["sleep", "20"])

    def reset(self, session):
        session["fed"].clear()

    def complete(self, tokens, new, stop, min_new, capacity=None):
        return Generated([[len(LIFE)]], ["length"])

    def retained_length(self):
        raise LookupError("nothing to ask")


if __name__ == "__main__":
    sys.exit(
        serve(
            "wild",
            "1",
            [Configuration("only", Wild, {"numeric": "float64"}, adds=("calls",))],
            restart="--no-restart" not in sys.argv,
        )
    )
