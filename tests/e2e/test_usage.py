"""Wrong use of the command line: exit code 2, words that name what is wrong, and nothing on standard output."""

import unittest

from support import CliTest

GOOD = "gpt2 layers=1 heads=1 width=2 vocab=4 context=8 weights=seed:0"

# What is typed, and a word that the message must hold.
WRONG = [
    ([], "command"),
    (["fly"], "fly"),
    (["--fly"], "--fly"),
    (["check"], "BACKEND"),
    (["check", "nobody"], "nobody"),
    (["check", ""], "backend"),
    (["check", "eager/nowhere"], "nowhere"),
    (["check", "eager+nothing"], "nothing"),
    (["check", "eager", "eager"], "twice"),
    (["check", "eager", "--law", "no_law"], "no_law"),
    (["check", "eager", "--law"], "--law"),
    (["check", "eager", "--cases", "0"], "--cases"),
    (["check", "eager", "--cases", "-5"], "--cases"),
    (["check", "eager", "--cases", "many"], "--cases"),
    (["check", "eager", "--cases", "1e3"], "--cases"),
    (["check", "eager", "--seconds", "0"], "--seconds"),
    (["check", "eager", "--seconds", "nan"], "--seconds"),
    (["check", "eager", "--seed", "-1"], "--seed"),
    (["check", "eager", "--seed", "x"], "--seed"),
    (["check", "eager", "--seed", "99999999999999999999999"], "--seed"),
    (["check", "eager", "--jobs", "0"], "--jobs"),
    (["check", "eager", "--shard", "2/2"], "--shard"),
    (["check", "eager", "--shard", "0/0"], "--shard"),
    (["check", "eager", "--shard", "-1/2"], "--shard"),
    (["check", "eager", "--shard", "1"], "--shard"),
    (["check", "eager", "--shard", "1/2x"], "--shard"),
    (["check", "eager", "--timeout", "0"], "--timeout"),
    (["check", "eager", "--model", "gpt9 layers=1"], "gpt9"),
    (["check", "eager", "--model", "gpt2 layers=one"], "layers"),
    (["check", "eager", "--model", "gpt2 layers=1 wings=2"], "wings"),
    (["check", "eager", "--model", "gpt2 heads=2 width=3"], "heads"),
    (["check", "eager", "--model", "gpt2 kv_heads=1"], "kv_heads"),
    (["check", "eager", "--model", "llama heads=4 width=8 kv_heads=3"], "kv_heads"),
    (["check", "eager", "--model", "llama heads=2 width=2"], "even"),
    (["export", "llama rope_theta=0", "m"], "rope_theta"),
    (["check", "eager", "--model", "gpt2 'layers=1"], "quote"),
    (["check", "eager", "--model", ""], "empty"),
    (["check", "eager", "--out", "/dev/null/out"], "/dev/null/out"),
    (["check", "process:"], "command"),
    (["check", "process:'unclosed"], "quote"),
    (["check", "process:ends\\"], "backslash"),
    (["check", "process:/no/such/program/"], "/no/such/program"),
    (["check", "process:false"], "false"),
    (["check", "two\nlines"], "line break"),
    (["replay"], "FILE"),
    (["replay", "nothing.case"], "nothing.case"),
    (["replay", "/"], "/"),
    (["shrink"], "FILE"),
    (["shrink", "nothing.case"], "nothing.case"),
    (["shrink", "nothing.case", "--budget", "0"], "--budget"),
    (["merge"], "JSONL"),
    (["merge", "nothing.jsonl"], "nothing.jsonl"),
    (["zoo", "--defect", "unicorn"], "unicorn"),
    (["zoo", "--seeds", "0"], "--seeds"),
    (["zoo", "--pairs", "few"], "--pairs"),
    (["serve"], "BACKEND"),
    (["serve", "nobody"], "nobody"),
    (["serve", "eager/eager"], "configuration"),
    (["list"], "WHAT"),
    (["list", "unicorns"], "unicorns"),
    (["export"], "MODEL"),
    (["export", GOOD], "DIR"),
    (["export", "gpt9 layers=1", "m"], "gpt9"),
    (["export", GOOD, "/dev/null/m"], "/dev/null/m"),
]


class Usage(CliTest):
    def test_every_wrong_use_is_named_and_ends_with_2(self):
        for args, word in WRONG:
            with self.subTest(args=args):
                done = self.run_here(*args)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(word, done.stderr)
                self.assertEqual(done.stdout, "")

    def test_help_of_every_command_has_an_example_and_ends_with_0(self):
        self.assertIn("Exit codes", self.check(0, "--help").stdout)
        for command in ("check", "replay", "shrink", "merge", "zoo", "serve", "list", "export"):
            with self.subTest(command=command):
                self.assertIn(
                    "Example: cachet " + ("check" if command == "serve" else command), self.check(0, command, "--help").stdout
                )

    def test_version_is_printed(self):
        self.assertRegex(self.check(0, "--version").stdout, r"^cachet \d+\.\d+\.\d+\n$")


if __name__ == "__main__":
    unittest.main()
