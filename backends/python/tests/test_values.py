"""Lengths keep the type in which the engine gave them; logits keep their bits."""

import math
import unittest

import support
from cachet_adapter import values

try:
    import numpy
except ImportError:
    numpy = None
try:
    import torch
except ImportError:
    torch = None


class LikeAnArray:
    """What the kit knows an array by."""

    dtype, shape, device = "torch.int64", (1,), "meta:0"

    def tolist(self):
        return [3]


class Value(unittest.TestCase):
    def test_python_numbers_keep_their_kind(self):
        self.assertEqual(values.value(3), {"kind": "integer", "value": 3})
        self.assertEqual(values.value(3.0), {"kind": "real", "value": 3.0})
        self.assertEqual(values.value(math.nan), {"kind": "real", "value": "NaN"})
        self.assertEqual(values.value(-math.inf), {"kind": "real", "value": "-Infinity"})
        self.assertEqual(values.value(None), {"kind": "none"})

    def test_a_bool_or_a_text_is_no_number(self):
        self.assertEqual(values.value(True), {"kind": "text", "value": "True"})
        self.assertEqual(values.value("3"), {"kind": "text", "value": "3"})

    def test_an_array_keeps_dtype_shape_and_device(self):
        self.assertEqual(
            values.value(LikeAnArray()), {"kind": "array", "dtype": "int64", "shape": [1], "value": [3], "device": "meta:0"}
        )

    def test_a_list_or_tuple_is_one_value_a_row(self):
        one_a_row = [{"kind": "integer", "value": 2}, {"kind": "real", "value": 2.5}]
        self.assertEqual(values.lengths([2, 2.5]), one_a_row)
        self.assertEqual(values.lengths((2, 2.5)), one_a_row)

    @unittest.skipUnless(numpy, "needs numpy")
    def test_numpy_scalars_and_arrays_are_arrays(self):
        self.assertEqual(
            values.value(numpy.int32(3)), {"kind": "array", "dtype": "int32", "shape": [], "value": 3, "device": "cpu"}
        )
        self.assertEqual(values.value(numpy.float64(3))["dtype"], "float64")
        self.assertEqual(values.value(numpy.array([[3]]))["shape"], [1, 1])

    @unittest.skipUnless(torch, "needs torch")
    def test_torch_tensors_are_arrays(self):
        self.assertEqual(
            values.value(torch.tensor(3)), {"kind": "array", "dtype": "int64", "shape": [], "value": 3, "device": "cpu"}
        )
        self.assertEqual(values.value(torch.tensor([math.inf]))["value"], ["Infinity"])


class Logits(unittest.TestCase):
    def test_lists_arrive_bit_for_bit(self):
        rows = [[[0.1, -0.0, 1e-320], [math.pi, math.inf, 2.5]]]
        array = values.logits(rows)
        self.assertEqual((array["dtype"], array["shape"]), ("float64", [1, 2, 3]))
        self.assertEqual(support.rows_of(array), [[tuple(row) for row in rows[0]]])
        self.assertEqual(math.copysign(1, support.rows_of(array)[0][0][1]), -1)

    def test_a_missing_value_is_null(self):
        self.assertEqual(values.logits([[[None, 1.0, math.nan]]]), {"shape": [1, 1, 3], "values": [None, 1.0, "NaN"]})

    def test_ragged_lists_are_an_error(self):
        for rows in ([[[1.0], [1.0, 2.0]]], [[[1.0]], [[1.0], [2.0]]], [[1.0, [2.0]]]):
            with self.assertRaises(ValueError):
                values.logits(rows)

    @unittest.skipUnless(torch, "needs torch")
    def test_tensors_keep_their_precision(self):
        for dtype, name in ((torch.float32, "float32"), (torch.float64, "float64"), (torch.bfloat16, "float32")):
            x = torch.tensor([[[0.1, 1 / 3]]], dtype=dtype, requires_grad=True)
            array = values.logits(x)
            self.assertEqual(array["dtype"], name)
            self.assertEqual(list(support.rows_of(array)[0][0]), x[0, 0].tolist())

    @unittest.skipUnless(torch, "needs torch")
    def test_a_view_with_strides_is_copied_in_order(self):
        x = torch.arange(12, dtype=torch.float32).reshape(1, 4, 3).transpose(1, 2)
        self.assertEqual(support.rows_of(values.logits(x)), [[tuple(row) for row in x[0].tolist()]])


class Fingerprint(unittest.TestCase):
    def test_it_changes_with_the_contents(self):
        x = [[1.0, 2.0]]
        before = values.fingerprint(x)
        self.assertEqual(values.fingerprint([[1.0, 2.0]]), before)
        x[0][1] = 3.0
        self.assertNotEqual(values.fingerprint(x), before)

    @unittest.skipUnless(torch, "needs torch")
    def test_it_sees_a_tensor_overwritten_through_another_view(self):
        x = torch.zeros(4)
        before = values.fingerprint(x[2:])
        x[3] = 1
        self.assertNotEqual(values.fingerprint(x[2:]), before)


if __name__ == "__main__":
    unittest.main()
