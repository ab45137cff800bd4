"""The rules of the house that no compiler knows: layers, opening comments, widths, names that must agree."""

import os
import re
import subprocess
import unittest

SOURCES = os.environ["CACHET_SOURCES"]
WIDTH = 130
# Who may include whom. The command line knows no concrete backend or law; only main.cpp and the tests see everything.
MAY_INCLUDE = {
    "reference": {"reference"},
    "harness": {"reference", "harness"},
    "properties": {"reference", "harness", "properties"},
    "backends": {"reference", "harness", "backends"},
    "tests": {"reference", "harness", "properties", "backends", "tests"},
}
SEES_EVERYTHING = {"harness/main.cpp"}
PLACES = ("/work/", "/tmp/", "/root/", "/home/")
# Where a temporary folder is a fact of the program and not of a machine.
MAY_NAME_PLACES = {"tests/tidy/tidy_test.py"}


def tracked(*suffixes):
    """Tracked files and new ones that git does not ignore."""
    names = subprocess.run(
        ["git", "-C", SOURCES, "ls-files", "--cached", "--others", "--exclude-standard"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\n")
    return [n for n in names if n and (not suffixes or n.endswith(suffixes)) and os.path.isfile(os.path.join(SOURCES, n))]


def text(name):
    with open(os.path.join(SOURCES, name), encoding="utf-8", errors="replace") as f:
        return f.read()


def entries(folder):
    """The names in that folder's lists that stand for files of their own: the last arguments of cachet_entries()."""
    content = re.sub(r"#.*", "", text(f"{folder}/CMakeLists.txt"))
    variables = {name: words.split() for name, words in re.findall(r"set\((\w*ENTRIES)\s+([\w\s]+?)\)", content)}
    found = set()
    for arguments in re.findall(r"cachet_entries\(([^)]*)\)", content):
        for word in arguments.split()[6:]:
            found.update(variables[word[2:-1]] if word.startswith("${") else [word])
    return found


def resolved(name, included):
    """The path from the root of what a file includes: tests may name a neighbour without its folder."""
    beside = os.path.join(os.path.dirname(name), included)
    return beside if name.startswith("tests/") and os.path.isfile(os.path.join(SOURCES, beside)) else included


def included_by(name):
    return [resolved(name, i) for i in re.findall(r'^#include "([^"]+)"', text(name), re.MULTILINE)]


class Layers(unittest.TestCase):
    def test_includes_point_only_downward(self):
        for name in tracked(".h", ".cpp"):
            layer = name.split("/")[0]
            if layer not in MAY_INCLUDE or name in SEES_EVERYTHING:
                continue
            for included in included_by(name):
                self.assertIn(included.split("/")[0], MAY_INCLUDE[layer], f"{name} includes {included}")

    def test_quoted_includes_name_files_from_the_root(self):
        for name in tracked(".h", ".cpp"):
            for included in included_by(name):
                self.assertTrue(os.path.isfile(os.path.join(SOURCES, included)), f"{name} includes {included}")

    def test_no_layer_is_left_out(self):
        folders = {n.split("/")[0] for n in tracked(".h", ".cpp")}
        self.assertLessEqual(folders, set(MAY_INCLUDE))


class Files(unittest.TestCase):
    def test_every_source_opens_with_a_comment(self):
        for name in tracked(".h", ".cpp"):
            self.assertTrue(text(name).startswith("// "), name)
        for name in tracked(".py"):
            if not name.endswith("__init__.py") or text(name):
                self.assertRegex(text(name), r'\A(#!.*\n)?("""|# )', name)
        for name in tracked("CMakeLists.txt", ".cmake"):
            if name != "CMakeLists.txt" and text(name):
                self.assertRegex(text(name), r"\A(# |add_library|cachet_tests)", name)

    def test_headers_are_included_once(self):
        for name in tracked(".h"):
            self.assertEqual(text(name).count("#pragma once"), 1, name)

    def test_no_line_is_wider_than_the_page(self):
        wide = [
            f"{name}:{number}"
            for name in tracked(".h", ".cpp", ".py", ".cmake", "CMakeLists.txt")
            for number, line in enumerate(text(name).split("\n"), 1)
            if len(line) > WIDTH
        ]
        self.assertEqual(wide, [])

    def test_no_tab_or_trailing_blank(self):
        for name in tracked(".h", ".cpp", ".py", ".md", ".cmake", "CMakeLists.txt"):
            for number, line in enumerate(text(name).split("\n"), 1):
                self.assertNotRegex(line, r"\t|[ \r]$", f"{name}:{number}")

    def test_no_path_of_one_machine(self):
        for name in tracked(".h", ".cpp", ".py", ".md", ".cmake", ".txt", ".sh", ".case", ".json", "quickstart", "test", "run"):
            if name in MAY_NAME_PLACES:
                continue
            for number, line in enumerate(text(name).split("\n"), 1):
                for place in PLACES:
                    self.assertNotIn(place, line, f"{name}:{number}")

    def test_nothing_is_left_to_do(self):
        for name in tracked(".h", ".cpp", ".py"):
            if name not in MAY_NAME_PLACES:
                self.assertNotRegex(text(name), r"\b(TODO|FIXME|XXX)\b", name)


class Names(unittest.TestCase):
    def test_every_entry_has_its_file_and_every_file_its_entry(self):
        for folder, where in (
            ("reference", "reference/architectures"),
            ("properties", "properties"),
            ("backends", "backends/defects"),
        ):
            names = entries(folder)
            self.assertGreater(len(names), 0, folder)
            files = {os.path.basename(n)[:-4] for n in tracked(".cpp") if os.path.dirname(n) == where}
            sources = text(f"{folder}/CMakeLists.txt")
            for name in names:
                places = {where, folder}
                self.assertTrue(
                    any(os.path.isfile(os.path.join(SOURCES, p, name + ".cpp")) for p in places), f"{name} of {folder}"
                )
            for name in files - names:
                self.assertIn(name + ".cpp", sources, f"{where}/{name}.cpp is compiled nowhere")

    def test_every_law_and_every_planted_bug_is_named_in_a_test(self):
        # The tables test.* in CMake name each of them by itself; beside that each law has a test of its own.
        tests = "\n".join(text(n) for n in tracked(".cpp", ".py", ".txt") if n.startswith("tests/"))
        for law in entries("properties"):
            self.assertIn(law, tests)
        self.assertIn("law.", text("tests/CMakeLists.txt"))
        self.assertIn("defect.", text("tests/CMakeLists.txt"))

    def test_every_test_file_is_compiled(self):
        for name in tracked("_test.cpp"):
            folder, base = os.path.split(name)
            self.assertIn(base, text(folder + "/CMakeLists.txt"), name)

    def test_laws_never_include_backends_nor_backends_laws(self):
        for name in tracked(".h", ".cpp"):
            if name.startswith("properties/"):
                self.assertNotIn('#include "backends/', text(name), name)
            if name.startswith("backends/"):
                self.assertNotIn('#include "properties/', text(name), name)


if __name__ == "__main__":
    unittest.main()
