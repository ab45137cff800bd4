"""`python -m cachet_adapter check` passes an adapter that can be tested and names what another one lacks."""

import os
import subprocess
import sys
import tempfile
import unittest

import support

PROGRAM = """
import sys
from cachet_adapter import Configuration, Engine, Generated, Refused, serve

class Some(Engine):
    def __init__(self, directory, spec, configuration):
        open(directory + "/config.json").close()
    def open(self, rows, capacity):
        return []
    def length(self, session):
        return len(session)
    def append(self, session, tokens, want):
        session += tokens[0]
        {call}
        return [[[0.0] * 8] * (len(tokens[0]) if want == "all" else 1)]
    def reset(self, session):
        session.clear()
    {methods}

sys.exit(serve("some", "1", [Configuration("c", Some, {{}}, adds={adds})], engine={{"version": "1"}}))
"""


def check(*arguments):
    done = subprocess.run(
        [sys.executable, "-m", "cachet_adapter", *arguments], cwd=support.KIT, capture_output=True, text=True, timeout=120
    )
    return done.returncode, done.stdout


def check_program(call="pass", methods="", adds=(), text=PROGRAM):
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "some_adapter.py")
        with open(path, "w") as f:
            f.write(
                f"import sys\nsys.path.insert(0, {support.KIT!r})\n"
                + text.format(call=call, methods=methods, adds=repr(tuple(adds)))
            )
        return check("check", path)


def lacks(output):
    return [line for line in output.splitlines() if line.startswith("missing")]


class Check(unittest.TestCase):
    def test_the_example_lacks_nothing(self):
        code, output = check("check", "toy_adapter.py")
        self.assertEqual((code, lacks(output)), (0, []))
        self.assertIn("ok      lists: crop", output)

    def test_a_module_is_named_like_a_file(self):
        self.assertEqual(check("check", "toy_adapter")[0], 0)

    def test_a_sound_adapter_lacks_nothing(self):
        code, output = check_program(call="self.log_call(tokens, (1, len(tokens[0])))", adds=["calls", "all_rows"])
        self.assertEqual((code, lacks(output)), (0, []))
        self.assertIn("note", output)

    def test_an_offer_that_always_fails_is_named(self):
        code, output = check_program(methods="def crop(self, session, length): raise Refused('invalid', 'never')")
        self.assertEqual(code, 1)
        self.assertEqual(lacks(output), ["missing c: crop, got refused: never"])

    def test_calls_that_are_offered_and_not_told_are_named(self):
        code, output = check_program(adds=["calls"])
        self.assertIn("missing c: calls in append", lacks(output))

    def test_noise_on_standard_output_is_named(self):
        code, output = check_program(text=PROGRAM.replace("import sys\n", "import sys\nprint('noise')\n"))
        self.assertEqual(code, 1)
        self.assertIn("missing an answer by the protocol", lacks(output)[0])

    def test_a_program_that_does_not_start_is_named(self):
        code, output = check_program(text="raise SystemExit(3)\n")
        self.assertEqual(code, 1)
        self.assertIn("the adapter ended with 3", lacks(output)[0])

    def test_a_given_model_is_used(self):
        with tempfile.TemporaryDirectory() as directory:
            code, output = check("check", "toy_adapter.py", "--model", directory)
            self.assertIn("the model was refused", output)

    def test_wrong_usage_ends_with_2(self):
        self.assertEqual(check()[0], 2)
        self.assertEqual(check("check")[0], 2)


if __name__ == "__main__":
    unittest.main()
