"""Lives by fork: a supervisor keeps the imports warm and owns standard input; a forked child serves the requests of one life.
`restart` replaces the child, so nothing an engine retained can survive it; a child that crashes takes the supervisor with it."""

import ctypes
import faulthandler
import gc
import json
import os
import resource
import select
import signal
import socket
import sys
import time
import traceback

from .server import REQUEST, SHUTDOWN, Restart
from .wire import MAX_LINE_BYTES, OVERLONG, TOO_LONG, LineReader

POLL_S = 0.2  # how late a death is noticed when something else keeps the child's end of the channel open
GRACE_S = 5.0  # for an idle child to leave at the end of input
PR_SET_PDEATHSIG = 1


class Supervisor:
    """Passes lines to the child one at a time: the next only after the child has said that it is done with the last."""

    def __init__(self, reader, wire, make_server):
        self.reader = reader
        self.wire = wire
        self.make_server = make_server
        self.child = None
        self.channel = None

    def run(self):
        """Serves until shutdown, the end of input or the child's death; does not return before."""
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # ignored, it would hide how the child died
        gc.collect()
        gc.freeze()  # collections in the child then leave the shared pages alone
        self.begin()
        while True:
            line = self.next_line()
            if line is OVERLONG:
                self.wire.error(None, REQUEST, TOO_LONG)
            elif line is None:
                self.leave()
            elif line.strip():
                self.pass_on(line)

    def begin(self):
        """Forks a new life."""
        flush()
        ours, theirs = socket.socketpair()
        supervisor = os.getpid()
        self.child = os.fork()
        if self.child == 0:
            ours.close()
            live(theirs, supervisor, self.make_server())
        theirs.close()
        self.channel = ours

    def next_line(self):
        """The next line of input; None at its end. Notices an idle child's death."""
        while True:
            line = self.reader.take()
            if line is not None or self.reader.ended:
                return line
            if self.reader.descriptor in self.wait(self.reader.descriptor):
                self.reader.fill()

    def pass_on(self, line):
        try:
            self.channel.sendall(line + b"\n")
        except OSError:
            self.wait_for_death()
        reply = self.reply()
        if reply != b"done":
            self.restart(reply.removeprefix(b"restart ").decode())

    def reply(self):
        """The child's word that it is done with a line."""
        words = b""
        while not words.endswith(b"\n"):
            if self.channel in self.wait():
                words += self.receive()
        return words.rstrip(b"\n")

    def receive(self):
        try:
            part = self.channel.recv(1 << 16)
        except ConnectionError:
            part = b""
        if not part:
            self.wait_for_death()
        return part

    def restart(self, ident):
        """Ends the life, however it feels about that, and begins another. ident: the request's id as JSON."""
        os.kill(self.child, signal.SIGKILL)
        os.waitpid(self.child, 0)
        self.channel.close()
        self.begin()
        self.wire.send({"id": json.loads(ident), "result": {}})

    def leave(self):
        """The end of input: the child, which is idle, goes first."""
        self.channel.shutdown(socket.SHUT_WR)
        deadline = time.monotonic() + GRACE_S
        while time.monotonic() < deadline:
            self.look_after_child()
            time.sleep(0.002)
        os.kill(self.child, signal.SIGKILL)
        os._exit(0)

    # The child's death

    def wait(self, *sources):
        """Those of the sources and the channel that can be read."""
        while True:
            ready = select.select([*sources, self.channel], [], [], POLL_S)[0]
            if not ready:
                self.look_after_child()
            elif self.channel in ready and not sources:
                return ready
            elif self.channel in ready:  # an idle child says nothing: this is its end
                self.wait_for_death()
            else:
                return ready

    def look_after_child(self):
        pid, status = os.waitpid(self.child, os.WNOHANG)
        if pid:
            die_like(status)

    def wait_for_death(self):
        die_like(os.waitpid(self.child, 0)[1])


def live(channel, supervisor, server):
    """One life, in the child: never returns. Leaves without the interpreter's farewell, which is no part of the protocol."""
    die_with(supervisor)
    faulthandler.enable()  # a crash leaves its Python stack on standard error
    code = 1
    try:
        code = serve_channel(channel, server)
    except SystemExit as leaving:  # the engine's own doing
        code = leaving.code if isinstance(leaving.code, int) else 1
    except BrokenPipeError:
        pass
    except BaseException:
        traceback.print_exc()
    flush()
    os._exit(code)


def serve_channel(channel, server):
    for line in LineReader(channel.fileno(), limit=2 * MAX_LINE_BYTES):
        try:
            if server.answer(line) == SHUTDOWN:
                return 0
            channel.sendall(b"done\n")
        except Restart as restart:
            channel.sendall(b"restart " + json.dumps(restart.ident).encode() + b"\n")
    return 0


def die_with(supervisor):
    """Asks the kernel to end this process with its supervisor, where the kernel can: a hung engine must not outlive it."""
    try:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    except (OSError, AttributeError):
        return
    if os.getppid() != supervisor:
        os._exit(1)


def flush():
    """What the engine printed is evidence: it must not be lost, nor be written by two processes."""
    sys.stdout.flush()
    sys.stderr.flush()


def die_like(status):
    """Ends this process as the child ended, so that who started it sees the child's exit code or signal."""
    flush()
    if not os.WIFSIGNALED(status):
        os._exit(os.waitstatus_to_exitcode(status))
    number = os.WTERMSIG(status)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the child's core is the one to look at
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    time.sleep(1)
    os._exit(128 + number)
