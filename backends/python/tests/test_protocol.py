"""The protocol's answers, spoken to a real process: requests, errors, steps, and a standard output that nothing else reaches."""

import json
import subprocess
import tempfile
import unittest

import support
import wild_adapter as wild
from cachet_adapter import Configuration, Engine
from cachet_adapter.wire import OVERLONG, LineReader

OPEN = {"op": "open", "session": "a", "rows": 1, "capacity": 4}


def append(*tokens, session="a"):
    return {"op": "append", "session": session, "tokens": [list(tokens)]}


class Conversation(unittest.TestCase):
    arguments = ()

    def setUp(self):
        errors = tempfile.TemporaryFile()
        self.addCleanup(errors.close)
        self.errors = errors
        self.adapter = self.enterContext(support.adapter("wild_adapter.py", *self.arguments, timeout_s=30, stderr=errors))

    def said(self):
        """What came out on standard error."""
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace")

    def error(self, line):
        """The error that answers one raw line, and the id it is for."""
        self.adapter.write(line)
        message = self.adapter.message()
        self.assertEqual(message["jsonrpc"], "2.0")
        return message["error"]["code"], message["id"]

    def statuses(self, trace):
        return [r["status"] + ":" + r.get("kind", "") for r in self.adapter.run(self.adapter.load("only", "m"), trace)]

    def test_initialize_describes_what_is_offered(self):
        result = self.adapter.result("initialize", protocol=1, suite="x")
        self.assertEqual((result["protocol"], result["name"], result["version"]), (1, "wild", "1"))
        (offer,) = result["configurations"]
        self.assertEqual(offer["name"], "only")
        self.assertEqual(offer["declarations"], {"numeric": "float64"})
        self.assertEqual(
            set(offer["capabilities"]), {"append", "complete", "calls"} | ({"restart"} if not self.arguments else set())
        )

    def test_malformed_lines_are_errors_and_the_conversation_goes_on(self):
        for line, code, ident in (
            (b"{", -32700, None),
            (b"nonsense", -32700, None),
            (b"\xff\xfe\x00", -32700, None),
            (b"[" * 100000, -32700, None),
            (b'{"id":1,"method":"load","params":{"a":NaN}}', -32700, None),
            (b'{"id":Infinity,"method":"shutdown"}', -32700, None),
            (b'{"id":1e999,"method":"shutdown"}', -32600, None),
            (b"5", -32600, None),
            (b"[]", -32600, None),
            (b"null", -32600, None),
            (b'{"id":1}', -32600, None),
            (b'{"id":1,"method":5}', -32600, None),
            (b'{"id":[1],"method":"load"}', -32600, None),
            (b'{"id":true,"method":"load"}', -32600, None),
            (b'{"id":2,"method":"no_such_method"}', -32601, 2),
            (b'{"id":"t","method":"__init__"}', -32601, "t"),
            (b'{"id":3,"method":"model"}', -32601, 3),
            (b'{"id":4,"method":"load","params":[]}', -32602, 4),
            (b'{"id":5,"method":"load"}', -32602, 5),
            (b'{"id":6,"method":"initialize","params":{"protocol":2}}', -32602, 6),
            (b'{"id":7,"method":"load","params":{"configuration":"only","model":{}}}', -32602, 7),
            (b'{"id":8,"method":"load","params":{"configuration":"other","model":{"directory":"m"}}}', -32002, 8),
            (b'{"id":9,"method":"load","params":{"configuration":"only","model":{"directory":"none"}}}', -32001, 9),
            (b'{"id":10,"method":"run","params":{"model":"m9","trace":[]}}', -32002, 10),
            (b'{"id":11,"method":"run","params":{"model":["m0"],"trace":[]}}', -32602, 11),
            (b'{"id":12,"method":"unload","params":{"model":"m9"}}', -32002, 12),
        ):
            self.assertEqual(self.error(line), (code, ident), line[:80])
        handle = self.adapter.load("only", "m")
        self.assertEqual(
            self.error(json.dumps({"id": 13, "method": "run", "params": {"model": handle, "trace": {}}}).encode()), (-32602, 13)
        )
        self.assertEqual(self.statuses([OPEN, append(1)]), ["ok:", "ok:"])

    def test_an_empty_line_is_no_request_and_a_notification_gets_no_answer(self):
        self.adapter.write(b"")
        self.adapter.write(b"  \r")
        self.adapter.write(b'{"method":"initialize","params":{"protocol":1}}')
        self.adapter.write(b'{"id":1,"method":"initialize","params":{"protocol":1}}\r')
        self.assertEqual(self.adapter.message()["id"], 1)

    def test_a_message_with_half_a_character_is_still_utf8(self):
        answer, _ = self.adapter.ask("load", configuration="only", model={"directory": "none"})
        self.assertIn("no such model", answer["error"]["message"])

    def test_what_the_engine_prints_goes_to_standard_error(self):
        self.assertEqual(self.statuses([OPEN, append(wild.SAY), append(wild.READ)]), ["ok:", "ok:", "ok:"])
        self.assertEqual(self.adapter.leave(), 0)
        for words in ("this must not mix", "nor this", "nor a child's"):
            self.assertIn(words, self.said())

    def test_handles_end_with_unload(self):
        handle = self.adapter.load("only", "m")
        self.assertEqual(self.adapter.result("unload", model=handle), {})
        self.assertEqual(self.adapter.ask("run", model=handle, trace=[])[0]["error"]["code"], -32002)
        self.assertNotEqual(self.adapter.load("only", "m"), handle)

    def test_the_wrong_steps_are_refused_and_the_run_goes_on(self):
        self.assertEqual(
            self.statuses(
                [
                    append(1),
                    OPEN,
                    OPEN,
                    append(1, session="b"),
                    5,
                    {"op": "no_such"},
                    {"op": "crop", "session": "a", "length": [0]},
                    {"op": "append", "session": "a"},
                    {**append(1), "more": 1},
                    append(1),
                    {"op": "close", "session": "a"},
                    {"op": "close", "session": "a"},
                ]
            ),
            [
                "refused:invalid",
                "ok:",
                "refused:invalid",
                "refused:invalid",
                "refused:invalid",
                "refused:unsupported",
                "refused:unsupported",
                "refused:invalid",
                "refused:unsupported",
                "ok:",
                "ok:",
                "refused:invalid",
            ],
        )

    def test_a_failure_tears_its_session_alone_until_reset(self):
        self.assertEqual(
            self.statuses(
                [
                    OPEN,
                    {**OPEN, "session": "b"},
                    append(wild.RAISE),
                    append(1),
                    {"op": "length", "session": "a"},
                    append(1, session="b"),
                    {"op": "reset", "session": "a"},
                    append(1),
                    append(wild.RAISE),
                    {"op": "close", "session": "a"},
                    OPEN,
                    append(1),
                ]
            ),
            [
                "ok:",
                "ok:",
                "failed:ArithmeticError",
                "refused:dead",
                "refused:dead",
                "ok:",
                "ok:",
                "ok:",
                "failed:ArithmeticError",
                "ok:",
                "ok:",
                "ok:",
            ],
        )

    def test_a_failed_step_reports_the_engines_own_length(self):
        reports = self.adapter.run(self.adapter.load("only", "m"), [OPEN, append(1, wild.TEAR)])
        self.assertEqual(reports[1]["lengths"], {"kind": "integer", "value": 2})
        self.assertEqual((reports[1]["message"], reports[1]["state_unchanged"]), ("raised on purpose", None))
        self.assertNotIn("logits", reports[1])
        self.assertEqual(reports[1]["calls"], [{"tokens": [[1, wild.TEAR]], "shape": [1, 2]}])

    def test_a_refusal_is_no_failure_and_says_what_it_did(self):
        reports = self.adapter.run(
            self.adapter.load("only", "m"), [OPEN, append(1, 2, 3, 4, 5), {"op": "length", "session": "a"}]
        )
        self.assertEqual([r["status"] for r in reports], ["ok", "refused", "ok"])
        self.assertEqual((reports[1]["kind"], reports[1]["state_unchanged"]), ("capacity", False))
        self.assertEqual(reports[2]["lengths"], {"kind": "integer", "value": 5})

    def test_lengths_keep_their_type(self):
        reports = self.adapter.run(self.adapter.load("only", "m"), [OPEN, append(1), append(wild.TYPES)])
        self.assertEqual([r["lengths"] for r in reports[1:]], [{"kind": "integer", "value": 1}, {"kind": "real", "value": 2.0}])

    def test_sessions_end_with_the_run_and_the_engine_does_not(self):
        handle = self.adapter.load("only", "m")
        self.adapter.run(handle, [OPEN, append(1)])
        self.assertEqual(self.adapter.run(handle, [append(1)])[0]["kind"], "invalid")
        self.adapter.load("only", "m")
        report = self.adapter.run(handle, [OPEN, append(1)])[1]
        self.assertEqual(support.rows_of(report["logits"])[0][0][0], 2.0)

    def test_an_engine_that_cannot_tell_its_retained_length_has_failed(self):
        (report,) = self.adapter.run(self.adapter.load("only", "m"), [{"op": "complete", "tokens": [[1]], "new": 1}])
        self.assertEqual((report["status"], report["kind"]), ("failed", "LookupError"))

    def test_reports_are_numbered_and_counted(self):
        handle = self.adapter.load("only", "m")
        answer, reports = self.adapter.ask("run", model=handle, trace=[OPEN, append(1), 7])
        self.assertEqual(answer["result"], {"steps": 3})
        self.assertEqual([r["index"] for r in reports], [0, 1, 2])
        self.assertTrue(all(r["seconds"] >= 0 for r in reports))

    def test_the_end_of_input_is_the_end(self):
        self.adapter.load("only", "m")
        self.adapter.process.stdin.close()
        self.assertEqual(self.adapter.process.wait(20), 0)

    def test_a_last_line_without_an_end_is_answered(self):
        self.adapter.process.stdin.write(b'{"id":1,"method":"initialize","params":{"protocol":1}}')
        self.adapter.process.stdin.close()
        self.assertEqual(self.adapter.message()["id"], 1)
        self.assertEqual(self.adapter.process.wait(20), 0)

    def test_shutdown_is_answered_and_leaves_with_0(self):
        self.assertEqual(self.adapter.leave(), 0)

    def test_nothing_is_left_in_a_buffer_when_the_engine_crashes(self):
        handle = self.adapter.load("only", "m")
        self.adapter.sent += 1
        self.adapter.write(
            json.dumps(
                {"id": 1, "method": "run", "params": {"model": handle, "trace": [OPEN, append(1), append(wild.CRASH)]}}
            ).encode()
        )
        self.assertEqual([self.adapter.message()["params"]["index"] for _ in range(2)], [0, 1])
        with self.assertRaises(support.talk.Gone) as gone:
            self.adapter.message()
        self.assertEqual(gone.exception.code, -11)


