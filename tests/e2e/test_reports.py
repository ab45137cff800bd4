"""The formats that other programs read: JUnit, JSON Lines, `--json`, certificates. Keys are a contract: added, never renamed."""

import json
import os
import unittest
import xml.etree.ElementTree as xml

from support import CliTest, defect_of, listed, objects, run

ROW = {"event", "law", "backend", "verdict", "case", "seed", "steps", "file"}
SUMMARY = {"event", "backends", "laws", "cases", "failures", "ties", "vacuous", "unsupported", "seconds"}
ZOO = {
    "defect",
    "host",
    "caught_by",
    "seeds",
    "found",
    "median_cases",
    "minima",
    "steps",
    "known_steps",
    "median_evaluations",
    "slippage",
}


class Reports(CliTest):
    @classmethod
    def setUpClass(cls):
        cls.subject = defect_of("static_cache", "repeat_call")

    def setUp(self):
        super().setUp()
        self.check(1, "check", self.subject, "eager", "--cases", "200", "--jsonl", "r.jsonl", "--junit", "r.xml")

    def test_lines_have_the_keys_of_the_contract_in_order_and_end_in_a_summary(self):
        rows = self.lines("r.jsonl")
        self.assertEqual([r["event"] for r in rows], ["verdict"] * (len(rows) - 1) + ["summary"])
        for row in rows[:-1]:
            self.assertLessEqual(ROW, set(row))
            self.assertNotEqual(row["verdict"], "pass")
        order = [(r["backend"], r["law"], r["verdict"], -1 if r["case"] is None else r["case"]) for r in rows[:-1]]
        self.assertEqual(order, sorted(order))
        summary = rows[-1]
        self.assertLessEqual(SUMMARY, set(summary))
        self.assertEqual(set(summary["seconds"]), {"total", "backend", "reference"})
        self.assertEqual(summary["cases"], 400)
        self.assertGreater(summary["failures"], 0)
        self.assertEqual(summary["backends"], [self.subject, "eager"])

    def test_files_named_in_lines_hold_the_minimal_case(self):
        for row in self.lines("r.jsonl")[:-1]:
            if row["case"] is None:
                continue
            with open(self.path(row["file"])) as f:
                self.assertEqual(f.read(), row["minimal"])

    def test_counts_of_the_summary_add_up(self):
        rows = self.lines("r.jsonl")
        for key, verdict in (("ties", "tie"), ("vacuous", "vacuous")):
            self.assertEqual(rows[-1][key], sum(r["count"] for r in rows[:-1] if r["verdict"] == verdict))

    def test_junit_names_every_law_on_every_subject(self):
        root = xml.parse(self.path("r.xml")).getroot()
        self.assertEqual([s.get("name") for s in root], [self.subject, "eager"])
        laws = {row["name"] for row in listed("laws")}
        for suite in root:
            self.assertEqual({c.get("name") for c in suite}, laws)
            for key, tag in (("failures", "failure"), ("skipped", "skipped")):
                self.assertEqual(int(suite.get(key)), len([c for c in suite if c.find(tag) is not None]))
            self.assertEqual(int(suite.get("tests")), len(suite))
        failures = root[0].findall(".//failure")
        self.assertGreater(len(failures), 0)
        self.assertIn("replay", failures[0].text)
        self.assertEqual(root[1].findall(".//failure"), [])

    def test_a_certificate_holds_both_sides_and_the_neighbours(self):
        neighbours = 0  # of the very smallest case there is none
        for case in self.cases():
            with open(case.removesuffix(".case") + ".json") as f:
                certificate = json.load(f)
            with open(case) as f:
                self.assertEqual(certificate["case"], f.read())
            self.assertIn("expected", certificate["divergence"])
            self.assertGreater(len(certificate["exhibits"]), 0)
            self.assertGreater(len(certificate["exhibits"][0]["reports"]), 0)
            neighbours += len(certificate["shrinking"]["neighbours"])
            self.assertFalse(certificate["shrinking"]["exhausted"])
        self.assertGreater(neighbours, 0)

    def test_what_was_not_judged_is_listed(self):
        rows = self.lines("r.jsonl")
        text = run("check", "eager", "--cases", "200", cwd=self.folder).stdout
        for law, reason in rows[-1]["campaigns"][1]["unsupported"].items():
            self.assertIn(law, text)
            self.assertIn(reason, text)
        for law, tally in rows[-1]["campaigns"][1]["laws"].items():
            for reason in tally["reasons"]:
                self.assertIn(reason, text)


