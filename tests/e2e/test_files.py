"""Malformed input files: exit code 2 with file, line and what was expected; never a crash."""

import json
import os
import random
import struct
import unittest

from support import CliTest

HEAD = "cachet case 1\nlaw repeat_call\nbackend eager\n"
MODEL = "model m gpt2 layers=1 heads=1 width=2 vocab=4 context=8 weights=seed:0\n"
GOOD = HEAD + MODEL + "run m\nopen a rows=1 capacity=8\nappend a 3 1\n"

# A case file and the line that must be blamed (0: any).
CASES = [
    ("", 0),
    ("cachet case 2\n", 1),
    ("case\n", 1),
    ("cachet case 1\nlaw\n", 2),
    ("cachet case 1\nlaws repeat_call\n", 2),
    (HEAD + "model\n", 4),
    (HEAD + "model m\n", 4),
    (HEAD + "model m gpt9 layers=1\n", 4),
    (HEAD + "model m gpt2 layers=0\n", 4),
    (HEAD + "model m gpt2 layers=1 layers=2\n", 4),
    (HEAD + "run m\n", 4),
    (HEAD + MODEL + "open a rows=1 capacity=8\n", 5),
    (HEAD + MODEL + "run n\n", 5),
    (HEAD + MODEL + "run m\nfly a\n", 6),
    (HEAD + MODEL + "run m\nopen a rows=1\n", 6),
    (HEAD + MODEL + "run m\nopen a rows=1 capacity=8 wings=2\n", 6),
    (HEAD + MODEL + "run m\nopen a rows=one capacity=8\n", 6),
    (HEAD + MODEL + "run m\nopen a rows=1 capacity=8\nappend a 3 x\n", 7),
    (HEAD + MODEL + "run m\nopen a rows=1 capacity=8\nappend a 99999999999999999999\n", 7),
    (HEAD + MODEL + "run m\nopen a rows=1 capacity=8\nappend a 3 want=some\n", 7),
    (HEAD + MODEL + "run m\nopen a rows=1 capacity=8\ncrop a\n", 7),
    (HEAD + MODEL + "run m\ncomplete 3 1\n", 6),
    (HEAD + MODEL + "run m\nraw {\n", 6),
    (HEAD + MODEL + "run m\ncomplete 3 new=1 stop=[1\n", 6),
    (GOOD + "unload x\n", 8),
]


class CaseFiles(CliTest):
    def test_the_good_case_is_good(self):
        self.write("good.case", GOOD)
        self.assertIn(self.run_here("replay", "good.case").returncode, (0, 4))

    def test_every_malformed_case_is_blamed_on_its_line(self):
        for text, line in CASES:
            with self.subTest(text=text):
                self.write("bad.case", text)
                for command in ("replay", "shrink"):
                    done = self.check(2, command, "bad.case")
                    self.assertRegex(done.stderr, rf"bad\.case:{line}: " if line else r"bad\.case")

    def test_unknown_names_in_headers_are_named(self):
        for text, word in (
            (GOOD.replace("repeat_call", "no_law"), "no_law"),
            (GOOD.replace("eager", "nobody"), "nobody"),
            (GOOD.replace("backend eager\n", ""), "backend"),
        ):
            with self.subTest(word=word):
                self.write("bad.case", text)
                self.assertIn(word, self.check(2, "replay", "bad.case").stderr)

    def test_bytes_that_are_no_text_are_refused(self):
        self.write("bytes.case", bytes(range(256)))
        self.check(2, "replay", "bytes.case")

    def test_no_mutation_of_a_case_ends_otherwise_than_with_a_verdict_or_a_message(self):
        draw = random.Random(1)
        for i in range(120):
            text = bytearray(GOOD.encode())
            for _ in range(draw.randint(1, 4)):
                at = draw.randrange(len(text))
                kind = draw.randrange(3)
                if kind == 0:
                    text[at] = draw.choice(b"0 9-=|[]{}#\n\tazm\xff")
                elif kind == 1:
                    del text[at]
                else:
                    text[at:at] = draw.choice([b"-", b"|", b"=", b" 99999999999", b"\n", b"{\"", b" want=all", b"\x00"])
            self.write("mutated.case", bytes(text))
            done = self.run_here("replay", "mutated.case")
            self.assertIn(done.returncode, (0, 1, 2, 4), (bytes(text), done.stderr))
            if done.returncode == 2:
                self.assertIn("cachet: ", done.stderr)

    def test_a_malformed_certificate_is_refused(self):
        for text in ('{"case": 3}', '{"case": "cachet case 9"}', "{}", '{"case": ', "[1, 2]"):
            with self.subTest(text=text):
                self.write("bad.json", text)
                self.assertIn("bad.json", self.check(2, "replay", "bad.json").stderr)


