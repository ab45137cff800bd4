"""What the tests of the command line share: running the real binary as a user does, in a folder of its own."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest

CACHET = os.environ["CACHET"]
SOURCES = os.environ["CACHET_SOURCES"]
# Sanitised builds are an order of magnitude slower; deadlines only keep a hang from hanging the suite.
DEADLINE = 600


def run(*args, cwd=None, **more):
    """The finished process, with text output."""
    return subprocess.run(
        [CACHET, *map(str, args)],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        stdin=more.pop("stdin", subprocess.DEVNULL),
        **more,
    )


def objects(text):
    """The JSON objects of a text, one a line."""
    return [json.loads(line) for line in text.splitlines()]


def listed(what):
    return objects(run("list", what, "--json").stdout)


def defects():
    """HOST+NAME -> its row of `list defects`."""
    return {f"{row['host']}+{row['name']}": row for row in listed("defects")}


def defect_of(host, law):
    """Some planted bug of that host which that law must catch; the founding report's where it is one of them."""
    for subject, row in sorted(defects().items(), key=lambda item: item[1]["name"] != "stale_length"):
        if row["host"] == host and law in row["laws"]:
            return subject
    raise AssertionError(f"no defect of {host} is caught by {law}")


class CliTest(unittest.TestCase):
    """Each test works in an empty folder."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="cachet-e2e-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        mode = "wb" if isinstance(text, bytes) else "w"
        with open(self.path(name), mode) as f:
            f.write(text)
        return self.path(name)

    def run_here(self, *args, **more):
        return run(*args, cwd=self.folder, **more)

    def check(self, code, *args, **more):
        """Runs and demands an exit code; shows everything when it is another."""
        done = self.run_here(*args, **more)
        self.assertEqual(done.returncode, code, f"{args}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
        return done

    def lines(self, name):
        with open(self.path(name)) as f:
            return objects(f.read())

    def cases(self, folder="out"):
        where = self.path(folder)
        return sorted(os.path.join(where, f) for f in os.listdir(where) if f.endswith(".case")) if os.path.isdir(where) else []
