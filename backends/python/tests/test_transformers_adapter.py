"""The adapter of Hugging Face transformers reports what the library does, right or wrong. Skipped where it is not installed."""

import importlib.util
import os
import tempfile
import unittest

import support

OPEN = {"op": "open", "session": "a", "rows": 1, "capacity": 8}
HAVE = all(importlib.util.find_spec(name) for name in ("torch", "transformers"))
STATIC, CALLER, LIBRARY = "static", ("dynamic", "static"), ("dynamic+library", "static+library")


def on(op, **fields):
    return {"op": op, "session": "a", **fields}


def append(*tokens, want="all"):
    return on("append", tokens=[list(tokens)], want=want)


def complete(*tokens, new=1, **more):
    return {"op": "complete", "tokens": [list(tokens)], "new": new, **more}


def fed(report):
    """What a step fed the model, call by call, of the first row."""
    return [call["tokens"][0] for call in report["calls"]]


@unittest.skipUnless(HAVE, "needs torch and transformers")
class Transformers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = cls.enterClassContext(tempfile.TemporaryDirectory())
        support.write_model(cls.directory)
        cls.adapter = cls.enterClassContext(support.adapter("transformers_adapter.py", stderr=support.talk.subprocess.DEVNULL))
        described = cls.adapter.result("initialize", protocol=1)
        cls.offers = {c["name"]: c for c in described["configurations"]}
        cls.version = tuple(int(n) for n in described["engine"]["transformers"].split(".")[:2])

    def run_steps(self, configuration, *trace, directory=None):
        return self.adapter.run(self.adapter.load(configuration, directory or self.directory), list(trace))

    def rows(self, configuration, *trace, **where):
        reports = self.run_steps(configuration, *trace, **where)
        return [row for r in reports if "logits" in r for row in support.rows_of(r["logits"])[0]]

    def assert_close(self, rows, wanted):
        self.assertEqual(len(rows), len(wanted))
        for row, want in zip(rows, wanted):
            for x, y in zip(row, want):
                self.assertAlmostEqual(x, y, delta=1e-5)

    def test_the_four_configurations_are_offered(self):
        self.assertEqual(set(self.offers), {*CALLER, *LIBRARY})
        for name, offer in self.offers.items():
            self.assertEqual(offer["declarations"]["reuse"], "caller" if name in CALLER else "library")
            self.assertEqual("append" in offer["capabilities"], name in CALLER)

    def test_logits_of_any_chunks_are_those_of_the_float64_forward(self):
        with open(os.path.join(support.TESTS, "golden_gpt2.json")) as f:
            golden = support.talk.json.load(f)
        a, b, c, *rest = golden["tokens"]
        for name in CALLER:
            self.assert_close(self.rows(name, OPEN, append(*golden["tokens"])), golden["logits"])
            self.assert_close(self.rows(name, OPEN, append(a, b), append(c), append(*rest)), golden["logits"])

    def test_a_llama_directory_gives_the_logits_of_its_float64_forward(self):
        goldens = os.path.join(support.KIT, "..", "..", "tests", "reference", "goldens")
        with open(os.path.join(goldens, "llama_checkpoint.json")) as f:
            golden = support.talk.json.load(f)["histories"][0]
        a, b, *rest = golden["tokens"]
        step = {**OPEN, "capacity": len(golden["tokens"])}
        for name in CALLER:
            rows = self.rows(name, step, append(a, b), append(*rest), directory=os.path.join(goldens, "llama_checkpoint"))
            self.assert_close(rows, golden["logits"])

    def test_a_second_complete_on_the_callers_longer_cache_gets_an_empty_slice(self):
        """The founding report, first form: the cache is longer than the prompt, so nothing is left to feed."""
        for name in CALLER:
            first, second = self.run_steps(name, complete(3, 1, new=3), complete(3, 1, new=3))
            self.assertEqual((first["status"], fed(first)[0]), ("ok", [3, 1]), name)
            self.assertEqual(second["status"], "failed", name)
            if self.version >= (5, 4):
                self.assertEqual(fed(second), [[]], name)
                self.assertEqual(second["calls"][0]["shape"], [1, 0], name)

    def test_a_second_complete_on_the_callers_full_cache_feeds_the_prompt_again(self):
        """The founding report, second form: the cache is as long as the prompt, and `[-0:]` is everything."""
        if self.version < (5, 4):
            self.skipTest("an error in older releases")
        for name in CALLER:
            first, second = self.run_steps(name, complete(3, 1), complete(3, 1))
            self.assertEqual([fed(first), fed(second)], [[[3, 1]], [[3, 1]]], name)
            self.assertEqual(
                (second["status"], first["lengths"]["kind"]), ("ok", "integer" if name == "dynamic" else "array"), name
            )
            self.assertEqual(second["lengths"]["value"], 4 if second["lengths"].get("shape") in (None, []) else [4], name)

    def test_a_cache_longer_by_less_than_the_prompt_is_fed_the_prompts_tail_again(self):
        """What lies between the two forms: the negative bound cuts from the front, without an error."""
        if self.version < (5, 4):
            self.skipTest("an error in older releases")
        for name in CALLER:
            _, second = self.run_steps(name, complete(3, 1, 5, new=2), complete(3, 1, 5, new=2))
            self.assertEqual((second["status"], fed(second)[0]), ("ok", [1, 5]), name)

    def test_the_librarys_own_retention_repeats_itself(self):
        for name in LIBRARY:
            for new in (1, 2):
                first, second = self.run_steps(name, complete(3, 1, new=new), complete(3, 1, new=new))
                self.assertEqual((second["status"], first["tokens"], fed(first)), ("ok", second["tokens"], fed(second)), name)

    def test_the_static_length_is_a_tensor_as_the_library_gives_it(self):
        lengths = [r["lengths"] for r in self.run_steps(STATIC, OPEN, append(3, 1))]
        self.assertEqual((lengths[1]["kind"], lengths[1]["dtype"], lengths[1]["device"]), ("array", "int64", "cpu"))
        self.assertIn(lengths[1]["shape"], ([], [1]))
        lengths = [r["lengths"] for r in self.run_steps("dynamic", OPEN, append(3, 1))]
        self.assertEqual(lengths, [{"kind": "integer", "value": 0}, {"kind": "integer", "value": 2}])

    def test_calls_are_the_slices_that_were_fed(self):
        for name in CALLER:
            reports = self.run_steps(name, OPEN, append(3, 1), append(5))
            self.assertEqual([fed(r) for r in reports], [[], [[3, 1]], [[5]]], name)
            self.assertEqual(reports[1]["calls"][0]["shape"], [1, 2])
        for name in LIBRARY:
            (report,) = self.run_steps(name, complete(3, 1, 5, new=3))
            self.assertEqual(fed(report), [[3, 1, 5], *([token] for token in report["tokens"][0][:2])], name)

    def test_pads_of_finished_rows_are_no_real_ids(self):
        prompts = [[token, 1] for token in range(8)]
        firsts = [
            row[0] for row in self.run_steps("dynamic+library", {"op": "complete", "tokens": prompts, "new": 1})[0]["tokens"]
        ]
        other = next(i for i in range(8) if firsts[i] != firsts[0])
        (report,) = self.run_steps(
            "dynamic+library", {"op": "complete", "tokens": [prompts[0], prompts[other]], "new": 4, "stop": [firsts[0]]}
        )
        self.assertEqual(report["stopped"][0], "stop")
        self.assertEqual(report["tokens"][0], [firsts[0], 0, 0, 0][: len(report["tokens"][1])])
        self.assertGreaterEqual(len(report["calls"]), 2)
        self.assertEqual(
            [call["tokens"][0] for call in report["calls"]], [prompts[0], [firsts[0]], [], []][: len(report["calls"])]
        )

    def test_the_checkpoints_own_stop_id_is_not_used(self):
        with tempfile.TemporaryDirectory() as directory:
            support.write_model(directory)
            path = os.path.join(directory, "config.json")
            with open(path) as f:
                config = support.talk.json.load(f)
            tokens = self.run_steps("dynamic+library", complete(3, 1, new=4))[0]["tokens"]
            with open(path, "w") as f:
                support.talk.json.dump({**config, "eos_token_id": tokens[0][0], "bos_token_id": 1, "pad_token_id": 2}, f)
            (report,) = self.adapter.run(self.adapter.load("dynamic+library", directory), [complete(3, 1, new=4)])
            self.assertEqual((report["tokens"], report["stopped"]), (tokens, ["length"]))

    def test_a_fork_goes_its_own_way(self):
        for name in CALLER:
            rows = self.rows(name, OPEN, append(3, 1), on("fork", into="b"), append(6), {**append(7), "session": "b"}, append(5))
            self.assert_close(rows[2:4], [self.rows(name, OPEN, append(3, 1, 6))[-1], self.rows(name, OPEN, append(3, 1, 7))[-1]])
            self.assert_close(rows[4:], self.rows(name, OPEN, append(3, 1, 6, 5))[-1:])

    def test_crop_continues_as_a_fresh_prefix(self):
        for name in CALLER:
            if "crop" not in self.offers[name]["capabilities"]:
                self.assertEqual(self.run_steps(name, OPEN, append(3), on("crop", length=[0]))[-1]["kind"], "unsupported")
                continue
            rows = self.rows(name, OPEN, append(3, 1, 2), on("crop", length=[1]), append(6))
            self.assert_close(rows[3:], self.rows(name, OPEN, append(3, 6))[1:])

    def test_a_crop_beyond_the_end_is_the_librarys_to_judge(self):
        for name in CALLER:
            if "crop" in self.offers[name]["capabilities"]:
                report = self.run_steps(name, OPEN, append(3, 1), on("crop", length=[3]))[-1]
                counts_removed = "crop" in self.offers["static"]["capabilities"]
                self.assertEqual(report["status"], "refused" if counts_removed else "ok", name)

    def test_past_capacity_a_growing_cache_is_the_adapters_to_refuse_and_a_static_one_the_engines(self):
        trace = OPEN, append(*[1] * 8), append(1)
        self.assertEqual(self.run_steps("dynamic", *trace)[-1]["kind"], "capacity")
        self.assertEqual(self.run_steps("static", *trace)[-1]["status"], "failed")
        self.assertEqual([r["status"] for r in self.run_steps("dynamic", complete(1, 2, new=2, capacity=3))], ["ok"])
        self.assertEqual([r["status"] for r in self.run_steps("dynamic", complete(1, 2, new=3, capacity=3))], ["refused"])

    def test_bad_calls_reach_the_engine(self):
        for bad in (append(), append(8), append(-1), append(2**70)):
            reports = self.run_steps("dynamic", OPEN, append(3), bad, append(1))
            self.assertEqual([r["status"] for r in reports[2:]], ["failed", "refused"], bad)
            self.assertEqual(reports[3]["kind"], "dead")

    def test_a_checkpoint_with_missing_weights_is_refused(self):
        with tempfile.TemporaryDirectory() as directory:
            support.write_model(directory)
            path = os.path.join(directory, "config.json")
            with open(path) as f:
                config = support.talk.json.load(f)
            with open(path, "w") as f:
                support.talk.json.dump({**config, "n_layer": 2}, f)
            error = self.adapter.ask("load", configuration="dynamic", model={"directory": directory})[0]["error"]
            self.assertEqual(error["code"], -32001)
            self.assertIn("missing_keys", error["message"])

    def test_a_new_life_forgets_the_callers_cache(self):
        self.run_steps("static", complete(3, 1, new=2))
        self.adapter.result("restart")
        (report,) = self.run_steps("static", complete(3, 1, new=2))
        self.assertEqual((report["status"], fed(report)[0]), ("ok", [3, 1]))


if __name__ == "__main__":
    unittest.main()
