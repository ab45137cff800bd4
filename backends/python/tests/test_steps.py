"""A step is checked before the engine sees it: what is malformed is invalid, what is unknown or not offered is unsupported."""

import unittest

import support  # noqa: F401
from cachet_adapter import Refused, steps

ALL = {steps.capability_of(op) for op in steps.FIELDS} | {
    "batch",
    "all_rows",
    "peek",
    *steps.NEEDS_CAPABILITY.values(),
    "sampling_noise",
}
# A well-formed example of each op, with every field that it may have.
LOOP = {
    "new": 1,
    "stop": [1],
    "min_new": 0,
    "sampling": {"seed": 1, "gumbel": {}},
    "processors": [{"name": "forced", "ids": [1]}],
    "beams": {"width": 2},
    "draft": {"proposals": [[1]]},
}
WHOLE = {
    "open": {"session": "a", "rows": 2, "capacity": 8},
    "append": {"session": "a", "tokens": [[1], [2]], "pad": [0, 1], "want": "all", "keep": False},
    "generate": {"session": "a", "tokens": [[1]], **LOOP},
    "complete": {"tokens": [[1]], "capacity": 4, **LOOP},
    "crop": {"session": "a", "length": [1]},
    "remove": {"session": "a", "begin": 0, "end": 1},
    "shift": {"session": "a", "begin": 0, "end": 1, "delta": -1},
    "fork": {"session": "a", "into": "b"},
    "reorder": {"session": "a", "rows": [0, 0]},
    "save": {"session": "a", "blob": "x"},
    "restore": {"session": "a", "blob": "x"},
    "snapshot": {"session": "a", "mark": "x"},
    "rollback": {"session": "a", "mark": "x"},
    "length": {"session": "a"},
    "reset": {"session": "a"},
    "release": {"session": "a"},
    "close": {"session": "a"},
    "poison": {"session": "a"},
    "recompile": {},
}
OPTIONAL = {"pad", "want", "keep", "stop", "min_new", "sampling", "processors", "beams", "draft", "capacity", "end"}


def refusal(step, capabilities=frozenset(ALL), declarations={"pad_side": "left"}):  # noqa: B006
    """The kind in which the step is refused; None if it is not."""
    try:
        steps.check(step, capabilities, declarations)
    except Refused as refused:
        return refused.kind
    return None


class Check(unittest.TestCase):
    def test_every_op_is_taken_with_all_its_fields(self):
        self.assertEqual(set(WHOLE), set(steps.FIELDS))
        for op, fields in WHOLE.items():
            self.assertIsNone(refusal({"op": op, **fields}), op)

    def test_an_unknown_field_is_unsupported(self):
        for op, fields in WHOLE.items():
            self.assertEqual(refusal({"op": op, **fields, "no_such_field": 1}), "unsupported", op)

    def test_a_missing_field_is_invalid(self):
        for op, fields in WHOLE.items():
            for name in fields:
                optional = name in OPTIONAL and (op, name) != ("open", "capacity") or (op, name) == ("generate", "tokens")
                step = {"op": op, **{n: x for n, x in fields.items() if n != name}}
                self.assertEqual(refusal(step), None if optional else "invalid", (op, name))

    def test_a_field_of_the_wrong_type_is_invalid(self):
        for op, fields in WHOLE.items():
            for name in fields:
                for wrong in (
                    None,
                    1.5,
                    True if name != "keep" else 1,
                    "\0" if name not in ("session", "into", "blob", "mark") else 1,
                ):
                    self.assertEqual(refusal({"op": op, **fields, name: wrong}), "invalid", (op, name, wrong))

    def test_counts_are_at_least_one(self):
        for op, name in (
            ("open", "rows"),
            ("open", "capacity"),
            ("generate", "new"),
            ("complete", "new"),
            ("complete", "capacity"),
        ):
            self.assertEqual(refusal({"op": op, **WHOLE[op], name: 0}), "invalid", (op, name))

    def test_bad_contents_go_through_to_the_engine(self):
        for op, changes in (
            ("append", {"tokens": [[-1], [2**70]]}),
            ("append", {"tokens": [[], []]}),
            ("append", {"tokens": []}),
            ("crop", {"length": [-3, 9]}),
            ("reorder", {"rows": []}),
            ("complete", {"tokens": [[]]}),
        ):
            self.assertIsNone(refusal({"op": op, **WHOLE[op], **changes}), (op, changes))

    def test_what_is_no_step_is_invalid_and_an_unknown_op_unsupported(self):
        for step in (None, 5, [], "append", {}, {"op": 5}, {"op": None, "session": "a"}):
            self.assertEqual(refusal(step), "invalid", step)
        self.assertEqual(refusal({"op": "no_such_op"}), "unsupported")
        self.assertEqual(refusal({"op": "check", "session": "a"}), "unsupported")

    def test_what_is_not_offered_is_unsupported(self):
        for op, fields in WHOLE.items():
            self.assertEqual(refusal({"op": op, **fields}, frozenset(ALL - {steps.capability_of(op)})), "unsupported", op)
        for op, field, capability in (
            ("append", "want", "all_rows"),
            ("append", "keep", "peek"),
            ("open", "rows", None),
            ("complete", "sampling", "sampling"),
            ("complete", "beams", "beams"),
            ("complete", "sampling", "sampling_noise"),
            ("generate", "draft", "draft"),
        ):
            missing = ALL - {capability or "batch"}
            self.assertEqual(refusal({"op": op, **WHOLE[op]}, frozenset(missing)), "unsupported", (op, field))

    def test_pads_and_ragged_rows_need_a_pad_side(self):
        self.assertEqual(refusal({"op": "append", "session": "a", "tokens": [[1]], "pad": [1]}, declarations={}), "unsupported")
        self.assertEqual(refusal({"op": "append", "session": "a", "tokens": [[1], [2, 3]]}, declarations={}), "unsupported")
        self.assertIsNone(refusal({"op": "append", "session": "a", "tokens": [[1], [2, 3]]}))


if __name__ == "__main__":
    unittest.main()
