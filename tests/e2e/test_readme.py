"""The README's promises: its two commands are CI's, its example of a failing run is what the program prints, its files exist."""

import os
import re
import subprocess
import unittest

from support import CACHET, SOURCES, CliTest


def blocks(language):
    with open(os.path.join(SOURCES, "README.md")) as f:
        return re.findall(rf"^```{language}\n(.*?)^```$", f.read(), re.DOTALL | re.MULTILINE)


class Readme(CliTest):
    def test_its_two_commands_are_the_ones_that_ci_runs(self):
        commands = blocks("sh")[0].split("\n")
        self.assertEqual([c.split("#")[0].strip() for c in commands if c], ["bash .ci/quickstart", "bash .ci/test"])
        with open(os.path.join(SOURCES, ".ci/run")) as f:
            ci = f.read()
        for command in ("bash .ci/quickstart", "bash .ci/test"):
            self.assertIn(f"\n{command}\n", ci)
        for name in ("quickstart", "test", "run"):
            self.assertTrue(os.access(os.path.join(SOURCES, ".ci", name), os.X_OK), name)

    def test_its_commands_run_as_written(self):
        """Every line `$ cachet ...` of a console block, in order, in one folder; the block shows what it prints."""
        bin_folder = os.path.dirname(CACHET)
        environment = {
            **os.environ,
            "PATH": bin_folder + os.pathsep + os.environ["PATH"],
            "PYTHONPATH": os.path.join(SOURCES, "backends/python"),
        }
        os.symlink(os.path.join(SOURCES, "backends"), self.path("backends"))
        ran = 0
        for block in blocks("console"):
            for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                command, _, shown = part.partition("\n")
                done = subprocess.run(
                    ["bash", "-c", command], cwd=self.folder, env=environment, capture_output=True, text=True, timeout=600
                )
                self.assertIn(done.returncode, (0, 1), command + done.stderr)
                ran += 1
                for line in shown.splitlines():
                    if line.strip() in ("", "...") or re.search(r"\d s \(", line):  # times differ
                        continue
                    self.assertIn(line.rstrip(), done.stdout, command)
        self.assertGreaterEqual(ran, 3)

    def test_every_file_it_names_exists(self):
        with open(os.path.join(SOURCES, "README.md")) as f:
            named = re.findall(r"\]\(([^)#:]+)\)", f.read())
        self.assertGreater(len(named), 3)
        for name in named:
            self.assertTrue(os.path.exists(os.path.join(SOURCES, name)), name)


if __name__ == "__main__":
    unittest.main()
