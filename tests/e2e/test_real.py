"""A real engine, Hugging Face transformers on torch: the founding report found again by generation, shrunk, replayed, and
held against the negative control, the library's own retention. CACHET_REAL_PYTHON is the interpreter that has the engine."""

import os
import re
import shlex
import unittest

from support import SOURCES, CliTest, objects

ADAPTER = "process:" + shlex.join(
    [os.environ["CACHET_REAL_PYTHON"], os.path.join(SOURCES, "backends/python/transformers_adapter.py")]
)


class FoundingReport(CliTest):
    def found(self, configuration, law, cases=20):
        """Rows of the failures of a law, and the output."""
        done = self.check(1, "check", f"{ADAPTER}/{configuration}", "--law", law, "--cases", str(cases), "--jsonl", "r.jsonl")
        return [row for row in self.lines("r.jsonl") if row.get("case") is not None and row["law"] == law], done.stdout

    def steps(self, row):
        """The ops of a minimal case."""
        with open(self.path(row["file"])) as f:
            lines = [line.split()[0] for line in f.read().splitlines()[1:]]
        return [op for op in lines if op not in ("law", "backend", "peer", "vary", "note", "model", "run", "unload")]

    def replayed(self, row, configuration):
        done = self.run_here("replay", row["file"], "--backend", f"{ADAPTER}/{configuration}", "--json")
        return done.returncode, objects(done.stdout)[0]["verdict"]

    def assert_founding(self, configuration):
        rows, out = self.found(configuration, "repeat_call")
        two_calls = [row for row in rows if self.steps(row) == ["complete", "complete"]]
        self.assertGreater(len(two_calls), 0, out)
        for row in two_calls:
            self.assertRegex(row["minimal"], r"gpt2 layers=1 ")
            self.assertEqual(self.replayed(row, configuration), (1, row["verdict"]))
            self.assertEqual(self.replayed(row, configuration + "+library"), (0, "pass"))
        self.assertTrue(re.search(r"0 elements|IndexError|tokens", out), out)

    def test_a_second_call_on_the_callers_dynamic_cache_differs_and_on_the_librarys_own_does_not(self):
        self.assert_founding("dynamic")

    def test_a_second_call_on_the_callers_static_cache_differs_and_on_the_librarys_own_does_not(self):
        self.assert_founding("static")

    def test_the_length_of_a_static_cache_is_a_tensor_and_of_a_dynamic_one_an_integer(self):
        rows, out = self.found("static", "seq_length_is_integral")
        self.assertIn("array", out)
        self.assertEqual(self.replayed(rows[0], "dynamic"), (0, "pass"))


if __name__ == "__main__":
    unittest.main()
