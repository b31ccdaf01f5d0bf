#!/usr/bin/env python3
"""A baseline for `smelt judge`: one PyTorch expression over the inputs of a case.

    torch_command.py [--compile] [--device NAME] [--tf32] EXPRESSION FOLDER
    torch_command.py [--device NAME] [--tf32] --serve

FOLDER has case.json and input-NAME.npy; output-NAME.npy and seconds.txt are written there
(docs/judge.md, "External programs"). The expression sees every input, size and scalar under its
name, groups of sizes as tuples, `torch` and `F` (torch.nn.functional); it gives a tensor, or a
tuple of tensors where the op has several outputs. Nothing but PyTorch is needed. float32 is float32:
convolutions, which PyTorch rounds to TF32 on a GPU unless told otherwise, do so only with --tf32.

With --serve it stays: every line it reads is a JSON object with folder, expression and compile, and
is answered by a line "smelt: done" or "smelt: what went wrong". What was set up for the last folders is
kept. A line with a case instead of a folder is not answered: what it asks for is compiled, to be ready when it is wanted. Calls on a GPU are timed by its own clock, one by one, over cold caches where the case says so.
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
BATCH_SECONDS = 3e-4  # as in src/judge/contest.c
FLUSH_BYTES = 256 << 20  # written to empty the caches
KEPT_CASES = 2  # eager and compiled take turns


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


def make_sequence(tensor, blocks, device):
    """An input made on the device: a block again and again, with some pages of their own."""
    parts = tensor["sequence"]
    size, page = parts["block_bytes"], parts["page_bytes"]
    block = blocks[parts["block"]:parts["block"] + size].to(device)
    whole = torch.empty(parts["bytes"], dtype=torch.uint8, device=device)
    for start in range(0, parts["bytes"], size):
        end = min(start + size, parts["bytes"])
        whole[start:end] = block[:end - start]
    count = len(parts["places"])
    pages = blocks[parts["pages"]:parts["pages"] + count * page].to(device) if count else None
    for number, place in enumerate(parts["places"]):
        end = min(place + page, parts["bytes"])
        if place < end:
            whole[place:end] = pages[number * page:number * page + end - place]
    return whole.view(type_of(tensor)).reshape(tensor["shape"])


def read_inputs(folder, case, device):
    if any("sequence" in t for t in case["inputs"]):
        with open(os.path.join(folder, "blocks.bin"), "rb") as file:
            blocks = torch.frombuffer(bytearray(file.read()), dtype=torch.uint8)
        return [make_sequence(t, blocks, device) for t in case["inputs"]]
    return [read_npy(os.path.join(folder, t["file"]), t).to(device) for t in case["inputs"]]


def write_outputs(folder, case, outputs):
    if isinstance(outputs, torch.Tensor):
        outputs = (outputs,)
    if len(outputs) != len(case["outputs"]):
        raise ValueError("the expression gives %d tensors, and the op has %d outputs"
                         % (len(outputs), len(case["outputs"])))
    for value, tensor in zip(outputs, case["outputs"]):
        if "elements" in tensor:
            if list(value.shape) != tensor["shape"]:
                raise ValueError("output %s has the shape %s" % (tensor["name"], tuple(value.shape)))
            places = torch.tensor(tensor["elements"], dtype=torch.int64, device=value.device)
            value = value.reshape(-1)[places]
        write_npy(os.path.join(folder, tensor["file"]), value, tensor)


def write_seconds(folder, seconds):
    with open(os.path.join(folder, "seconds.txt"), "w") as file:
        file.writelines("%.9g\n" % s for s in seconds)


def make_function(case, expression, compiled):
    header = "lambda %s: (%s)" % (", ".join(t["name"] for t in case["inputs"]), expression)
    function = eval(compile(header, "<expression>", "eval"), names_of(case))
    return torch.compile(function, dynamic=False) if compiled else function


def time_on_gpu(function, inputs, case, flush):
    """Seconds per call by the events of the GPU; launches go ahead while it flushes its cache."""
    for _ in range(2):
        function(*inputs)
    torch.cuda.synchronize()
    seconds, end = [], time.perf_counter() + min(case["seconds"], 0.25)
    while len(seconds) < case["repeat"] and (len(seconds) < 5 or time.perf_counter() < end):
        if case["cold"]:
            flush.zero_()
        before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        before.record()
        function(*inputs)
        after.record()
        torch.cuda.synchronize()
        seconds.append(1e-3 * before.elapsed_time(after))
    return seconds


def prepare(functions, asked, device):
    """Compiles ahead, on tensors of the right shapes, while smelt checks the kernel."""
    case = asked["case"]
    key = function_key(asked, case)
    functions.clear()
    functions[key] = make_function(case, asked["expression"], True)
    inputs = [torch.zeros(t["shape"], dtype=type_of(t), device=device) for t in case["inputs"]]
    functions[key](*inputs)


def function_key(asked, case):
    shapes = [(t["name"], t["dtype"], t["shape"]) for t in case["inputs"]]
    return json.dumps([asked["expression"], case["sizes"], case["scalars"], shapes])


def set_up(functions, asked, device):
    """The case, its inputs on the device, and the function, compiled ahead or now."""
    folder = asked["folder"]
    with open(os.path.join(folder, "case.json")) as file:
        case = json.load(file)
    torch.set_num_threads(case["threads"])
    function = functions.get(function_key(asked, case)) if asked["compile"] else None
    if function is None:
        function = make_function(case, asked["expression"], asked["compile"])
    return case, read_inputs(folder, case, device), function


def serve(device):
    kept, functions = {}, {}
    flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device=device)
    on_gpu = device.type == "cuda"
    for line in sys.stdin:
        asked = json.loads(line)
        answered = "case" not in asked
        try:
            with torch.inference_mode():
                folder = asked.get("folder")
                if not answered:
                    kept.clear()  # a new task begins
                    torch.compiler.reset()
                    prepare(functions, asked, device)
                    if on_gpu:
                        torch.cuda.synchronize()
                elif folder is not None:
                    key = (folder, asked["compile"])
                    if key not in kept:
                        while len(kept) >= KEPT_CASES:
                            del kept[next(iter(kept))]
                        if on_gpu:
                            torch.cuda.empty_cache()
                        kept[key] = set_up(functions, asked, device)
                    case, inputs, function = kept[key]
                    write_outputs(folder, case, function(*inputs))
                    seconds = (time_on_gpu(function, inputs, case, flush) if on_gpu
                               else time_calls(function, inputs, case, lambda: None))
                    write_seconds(folder, seconds)
            if answered:
                print("smelt: done", flush=True)
        except Exception as problem:
            kept.clear()
            functions.clear()
            said = str(problem).strip().split("\n")
            if answered:
                print("smelt: %s: %s" % (type(problem).__name__, said[0][:300]), flush=True)


def time_calls(function, inputs, case, synchronise):
    """Seconds per call, by batches, under the conditions smelt times kernels in: every call of a
    batch has tensors of its own, which are written anew before it, or flushed."""
    slots = [[tensor.clone() for tensor in inputs] for _ in range(case["slots"])]
    other = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device=inputs[0].device) \
        if case["cold"] and inputs else None

    def time_batch(calls):
        for slot in slots[:calls]:
            for tensor, values in zip(slot, inputs):
                tensor.copy_(values)
        if other is not None:
            other.fill_(1)
        synchronise()
        start = time.perf_counter()
        for slot in slots[:calls]:
            function(*slot)
        synchronise()
        return (time.perf_counter() - start) / calls

    for _ in range(5):
        once = time_batch(1)
    calls = min(max(1, int(BATCH_SECONDS / max(once, 1e-7))), len(slots))
    seconds, end = [], time.perf_counter() + case["seconds"]
    while len(seconds) < case["repeat"] and (not seconds or time.perf_counter() < end):
        seconds.append(time_batch(calls))
    return seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--compile", action="store_true", help="by torch.compile")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--tf32", action="store_true", help="let a GPU round float32 factors to TF32")
    parser.add_argument("--serve", action="store_true", help="stay, and answer lines")
    parser.add_argument("expression", nargs="?")
    parser.add_argument("folder", nargs="?")
    options = parser.parse_args()
    device = torch.device(options.device)
    torch.backends.cudnn.allow_tf32 = options.tf32
    torch.backends.cuda.matmul.allow_tf32 = options.tf32
    if options.serve:
        return serve(device)
    if options.folder is None:
        parser.error("an expression and a folder are needed")
    with open(os.path.join(options.folder, "case.json")) as file:
        case = json.load(file)
    torch.set_num_threads(case["threads"])
    inputs = read_inputs(options.folder, case, device)
    function = make_function(case, options.expression, options.compile)
    synchronise = torch.cuda.synchronize if device.type == "cuda" else lambda: None
    with torch.inference_mode():
        try:
            write_outputs(options.folder, case, function(*inputs))
        except ValueError as problem:
            sys.exit(str(problem))
        seconds = time_calls(function, inputs, case, synchronise)
    write_seconds(options.folder, seconds)


if __name__ == "__main__":
    main()