class ShardFiles(CliTest):
    def test_what_check_never_wrote_is_blamed_on_its_line(self):
        self.check(0, "check", "eager", "--cases", "20", "--jsonl", "good.jsonl")
        with open(self.path("good.jsonl")) as f:
            good = f.read()
        summary = good.splitlines()[-1]
        for name, text, line in (
            ("empty", "", 0),
            ("words", "hello\n", 1),
            ("event", '{"event": "party"}\n', 1),
            ("half", summary[:-9], 1),
            ("after", summary + "\n" + summary + "\n", 2),
            ("keys", '{"event": "summary"}\n', 1),
            ("finding", '{"event": "verdict", "minimal": 3}\n' + summary, 1),
        ):
            with self.subTest(name=name):
                self.write("bad.jsonl", text)
                self.assertRegex(self.check(2, "merge", "bad.jsonl").stderr, rf"bad\.jsonl:{line}: " if line else r"bad\.jsonl")

    def test_shards_of_different_seeds_do_not_merge(self):
        self.check(0, "check", "eager", "--cases", "20", "--jsonl", "a.jsonl")
        self.check(0, "check", "eager", "--cases", "20", "--seed", "2", "--jsonl", "b.jsonl")
        self.assertIn("seed", self.check(2, "merge", "a.jsonl", "b.jsonl").stderr)


class Checkpoints(CliTest):
    def setUp(self):
        super().setUp()
        self.check(0, "export", "gpt2 layers=1 heads=1 width=2 vocab=4 context=8 weights=seed:0", "m")

    def damage(self, name, change):
        path = self.path("m/" + name)
        with open(path, "rb") as f:
            content = f.read()
        with open(path, "wb") as f:
            f.write(change(content))

    def refused(self, word):
        done = self.check(2, "check", "eager", "--cases", "20", "--model", "m")
        self.assertIn(word, done.stderr)

    def test_an_exported_model_is_judged(self):
        self.check(0, "check", "eager", "--cases", "40", "--model", "m")

    def test_a_truncated_file_is_refused(self):
        self.damage("model.safetensors", lambda b: b[:-5])
        self.refused("model.safetensors")

    def test_a_header_longer_than_the_file_is_refused(self):
        self.damage("model.safetensors", lambda b: struct.pack("<Q", 1 << 62) + b[8:])
        self.refused("model.safetensors")

    def test_a_missing_tensor_is_named(self):
        def change(content):
            size = struct.unpack_from("<Q", content)[0]
            header = json.loads(content[8 : 8 + size])
            name = next(n for n in header if n.endswith("ln_f.weight"))
            header["transformer.another.weight"] = header.pop(name)
            text = json.dumps(header).encode()
            return struct.pack("<Q", len(text)) + text + content[8 + size :]

        self.damage("model.safetensors", change)
        self.refused("another.weight")

    def test_a_config_that_contradicts_the_tensors_names_the_tensor(self):
        self.damage("config.json", lambda b: json.dumps({**json.loads(b), "n_embd": 3}).encode())
        self.refused("expected [4, 3]")

    def test_a_config_that_contradicts_itself_is_named(self):
        self.damage("config.json", lambda b: json.dumps({**json.loads(b), "n_head": 3}).encode())
        self.refused("config.json")

    def test_an_unknown_family_is_named(self):
        self.damage("config.json", lambda b: json.dumps({**json.loads(b), "model_type": "unicorn"}).encode())
        self.refused("unicorn")

    def test_a_missing_config_is_named(self):
        os.remove(self.path("m/config.json"))
        self.refused("config.json")

    def test_broken_json_is_refused(self):
        self.damage("config.json", lambda b: b[:20])
        self.refused("config.json")

    def test_no_mutation_of_a_checkpoint_crashes(self):
        draw = random.Random(1)
        with open(self.path("m/model.safetensors"), "rb") as f:
            good = f.read()
        for _ in range(60):
            content = bytearray(good)
            for _ in range(draw.randint(1, 3)):
                content[draw.randrange(min(len(content), 600))] = draw.randrange(256)
            with open(self.path("m/model.safetensors"), "wb") as f:
                f.write(content)
            self.assertIn(self.run_here("export", "m", "copy").returncode, (0, 2), bytes(content[:600]))


if __name__ == "__main__":
    unittest.main()
