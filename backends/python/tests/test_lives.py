"""A life ends whole: by restart, by the end of its program, and when it crashes, which must be seen from outside."""

import os
import signal
import time
import unittest

import support
import wild_adapter as wild
from cachet_adapter.talk import Gone

OPEN = {"op": "open", "session": "a", "rows": 1, "capacity": 4}


def append(*tokens):
    return {"op": "append", "session": "a", "tokens": [list(tokens)]}


class Lives(unittest.TestCase):
    def setUp(self):
        self.adapter = self.enterContext(support.adapter("wild_adapter.py", timeout_s=30, stderr=support.talk.subprocess.DEVNULL))

    def life(self):
        """(engines loaded in this life, its process) after loading one more."""
        report = self.adapter.run(self.adapter.load("only", "m"), [OPEN, append(1)])[1]
        return [int(x) for x in support.rows_of(report["logits"])[0][0]]

    def ends_with(self, token):
        handle = self.adapter.load("only", "m")
        with self.assertRaises(Gone) as gone:
            self.adapter.run(handle, [OPEN, append(token)])
        return gone.exception.code

    def gone(self, pid):
        deadline = time.monotonic() + 10
        while support.running(pid) and time.monotonic() < deadline:
            time.sleep(0.01)
        return not support.running(pid)

    def test_nothing_survives_a_restart(self):
        self.assertEqual(self.life()[0], 1)
        loaded, first = self.life()
        self.assertEqual(loaded, 2)
        self.assertEqual(self.adapter.result("restart"), {})
        loaded, second = self.life()
        self.assertEqual(loaded, 1)
        self.assertNotEqual(first, second)
        self.assertFalse(support.running(first))
        self.assertEqual(self.adapter.ask("run", model="m7", trace=[])[0]["error"]["code"], -32002)

    def test_restart_keeps_the_type_of_its_id(self):
        for ident in (b"5", b'"five"', b'"\\u00e9\\n"', b"null"):
            self.adapter.write(b'{"id":' + ident + b',"method":"restart"}')
            self.assertEqual(self.adapter.message(), {"jsonrpc": "2.0", "id": support.talk.json.loads(ident), "result": {}})

    def test_a_hundred_restarts_leave_one_process(self):
        for _ in range(100):
            self.adapter.result("restart")
        with open(f"/proc/{self.adapter.process.pid}/task/{self.adapter.process.pid}/children") as f:
            self.assertEqual(len(f.read().split()), 1)
        self.assertLess(len(os.listdir(f"/proc/{self.adapter.process.pid}/fd")), 20)

    def test_the_program_dies_as_its_engine_dies(self):
        self.assertEqual(self.ends_with(wild.CRASH), -signal.SIGSEGV)

    def test_the_program_leaves_as_its_engine_leaves(self):
        self.assertEqual(self.ends_with(wild.LEAVE), 7)

    def test_a_death_is_seen_although_a_grandchild_holds_the_channel(self):
        _, pid = self.life()
        self.adapter.run("m0", [OPEN, append(wild.ORPHAN)])
        os.kill(pid, signal.SIGKILL)
        self.assertEqual(self.adapter.process.wait(20), -signal.SIGKILL)

    def test_an_idle_life_that_dies_takes_the_program_with_it(self):
        _, pid = self.life()
        os.kill(pid, signal.SIGABRT)
        self.assertEqual(self.adapter.process.wait(20), -signal.SIGABRT)

    def test_a_hung_engine_does_not_outlive_its_program(self):
        for number in (signal.SIGTERM, signal.SIGKILL):
            with self.subTest(number), support.adapter(
                "wild_adapter.py", timeout_s=30, stderr=support.talk.subprocess.DEVNULL
            ) as adapter:
                self.adapter, kept = adapter, self.adapter
                _, pid = self.life()
                self.adapter = kept
                adapter.write(
                    b'{"id":1,"method":"run","params":{"model":"m0","trace":[{"op":"open","session":"a","rows":1,"capacity":9},'
                    b'{"op":"append","session":"a","tokens":[[%d]]}]}}' % wild.HANG
                )
                adapter.message()
                adapter.process.send_signal(number)
                self.assertEqual(adapter.process.wait(20), -number)
                self.assertTrue(self.gone(pid))

    def test_the_end_of_input_ends_the_life_too(self):
        _, pid = self.life()
        self.adapter.process.stdin.close()
        self.assertEqual(self.adapter.process.wait(20), 0)
        self.assertTrue(self.gone(pid))

    def test_the_end_of_input_while_a_step_runs_waits_for_its_answer(self):
        self.adapter.load("only", "m")
        self.adapter.write(b'{"id":9,"method":"run","params":{"model":"m0","trace":[]}}')
        self.adapter.process.stdin.close()
        self.assertEqual(self.adapter.message()["id"], 9)
        self.assertEqual(self.adapter.process.wait(20), 0)

    def test_a_reader_that_went_away_ends_the_program(self):
        _, pid = self.life()
        self.adapter.process.stdout.close()
        self.adapter.write(b'{"id":9,"method":"run","params":{"model":"m0","trace":[{"op":"recompile"}]}}')
        self.assertNotEqual(self.adapter.process.wait(20), 0)
        self.assertTrue(self.gone(pid))


if __name__ == "__main__":
    unittest.main()
