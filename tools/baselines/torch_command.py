#!/usr/bin/env python3
"""A baseline for `smelt judge`: one PyTorch expression over the inputs of a case.

    torch_command.py [--compile] [--device NAME] EXPRESSION FOLDER

FOLDER has case.json and input-NAME.npy; output-NAME.npy and seconds.txt are written there
(docs/judge.md, "External programs"). The expression sees every input, size and scalar under its
name, groups of sizes as tuples, `torch` and `F` (torch.nn.functional); it gives a tensor, or a
tuple of tensors where the op has several outputs. Nothing but PyTorch is needed.
"""
import argparse
import ast
import ctypes
import json
import os
import struct
import sys
import time

import torch
import torch.nn.functional

# smelt's name: PyTorch's, and the code NumPy has for it in a file
TYPES = {
    "f64": (torch.float64, "<f8"),
    "f32": (torch.float32, "<f4"),
    "f16": (torch.float16, "<f2"),
    "bf16": (torch.bfloat16, "<V2"),
    "f8e4": (getattr(torch, "float8_e4m3fn", None), "|V1"),
    "f8e5": (getattr(torch, "float8_e5m2", None), "|V1"),
    "i64": (torch.int64, "<i8"),
    "i32": (torch.int32, "<i4"),
    "i16": (torch.int16, "<i2"),
    "i8": (torch.int8, "|i1"),
    "u8": (torch.uint8, "|u1"),
    "bool": (torch.bool, "|b1"),
}
NUMPY_MAGIC = b"\x93NUMPY\x01\x00"


def type_of(tensor):
    dtype = TYPES.get(tensor["dtype"], (None, None))[0]
    if dtype is None:
        sys.exit("PyTorch has no type like %s" % tensor["dtype"])
    return dtype


def read_npy(path, tensor):
    with open(path, "rb") as file:
        if file.read(6) != NUMPY_MAGIC[:6]:
            sys.exit("%s is no .npy file" % path)
        major = file.read(2)[0]
        width = 2 if major == 1 else 4
        length = int.from_bytes(file.read(width), "little")
        header = ast.literal_eval(file.read(length).decode("latin1"))
        data = bytearray(file.read())
    shape = header["shape"]
    if header["fortran_order"]:
        sys.exit("%s is in Fortran order" % path)
    if not data:
        return torch.empty(shape, dtype=type_of(tensor))
    return torch.frombuffer(data, dtype=type_of(tensor)).reshape(shape)


def write_npy(path, value, tensor):
    value = value.detach().to(device="cpu", dtype=type_of(tensor)).contiguous()
    shape = "(" + "".join("%d, " % n for n in value.shape) + ")"
    header = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (
        TYPES[tensor["dtype"]][1], shape)
    room = -(len(NUMPY_MAGIC) + 2 + len(header) + 1) % 64
    header = header + " " * room + "\n"
    with open(path, "wb") as file:
        file.write(NUMPY_MAGIC + struct.pack("<H", len(header)) + header.encode())
        if value.numel():
            # without NumPy, which PyTorch does not insist on
            file.write(ctypes.string_at(value.data_ptr(), value.numel() * value.element_size()))


def names_of(case):
    names = {"torch": torch, "F": torch.nn.functional}
    for name, value in {**case["sizes"], **case["scalars"]}.items():
        if isinstance(value, list):
            value = tuple(value)
        elif isinstance(value, str):
            value = float(value)
        names[name] = value
    return names


def time_calls(function, inputs, case, synchronise):
    """Seconds per call; calls too short for the clock are timed several at a time."""
    for _ in range(5):
        function(*inputs)
    synchronise()
    start = time.perf_counter()
    function(*inputs)
    synchronise()
    once = max(time.perf_counter() - start, 1e-7)
    together = max(1, int(1e-4 / once))
    seconds, end = [], time.perf_counter() + case["seconds"]
    while len(seconds) < case["repeat"] and (not seconds or time.perf_counter() < end):
        start = time.perf_counter()
        for _ in range(together):
            function(*inputs)
        synchronise()
        seconds.append((time.perf_counter() - start) / together)
    return seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--compile", action="store_true", help="by torch.compile")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("expression")
    parser.add_argument("folder")
    options = parser.parse_args()
    with open(os.path.join(options.folder, "case.json")) as file:
        case = json.load(file)
    torch.set_num_threads(case["threads"])
    device = torch.device(options.device)
    inputs = [read_npy(os.path.join(options.folder, t["file"]), t).to(device)
              for t in case["inputs"]]
    header = "lambda %s: (%s)" % (", ".join(t["name"] for t in case["inputs"]), options.expression)
    function = eval(compile(header, "<expression>", "eval"), names_of(case))
    if options.compile:
        function = torch.compile(function, dynamic=False)
    synchronise = torch.cuda.synchronize if device.type == "cuda" else lambda: None
    with torch.inference_mode():
        outputs = function(*inputs)
        if isinstance(outputs, torch.Tensor):
            outputs = (outputs,)
        if len(outputs) != len(case["outputs"]):
            sys.exit("the expression gives %d tensors, and the op has %d outputs"
                     % (len(outputs), len(case["outputs"])))
        for value, tensor in zip(outputs, case["outputs"]):
            write_npy(os.path.join(options.folder, tensor["file"]), value, tensor)
        seconds = time_calls(function, inputs, case, synchronise)
    with open(os.path.join(options.folder, "seconds.txt"), "w") as file:
        file.writelines("%.9g\n" % s for s in seconds)


if __name__ == "__main__":
    main()
