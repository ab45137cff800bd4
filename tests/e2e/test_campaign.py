"""What a campaign promises: findings that do not depend on jobs and shards, cases that replay anywhere, nothing lost."""

import os
import shlex
import signal
import subprocess
import time
import unittest

from support import CACHET, CliTest, defect_of, defects, listed, objects, run

TIMES = ("seconds", "file")


def without_times(rows):
    """Rows of a campaign with what may differ between two runs of it left out."""
    kept = []
    for row in rows:
        row = {k: v for k, v in row.items() if k not in TIMES}
        for campaign in row.get("campaigns", []):
            campaign.pop("seconds")
        kept.append(row)
    return kept


class Verdicts(CliTest):
    def test_correct_backends_hold(self):
        done = self.check(0, "check", "eager", "static_cache", "--cases", "300")
        self.assertIn("every law that was judged holds", done.stdout)
        self.assertEqual(self.cases(), [])

    def test_a_planted_bug_is_found_shrunk_and_its_command_works_when_pasted(self):
        subject = defect_of("static_cache", "repeat_call")
        done = self.check(1, "check", subject, "--cases", "600", "--out", "where 'it' is")
        commands = [line.split(None, 1)[1] for line in done.stdout.splitlines() if line.startswith("  replay")]
        self.assertGreater(len(commands), 0, done.stdout)
        for command in commands:
            again = subprocess.run(["sh", "-c", command], cwd=self.folder, capture_output=True, text=True, timeout=600)
            self.assertEqual(again.returncode, 1, command + again.stdout + again.stderr)
        for word in ("claim", "minimal", "expected", "observed"):
            self.assertIn(word, done.stdout)

    def test_a_law_that_cannot_be_judged_is_nothing_judged(self):
        laws = {row["name"] for row in listed("laws")}
        done = self.run_here("check", "eager", "--cases", "200", "--jsonl", "all.jsonl")
        self.assertEqual(done.returncode, 0, done.stderr)
        judged = set(self.lines("all.jsonl")[-1]["campaigns"][0]["laws"])
        for law in sorted(laws - judged):
            self.check(4, "check", "eager", "--law", law, "--cases", "40")

    def test_law_restricts_generation_and_judging(self):
        self.check(0, "check", "eager", "--law", "crop_forgets", "--cases", "40", "--jsonl", "r.jsonl")
        self.assertEqual(set(self.lines("r.jsonl")[-1]["campaigns"][0]["laws"]), {"crop_forgets"})

    def test_a_given_model_is_the_one_that_is_judged(self):
        subject = defect_of("static_cache", "repeat_call")
        self.check(
            1,
            "check",
            subject,
            "--no-shrink",
            "--cases",
            "200",
            "--model",
            "gpt2 layers=2 heads=1 width=2 vocab=4 context=16 weights=seed:5",
        )
        for case in self.cases():
            with open(case) as f:
                self.assertIn("layers=2 heads=1 width=2 vocab=4 context=16 weights=seed:5", f.read())

    def test_seconds_end_a_campaign(self):
        self.check(0, "check", "eager", "--seconds", "0.2")


class Independence(CliTest):
    """The findings depend on the seed and the number of cases alone."""

    def campaign(self, name, *more, seed="7"):
        done = self.run_here(
            "check", *self.subjects, "--cases", "200", "--seed", seed, "--out", name, "--jsonl", name + ".jsonl", *more
        )
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return without_times(self.lines(name + ".jsonl"))

    def setUp(self):
        super().setUp()
        self.subjects = [defect_of("static_cache", "repeat_call"), "eager"]

    def test_one_job_and_two_find_the_same(self):
        self.assertEqual(self.campaign("one", "--jobs", "1"), self.campaign("two", "--jobs", "2"))

    def test_two_shards_merged_find_what_one_campaign_finds(self):
        whole = self.campaign("whole")
        self.campaign("s0", "--shard", "0/2")
        self.campaign("s1", "--shard", "1/2")
        code = self.run_here("merge", "s0.jsonl", "s1.jsonl", "--jsonl", "merged.jsonl").returncode
        self.assertEqual(code, 1)
        self.assertEqual(without_times(self.lines("merged.jsonl")), whole)

    def test_the_same_seed_gives_the_same_campaign_and_another_another(self):
        self.assertEqual(self.campaign("a"), self.campaign("b"))
        self.assertNotEqual(self.campaign("c", seed="8"), self.campaign("a2"))


