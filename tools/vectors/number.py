"""The types of smelt as Python sees them: rounding, decimals, and .npy files."""
import math

import numpy
import torch

# digits of the significand (the hidden one too), least exponent, greatest finite value
FLOATS = {
    "f64": (53, -1022, float.fromhex("0x1.fffffffffffffp+1023")),
    "f32": (24, -126, float.fromhex("0x1.fffffep+127")),
    "f16": (11, -14, 65504.0),
    "bf16": (8, -126, float.fromhex("0x1.fep+127")),
    "f8e4": (4, -6, 448.0),
    "f8e5": (3, -14, 57344.0),
}
INTEGERS = {"i64": (64, True), "i32": (32, True), "u32": (32, False), "i16": (16, True),
            "i8": (8, True), "u8": (8, False)}
RAW = {"bf16": (numpy.uint16, torch.bfloat16), "f8e4": (numpy.uint8, torch.float8_e4m3fn),
       "f8e5": (numpy.uint8, torch.float8_e5m2)}


def is_float(dtype):
    return dtype in FLOATS


def unit(dtype):
    """The distance from 1 to the next number."""
    return 2.0 ** (1 - FLOATS[dtype][0])


def tiny(dtype):
    """The least positive number."""
    digits, low, _ = FLOATS[dtype]
    return math.ldexp(1.0, low - digits + 1)


def spacing(dtype, value):
    digits, low, _ = FLOATS[dtype]
    exponent = math.frexp(value)[1] - 1
    return math.ldexp(1.0, max(exponent, low) - digits + 1)


def round_to(dtype, value):
    """The nearest number of a float type, ties to even; what is too large saturates to inf, or to
    NaN in f8e4, which has no inf."""
    if math.isnan(value) or (math.isinf(value) and dtype != "f8e4"):
        return value
    beyond = math.nan if dtype == "f8e4" else math.copysign(math.inf, value)
    if math.isinf(value):
        return beyond
    if dtype == "f64" or value == 0:
        return value
    step = spacing(dtype, value)
    rounded = round(value / step) * step
    if abs(rounded) > FLOATS[dtype][2]:
        return beyond
    return math.copysign(rounded, value)


def wrap(dtype, value):
    bits, signed = INTEGERS[dtype]
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and value >> (bits - 1) else value


def decimal(dtype, value):
    """The shortest decimal that a reader who rounds to the type takes for this value of it."""
    if math.isnan(value):
        return "nan"
    if math.isinf(value) or value == 0:
        return {math.inf: "inf", -math.inf: "-inf"}.get(value, "-0" if math.copysign(1, value) < 0 else "0")
    if dtype == "f64":
        return repr(value)
    for digits in range(1, 18):
        text = f"{value:.{digits}g}"
        if abs(float(text) - value) <= spacing(dtype, value) / 8:
            return text
    return repr(value)


def result(value):
    """A result as a decimal: 14 digits are plenty for a tolerance of 1e-12."""
    if math.isnan(value):
        return "nan"
    return min(f"{value:.14g}", repr(value), key=len)


def load(path, dtype):
    """The values of a .npy file as float64, int64 or bool."""
    array = numpy.load(path)
    if dtype in RAW:
        view, type_ = RAW[dtype]
        raw = torch.from_numpy(numpy.ascontiguousarray(array).view(view).reshape(array.shape))
        return raw.view(type_).to(torch.float32).to(torch.float64)
    if is_float(dtype):
        return torch.from_numpy(array.astype(numpy.float64))
    return torch.from_numpy(array.astype(bool if dtype == "bool" else numpy.int64))
