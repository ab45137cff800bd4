"""The entry point of an adapter program: says what is wrong with its configurations, or serves the protocol until the end."""

import os
import sys

from .server import REQUEST, SHUTDOWN, Server
from .wire import OVERLONG, TOO_LONG, LineReader, Wire, claim_stdio


def serve(name, version, configurations, engine=None, restart=True):
    """Serves the protocol on the process's standard input and output; returns the exit code. engine: pairs of free text
    about it. restart: offer new lives by fork; False for an engine whose mere import starts threads."""
    faults = [fault for c in configurations for fault in c.faults()]
    if faults:
        print("\n".join(faults), file=sys.stderr)
        return 2
    incoming, outgoing = claim_stdio()
    reader, wire = LineReader(incoming), Wire(outgoing)
    describe = {"name": name, "version": version, "engine": {k: str(v) for k, v in (engine or {}).items()}}
    restarts = restart and hasattr(os, "fork")

    def make_server():
        return Server(describe, configurations, wire, restarts)

    if not restarts:
        return serve_alone(reader, wire, make_server())
    from .lives import Supervisor

    return Supervisor(reader, wire, make_server).run()


def serve_alone(reader, wire, server):
    """One life in this process, without a supervisor. Returns the exit code."""
    for line in reader:
        if line is OVERLONG:
            wire.error(None, REQUEST, TOO_LONG)
        elif line.strip() and server.answer(line) == SHUTDOWN:
            break
    return 0