class Replay(CliTest):
    def replayed(self, case, *more):
        done = self.run_here("replay", case, "--json", *more)
        verdict = objects(done.stdout)[0]
        return (
            done.returncode,
            verdict["verdict"],
            {k: verdict.get("divergence", {}).get(k) for k in ("kind", "op", "run", "step")},
        )

    def test_every_case_replays_alike_in_a_fresh_process_and_over_the_protocol(self):
        hosts = {}
        for subject, row in sorted(defects().items()):
            hosts.setdefault(row["host"], []).append(subject)
        for subjects in hosts.values():
            for subject in subjects[:3]:
                with self.subTest(subject=subject):
                    folder = subject.replace("+", "-")
                    self.check(1, "check", subject, "--cases", "600", "--out", folder, "--jsonl", folder + ".jsonl")
                    rows = [row for row in self.lines(folder + ".jsonl") if row.get("case") is not None]
                    self.assertEqual(len(rows), len(self.cases(folder)))
                    for row in rows:
                        direct = self.replayed(row["file"])
                        self.assertEqual(direct[:2], (1, row["verdict"]))
                        self.assertEqual(direct[2]["kind"], row["kind"])
                        configuration = row["backend"].removeprefix(subject)  # "" or "/NAME"
                        served = self.replayed(
                            row["file"], "--backend", f"process:{shlex.quote(CACHET)} serve {subject}{configuration}"
                        )
                        self.assertEqual(served, direct)
                        certificate = self.replayed(row["file"].removesuffix(".case") + ".json")
                        self.assertEqual(certificate, direct)

    def test_a_case_on_an_exported_model_fails_over_the_protocol_too(self):
        subject = defect_of("static_cache", "repeat_call")
        self.check(0, "export", "gpt2 layers=1 heads=1 width=4 vocab=8 context=16 weights=seed:1", "m")
        self.check(1, "check", subject, "--no-shrink", "--model", "m", "--law", "repeat_call", "--cases", "100")
        case = self.cases()[0]
        self.assertEqual(self.replayed(case)[0], 1)
        self.assertEqual(self.replayed(case, "--backend", f"process:{shlex.quote(CACHET)} serve {subject}"), self.replayed(case))

    def test_a_correct_backend_passes_the_case_of_a_broken_one(self):
        self.check(1, "check", defect_of("static_cache", "repeat_call"), "--cases", "300")
        for case in self.cases():
            code, verdict, _ = self.replayed(case, "--backend", "static_cache")
            self.assertEqual((code, verdict), (0, "pass"))

    def test_shrink_ends_where_the_campaign_did(self):
        subject = defect_of("static_cache", "repeat_call")
        self.check(1, "check", subject, "--law", "repeat_call", "--cases", "300", "--no-shrink", "--out", "raw")
        self.check(1, "check", subject, "--law", "repeat_call", "--cases", "300", "--out", "min")
        for raw, minimal in zip(self.cases("raw"), self.cases("min")):
            self.check(1, "shrink", raw, "--out", "shrunk.case")
            with open(self.path("shrunk.case")) as a, open(minimal) as b:
                self.assertEqual(a.read(), b.read())

    def test_shrinking_what_holds_says_so(self):
        self.write(
            "good.case",
            "cachet case 1\nlaw crop_forgets\nbackend eager\n"
            "model m gpt2 layers=1 heads=1 width=2 vocab=4 context=8 weights=seed:0\n"
            "run m\nopen a rows=1 capacity=8\nappend a 3 1\ncrop a 1\nappend a 2\n",
        )
        self.assertIn("nothing to shrink", self.check(0, "shrink", "good.case").stdout)


class Serving(CliTest):
    def test_a_served_backend_holds_what_it_holds_in_this_process(self):
        done = self.check(0, "check", f"process:{shlex.quote(CACHET)} serve static_cache", "--cases", "100")
        self.assertIn("serve static_cache", done.stdout)

    def test_an_unknown_configuration_lists_those_there_are(self):
        done = self.check(2, "check", f"process:{shlex.quote(CACHET)} serve eager/nowhere")
        self.assertIn("nowhere", done.stderr)

    def test_end_of_input_ends_the_server(self):
        self.assertEqual(self.run_here("serve", "eager").returncode, 0)


class Interruption(CliTest):
    def test_what_was_found_before_an_interrupt_is_written(self):
        subject = defect_of("static_cache", "repeat_call")
        child = subprocess.Popen(
            [CACHET, "check", subject, "--no-shrink", "--cases", "5000000", "--jsonl", "r.jsonl", "--progress"],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        child.stderr.readline()  # the first chunk is judged
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate(timeout=600)
        self.assertEqual(child.returncode, 130)
        self.assertIn("interrupted", out)
        rows = self.lines("r.jsonl")
        self.assertTrue(rows[-1]["campaigns"][0]["interrupted"])
        self.assertEqual(len([r for r in rows if r.get("case") is not None]), len(self.cases()))
        self.assertGreater(len(self.cases()), 0)


class Disks(CliTest):
    def test_a_folder_that_takes_no_files_is_found_before_anything_runs(self):
        self.write("file", "")
        done = self.check(2, "check", "eager", "--cases", "5000000", "--out", "file")
        self.assertIn("file", done.stderr)

    def test_a_full_disk_under_a_report_is_an_error_and_the_finding_is_still_printed(self):
        subject = defect_of("static_cache", "repeat_call")
        done = self.check(3, "check", subject, "--cases", "200", "--jsonl", "/dev/full")
        self.assertIn("/dev/full", done.stderr)
        self.assertIn("claim", done.stdout)
        self.assertGreater(len(self.cases()), 0)

    def test_a_full_standard_output_is_an_error(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([CACHET, "list", "laws"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=600)
        self.assertEqual(done.returncode, 3)
        self.assertIn("standard output", done.stderr)

    def test_no_half_written_file_is_left(self):
        self.check(
            1, "check", defect_of("static_cache", "repeat_call"), "--cases", "200", "--jsonl", "r.jsonl", "--junit", "r.xml"
        )
        left = [
            f for where in (self.folder, self.path("out")) for f in os.listdir(where) if f.endswith(".tmp") or f.startswith(".")
        ]
        self.assertEqual(left, [])


if __name__ == "__main__":
    unittest.main()