class ConversationInOneProcess(Conversation):
    """The same without a supervisor: for engines that must not be forked."""

    arguments = ("--no-restart",)

    def test_restart_is_not_offered(self):
        self.assertEqual(self.adapter.ask("restart")[0]["error"]["code"], -32601)


class Lines(unittest.TestCase):
    def read(self, data, limit):
        with tempfile.TemporaryFile() as f:
            f.write(data)
            f.seek(0)
            return list(LineReader(f.fileno(), limit))

    def test_a_line_longer_than_the_limit_costs_itself_only(self):
        self.assertEqual(self.read(b"abcd\nabcde\nx\n", 4), [b"abcd", OVERLONG, b"x"])
        self.assertEqual(self.read(b"x" * 3000000 + b"\ny\n", 1000), [OVERLONG, b"y"])
        self.assertEqual(self.read(b"x" * 3000000, 1000), [OVERLONG])


class Faults(unittest.TestCase):
    """A configuration that contradicts its engine is said before anything is served."""

    def faults(self, methods, **more):
        engine = type("Some", (Engine,), {m: lambda *a: None for m in methods})
        return Configuration("c", engine, **more).faults()

    def test_a_whole_engine_has_none(self):
        self.assertEqual(self.faults(("open", "append", "length", "reset", "crop")), [])
        self.assertEqual(self.faults(("complete",)), [])

    def test_half_a_capability_is_a_fault(self):
        self.assertIn("'append' needs the methods length, reset too", self.faults(("open", "append", "complete"))[0])
        self.assertEqual(len(self.faults(("complete", "save"))), 1)

    def test_unknown_names_are_faults(self):
        self.assertIn("no_such", self.faults(("complete",), adds=("no_such",))[0])
        self.assertIn("no_such", self.faults(("complete",), declarations={"no_such": 1})[0])

    def test_sessions_are_needed_by_what_works_on_them(self):
        self.assertIn("needs sessions", self.faults(("complete", "crop"))[0])
        self.assertIn("neither", self.faults(())[0])

    def test_an_adapter_with_faults_ends_with_2(self):
        code = "from cachet_adapter import *\nimport sys\n" "sys.exit(serve('x', '1', [Configuration('c', Engine)]))"
        done = subprocess.run(
            [support.sys.executable, "-c", code], cwd=support.KIT, capture_output=True, text=True, input="", timeout=30
        )
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("c: offers neither", done.stderr)


if __name__ == "__main__":
    unittest.main()