class Lists(CliTest):
    def test_lists_have_the_keys_of_the_contract(self):
        self.assertLessEqual({"eager", "static_cache"}, {row["name"] for row in listed("backends")})
        self.assertEqual({row["name"] for row in listed("architectures")}, {"gpt2", "llama"})
        self.assertGreaterEqual(len(listed("laws")), 13)
        rows = listed("defects")
        self.assertGreaterEqual(len(rows), 12)
        laws = {row["name"] for row in listed("laws")}
        for row in rows:
            self.assertLessEqual({"name", "host", "laws", "known_steps"}, set(row))
            self.assertLessEqual(set(row["laws"]), laws)

    def test_lists_for_people_name_the_same(self):
        for what in ("backends", "laws", "defects", "architectures"):
            text = run("list", what).stdout
            for row in listed(what):
                self.assertIn(row["name"], text)


class Zoo(CliTest):
    def test_a_row_has_the_keys_of_the_contract_and_a_summary_ends_it(self):
        subject = defect_of("static_cache", "valid_calls_are_answered")
        rows = objects(self.check(0, "zoo", "--defect", subject, "--seeds", "2", "--json").stdout)
        self.assertEqual(len(rows), 2)
        self.assertLessEqual(ZOO, set(rows[0]))
        self.assertEqual(f"{rows[0]['host']}+{rows[0]['defect']}", subject)
        self.assertEqual((rows[0]["found"], rows[0]["seeds"]), (2, 2))
        self.assertEqual(rows[0]["steps"], rows[0]["known_steps"])
        self.assertEqual(rows[1]["event"], "summary")

    def test_a_budget_too_small_to_find_it_misses_the_bar(self):
        rows = objects(
            self.check(
                1, "zoo", "--defect", defect_of("static_cache", "repeat_call"), "--seeds", "1", "--cases", "1", "--json"
            ).stdout
        )
        self.assertGreater(len(rows[0]["missed"]), 0)

    def test_two_planted_at_once_are_both_found(self):
        rows = objects(self.check(0, "zoo", "--pairs", "1", "--seeds", "1", "--json").stdout)
        self.assertTrue(rows[0]["both_found"])


class Export(CliTest):
    MODELS = (
        "gpt2 layers=2 heads=2 width=4 vocab=8 context=16 weights=seed:3",
        "llama layers=2 heads=4 width=8 vocab=8 context=16 kv_heads=2 rope_theta=100 weights=seed:3",
        "llama layers=1 heads=2 width=4 vocab=8 context=16 head_dim=6 tie_word_embeddings=true weights=pattern:ramp",
    )

    def test_an_exported_model_has_both_files_and_exports_alike_again(self):
        for number, model in enumerate(self.MODELS):
            with self.subTest(model=model):
                a, b = f"a{number}", f"b{number}"
                self.check(0, "export", model, a)
                self.check(0, "export", a, b)
                for name in ("config.json", "model.safetensors"):
                    with open(self.path(f"{a}/{name}"), "rb") as first, open(self.path(f"{b}/{name}"), "rb") as second:
                        self.assertEqual(first.read(), second.read(), name)
                self.assertEqual(sorted(os.listdir(self.path(a))), ["config.json", "model.safetensors"])

    def test_an_exported_llama_says_what_it_is(self):
        self.check(0, "export", self.MODELS[1], "m")
        with open(self.path("m/config.json")) as f:
            config = json.load(f)
        expected = {
            "model_type": "llama",
            "architectures": ["LlamaForCausalLM"],
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "head_dim": 2,
            "intermediate_size": 22,
            "rope_theta": 100,
            "tie_word_embeddings": False,
        }
        self.assertEqual({key: config[key] for key in expected}, expected)

    def test_a_finding_on_an_exported_llama_replays_and_the_correct_backend_passes_it(self):
        self.check(0, "export", self.MODELS[1], "m")
        self.check(1, "check", "eager+kv_head_by_modulo", "--model", "m", "--law", "logits_match_reference", "--cases", "60")
        case = self.cases()[0]
        with open(case) as f:
            self.assertIn("model    m llama ", f.read())
        self.check(1, "replay", case)
        self.check(0, "replay", case, "--backend", "eager")


if __name__ == "__main__":
    unittest.main()
