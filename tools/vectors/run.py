"""Writes tests/vectors/*.vec: small inputs drawn by smelt, results computed by PyTorch.

    tools/vectors/run softmax mm     these
    tools/vectors/run --all          every operator of the tables
    tools/vectors/run --check --all  compare with the files that are there, write nothing
"""
import argparse
import os
import sys
import tempfile
import zlib
from types import SimpleNamespace

import torch

import number
import plan
import vecfile
import vectors
from plan import Fault

FOLDER = os.path.join(plan.ROOT, "tests", "vectors")
LARGEST_FILE = 40_000


# ---- one run ----

def draw(entry, known, case, types, seed, folder):
    """Draws inputs; the description smelt gives of the case."""
    for name in entry.draws:
        if name not in [input["name"] for input in known["inputs"]]:
            raise Fault(f"draws: there is no input {name}")
    path = os.path.join(folder, "drawn.op")
    lines = plan.task_lines(entry, known, types) + [plan.case_line(case)]
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"task drawn of {entry.name}\n" + "".join(f"    {line}\n" for line in lines))
    answer = plan.smelt("ref", path, "--seed", str(seed), "--out", folder, "--oracle",
                        "interpreter", "--json")
    return answer["cases"][0]


def put_special(values, tensor, special):
    """Spread evenly, so that different rows get different values."""
    dtype = tensor["type"]
    named = {vectors.LARGE: number.FLOATS[dtype][2], vectors.TINY: number.tiny(dtype)}
    flat = values.reshape(-1)
    count = min(len(special), flat.numel())
    for i in range(count):
        value = number.round_to(dtype, named.get(special[i], special[i]))
        flat[i * (flat.numel() // count)] = value
    return flat.reshape(values.shape)


def load_inputs(case, folder, special):
    inputs = []
    for tensor in case["tensors"]:
        if tensor["role"] != "input":
            continue
        values = number.load(os.path.join(folder, tensor["name"] + ".npy"), tensor["type"])
        wanted = special.get(tensor["name"].split(".")[0])
        if wanted and number.is_float(tensor["type"]):
            values = put_special(values, tensor, wanted)
        inputs.append((tensor, values))
    return inputs


def arguments_of(case, inputs, types):
    sizes = {name: float(value) if value in ("inf", "-inf", "nan") else value
             for name, value in case["sizes"].items()}
    t = SimpleNamespace(**sizes)
    t.types = types
    for tensor, values in inputs:
        name, dot, _ = tensor["name"].partition(".")
        if dot:
            setattr(t, name, getattr(t, name, []) + [values.clone()])
        else:
            setattr(t, name, values.clone())
    return t


def values_of(name, dtype, values):
    """What PyTorch returned, as the values of an output."""
    if not isinstance(values, torch.Tensor):
        values = torch.as_tensor(values)
    values = values.detach()
    if number.is_float(dtype):
        return values.to(torch.float64).reshape(-1).tolist()
    if values.dtype.is_floating_point:
        raise Fault(f"output {name} is {dtype}, and PyTorch's result is {values.dtype}")
    if dtype == "bool":
        return [value != 0 for value in values.reshape(-1).tolist()]
    return [number.wrap(dtype, int(value)) for value in values.reshape(-1).tolist()]


def collect_outputs(case, results):
    outputs = [tensor for tensor in case["tensors"] if tensor["role"] == "output"]
    if not isinstance(results, (tuple, list)):
        results = (results,)
    if len(results) != len(outputs):
        raise Fault(f"{len(results)} results for {len(outputs)} outputs")
    arrays = []
    for tensor, result in zip(outputs, results):
        shape = list(torch.as_tensor(result).shape)
        if shape != tensor["shape"]:
            raise Fault(f"output {tensor['name']} has the shape {tensor['shape']}, PyTorch's "
                        f"result {shape}")
        arrays.append(vecfile.Array(tensor["name"], tensor["type"], shape,
                                    values_of(tensor["name"], tensor["type"], result)))
    return arrays


def tolerance(entry, case):
    """Relative and absolute."""
    floats = [tensor["type"] for tensor in case["tensors"] if number.is_float(tensor["type"])]
    if entry.rounds and floats:
        coarsest = max(floats, key=number.unit)
        return max(4 * number.unit(coarsest), 1e-12), 4 * number.tiny(coarsest)
    return 1e-12 if entry.rtol is None else entry.rtol, 0.0


def make_run(entry, known, case, types, special, seed):
    with tempfile.TemporaryDirectory() as folder:
        drawn = draw(entry, known, case, types, seed, folder)
        inputs = load_inputs(drawn, folder, entry.special if special else {})
    run = vecfile.Run(plan.settings(case, types), *tolerance(entry, drawn))
    for tensor, values in inputs:
        run.inputs.append(vecfile.Array(tensor["name"], tensor["type"], tensor["shape"],
                                        values.reshape(-1).tolist()))
    run.outputs = collect_outputs(drawn, entry.function(arguments_of(drawn, inputs, types)))
    return run


# ---- one operator ----

def make_runs(entry, known):
    runs = []
    for i, (case, types, special) in enumerate(plan.plan_runs(entry, known)):
        seed = zlib.crc32(f"{entry.name} {i}".encode())
        try:
            runs.append(make_run(entry, known, case, types, special, seed))
        except Exception as error:
            where = f"run {plan.settings(case, types)}" + (" with special values" * special)
            kind = "" if isinstance(error, Fault) else f"{type(error).__name__}: "
            raise Fault(f"{where}: {kind}{error}") from error
    return runs


def write_runs(entry, runs, path):
    header = [f"Vectors of {entry.name}: inputs drawn by smelt, results computed in double "
              f"precision by PyTorch", f"{torch.__version__.split('+')[0]} (tools/vectors/"
              f"{entry.table}.py). Written by tools/vectors/run, whose README has the format."]
    vecfile.write(path, header, runs)
    if os.path.getsize(path) > LARGEST_FILE:
        raise Fault(f"{os.path.getsize(path)} bytes are too many (at most {LARGEST_FILE}): "
                    "take smaller shapes")


def do_op(name, known, check):
    path = os.path.join(FOLDER, name + ".vec")
    if name not in vectors.OPS:
        raise Fault("it is in no table")
    if name not in known:
        raise Fault("lib/ has no such op")
    unknown = set(vectors.OPS[name].special) - {input["name"] for input in known[name]["inputs"]}
    if unknown:
        raise Fault(f"special: there is no input {', '.join(unknown)}")
    runs = make_runs(vectors.OPS[name], known[name])
    if not check:
        write_runs(vectors.OPS[name], runs, path)
    elif not os.path.exists(path):
        raise Fault("there is no vector file: run without --check")
    elif difference := vecfile.difference(vecfile.read(path), runs):
        raise Fault(difference)
    return len(runs)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="operators, or tables such as 'pointwise'")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    plan.load_tables()
    known = plan.library()
    names = sorted(vectors.OPS) if options.all else []
    for name in options.names:
        table = [op for op in vectors.OPS if vectors.OPS[op].table == name]
        names += table if table and name not in vectors.OPS else [name]
    if not names:
        parser.error("no operators named")
    os.makedirs(FOLDER, exist_ok=True)
    failed = 0
    for name in names:
        try:
            print(f"{name}: {do_op(name, known, options.check)} runs", flush=True)
        except Fault as fault:
            failed += 1
            print(f"{name}: FAILED: {fault}", flush=True)
    print(f"{len(names) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
