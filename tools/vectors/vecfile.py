"""Vector files: README.md has the format."""
import math
import re
from dataclasses import dataclass, field

import number


@dataclass
class Array:
    name: str
    dtype: str
    shape: list
    values: list  # floats, ints or bools, row by row


@dataclass
class Run:
    settings: str
    rtol: float
    atol: float
    inputs: list = field(default_factory=list)
    outputs: list = field(default_factory=list)


def write_array(word, array):
    if not number.is_float(array.dtype):
        values = [str(int(value)) for value in array.values]
    elif word == "in":
        values = [number.decimal(array.dtype, value) for value in array.values]
    else:
        values = [number.result(value) for value in array.values]
    shape = ", ".join(map(str, array.shape))
    return f"{word} {array.name} {array.dtype} [{shape}]:" + "".join(" " + v for v in values) + "\n"


def write(path, header, runs):
    with open(path, "w", encoding="ascii") as file:
        for line in header:
            file.write(f"# {line}\n")
        for run in runs:
            file.write(f"\nrun {run.settings}\n")
            file.write(f"tolerance {run.rtol:.6g} {run.atol:.6g}\n")
            for array in run.inputs:
                file.write(write_array("in", array))
            for array in run.outputs:
                file.write(write_array("out", array))


def read_array(line):
    word, name, dtype, shape, values = re.fullmatch(
        r"(in|out) (\S+) (\w+) \[([\d, ]*)\]:(.*)", line).groups()
    values = [float(v) if number.is_float(dtype) else int(v) for v in values.split()]
    if word == "in" and number.is_float(dtype):
        values = [number.round_to(dtype, value) for value in values]
    return word, Array(name, dtype, [int(d) for d in shape.split(",") if d.strip()], values)


def read(path):
    runs = []
    with open(path, encoding="ascii") as file:
        for line in file.read().splitlines():
            if not line or line.startswith("#"):
                continue
            if line.startswith("run"):
                runs.append(Run(line[4:], 0, 0))
            elif line.startswith("tolerance"):
                runs[-1].rtol, runs[-1].atol = map(float, line.split()[1:])
            else:
                word, array = read_array(line)
                (runs[-1].inputs if word == "in" else runs[-1].outputs).append(array)
    return runs


def limits(run, array):
    """How far each element may be off; tests/unit/lib_vectors.c has the same rule."""
    finite = [abs(v) for v in array.values if math.isfinite(v)]
    scale = max(finite, default=0)
    if run.rtol < 1e-6:
        scale = min(scale, 1)
    return [run.rtol * max(abs(v), scale) + run.atol if math.isfinite(v) else 0
            for v in array.values]


def same_float(a, b, limit):
    if math.isnan(a) or math.isnan(b):
        return math.isnan(a) and math.isnan(b)
    return a == b or abs(a - b) <= limit


def difference(old, new):
    """In words, what differs between two lists of runs, or None."""
    if [run.settings for run in old] != [run.settings for run in new]:
        return "other runs"
    for was, now in zip(old, new):
        if (was.rtol, was.atol) != (float(f"{now.rtol:.6g}"), float(f"{now.atol:.6g}")):
            return f"run {now.settings}: another tolerance"
        pairs = list(zip(was.inputs + was.outputs, now.inputs + now.outputs))
        for a, b in pairs:
            if (a.name, a.dtype, a.shape) != (b.name, b.dtype, b.shape):
                return f"run {now.settings}: {b.name} has another type or shape"
        for a, b in zip(was.inputs, now.inputs):
            texts = [write_array("in", array) for array in (a, b)]
            if texts[0] != texts[1]:
                return f"run {now.settings}: {b.name} has other values"
        for a, b in zip(was.outputs, now.outputs):
            if number.is_float(b.dtype):
                same = all(map(same_float, a.values, b.values, limits(now, b)))
            else:
                same = a.values == [int(value) for value in b.values]
            if not same:
                return f"run {now.settings}: {b.name} has other values"
    return None
