"""The example adapter computes GPT-2 as the published implementation does, and keeps the promises that it declares."""

import json
import os
import struct
import tempfile
import unittest

import support

OPEN = {"op": "open", "session": "a", "rows": 1, "capacity": 12}


def on(op, **fields):
    return {"op": op, "session": "a", **fields}


def append(*tokens, want="all"):
    return on("append", tokens=[list(tokens)], want=want)


class Toy(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = cls.enterClassContext(tempfile.TemporaryDirectory())
        support.write_model(cls.directory)
        cls.adapter = cls.enterClassContext(support.adapter("toy_adapter.py", stderr=support.talk.subprocess.DEVNULL))
        with open(os.path.join(support.TESTS, "golden_gpt2.json")) as f:
            cls.golden = json.load(f)

    def run_steps(self, *trace):
        return self.adapter.run(self.adapter.load("lists", self.directory), list(trace))

    def rows(self, *trace):
        """The logits of the first row of every append."""
        return [row for r in self.run_steps(*trace) if "logits" in r for row in support.rows_of(r["logits"])[0]]

    def fresh(self, *tokens):
        return self.rows(OPEN, append(*tokens))

    def test_logits_are_those_of_the_published_implementation(self):
        rows = self.fresh(*self.golden["tokens"])
        self.assertEqual(len(rows), len(self.golden["logits"]))
        for row, golden in zip(rows, self.golden["logits"]):
            for x, y in zip(row, golden):
                self.assertAlmostEqual(x, y, delta=1e-13)

    def test_chunks_and_steps_give_the_same_bits(self):
        whole = self.fresh(3, 1, 2, 7, 5)
        self.assertEqual(self.rows(OPEN, append(3), append(1, 2), append(7), append(5)), whole)
        self.assertEqual(self.rows(OPEN, append(3, 1, want="last"), append(2, 7, 5)), whole[1:])

    def test_rows_do_not_see_each_other(self):
        reports = self.run_steps(
            {**OPEN, "rows": 2}, on("append", tokens=[[3, 1], [2, 4]], want="all"), on("append", tokens=[[5], [5]])
        )
        first = [row for r in reports[1:] for row in support.rows_of(r["logits"])[0]]
        second = [row for r in reports[1:] for row in support.rows_of(r["logits"])[1]]
        self.assertEqual(first, self.fresh(3, 1, 5))
        self.assertEqual(second, self.fresh(2, 4, 5))

    def test_crop_and_reset_forget(self):
        self.assertEqual(self.rows(OPEN, append(3, 1, 2), on("crop", length=[1]), append(6))[3:], self.fresh(3, 6)[1:])
        self.assertEqual(self.rows(OPEN, append(3, 1, 2), on("reset"), append(6))[3:], self.fresh(6))

    def test_a_fork_and_its_parent_go_their_own_ways(self):
        rows = self.rows(OPEN, append(3, 1), on("fork", into="b"), append(6), {**append(7), "session": "b"}, append(5))
        self.assertEqual(rows[2], self.fresh(3, 1, 6)[-1])
        self.assertEqual(rows[3], self.fresh(3, 1, 7)[-1])
        self.assertEqual(rows[4], self.fresh(3, 1, 6, 5)[-1])

    def test_lengths_are_tokens_in_every_layer(self):
        lengths = [
            (r["lengths"]["value"], r["layer_lengths"])
            for r in self.run_steps(OPEN, append(3, 1, 2), on("crop", length=[2]), on("reset"))
        ]
        self.assertEqual(lengths, [(n, [{"kind": "integer", "value": n}]) for n in (0, 3, 2, 0)])

    def test_complete_is_greedy_over_its_own_logits(self):
        (report,) = self.run_steps({"op": "complete", "tokens": [[3, 1]], "new": 5})
        history = [3, 1]
        for token in report["tokens"][0]:
            row = self.fresh(*history)[-1]
            self.assertEqual(token, row.index(max(row)))
            history.append(token)
        self.assertEqual(report["stopped"], ["length"])
        self.assertEqual([call["tokens"] for call in report["calls"]], [[[3, 1]]] + [[[t]] for t in report["tokens"][0][:-1]])

    def test_complete_stops_after_a_stop_token_but_not_before_min_new(self):
        free = self.run_steps({"op": "complete", "tokens": [[3, 1]], "new": 5})[0]["tokens"][0]
        stopped = self.run_steps({"op": "complete", "tokens": [[3, 1]], "new": 5, "stop": [free[0], 99]})[0]
        self.assertEqual((stopped["tokens"], stopped["stopped"]), ([free[:1]], ["stop"]))
        barred = self.run_steps({"op": "complete", "tokens": [[3, 1]], "new": 3, "stop": [free[0], -1, 99], "min_new": 3})[0]
        self.assertNotIn(free[0], barred["tokens"][0])
        self.assertEqual(barred["stopped"], ["length"])

    def test_all_ids_barred_is_still_an_answer(self):
        (report,) = self.run_steps({"op": "complete", "tokens": [[3, 1]], "new": 2, "stop": list(range(8)), "min_new": 2})
        self.assertEqual((report["status"], report["tokens"], report["stopped"]), ("ok", [[0, 0]], ["length"]))

    def test_bad_calls_are_refused_and_change_nothing(self):
        bad = [
            append(),
            append(8),
            append(-1),
            append(2**70),
            append(*[1] * 12),
            on("crop", length=[4]),
            on("crop", length=[-1]),
            on("crop", length=[]),
            on("crop", length=[1, 1]),
            on("append", tokens=[[1], [1]]),
            on("append", tokens=[]),
        ]
        reports = self.run_steps(OPEN, append(3, 1, 2), *bad, append(6))
        self.assertEqual([r["status"] for r in reports[2:-1]], ["refused"] * len(bad))
        self.assertTrue(all(r["message"] and r["lengths"]["value"] == 3 for r in reports[2:-1]))
        self.assertEqual(list(support.rows_of(reports[-1]["logits"])[0][0]), list(self.fresh(3, 1, 2, 6)[-1]))
        for tokens in ([[]], [], [[8]]):
            self.assertEqual(self.run_steps({"op": "complete", "tokens": tokens, "new": 1})[0]["status"], "refused", tokens)

    def test_capacity_is_exact(self):
        self.assertEqual(
            [r["status"] for r in self.run_steps({**OPEN, "capacity": 3}, append(1, 2), append(3), append(4))],
            ["ok", "ok", "ok", "refused"],
        )
        complete = {"op": "complete", "tokens": [[1, 2]], "capacity": 3}
        self.assertEqual([r["status"] for r in self.run_steps({**complete, "new": 2}, {**complete, "new": 3})], ["ok", "refused"])
        self.assertEqual(
            [r["status"] for r in self.run_steps({**OPEN, "capacity": 99}, append(*[1] * 16), append(1))], ["ok", "ok", "refused"]
        )

    def test_a_model_that_it_cannot_compute_is_refused(self):
        def changed(**config):
            directory = self.enterContext(tempfile.TemporaryDirectory())
            support.write_model(directory)
            path = os.path.join(directory, "config.json")
            with open(path) as f:
                whole = json.load(f)
            with open(path, "w") as f:
                json.dump({**whole, **config}, f)
            return directory

        broken = changed()
        with open(os.path.join(broken, "model.safetensors"), "wb") as f:
            f.write(struct.pack("<Q", 1 << 40))
        for directory in (changed(model_type="llama"), changed(activation_function="relu"), broken, os.path.join(broken, "none")):
            answer = self.adapter.ask("load", configuration="lists", model={"directory": directory})[0]
            self.assertEqual(answer["error"]["code"], -32001)


if __name__ == "__main__":
    unittest.main()
