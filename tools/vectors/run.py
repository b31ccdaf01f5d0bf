"""Writes tests/vectors/*.vec: small inputs drawn by smelt, results computed by PyTorch.

    tools/vectors/run softmax mm     these
    tools/vectors/run --all          every operator of the tables
    tools/vectors/run --check --all  compare with the files that are there, write nothing
"""
import argparse
import glob
import importlib
import json
import math
import os
import subprocess
import sys
import tempfile
import zlib
from types import SimpleNamespace

import torch

import number
import vecfile
import vectors

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SMELT = os.environ.get("SMELT", os.path.join(ROOT, os.environ.get("BUILD", "build"), "smelt"))
FOLDER = os.path.join(ROOT, "tests", "vectors")
LARGEST_FILE = 40_000
DEFAULTS = ("f32", "i32", "bool")  # the type of a variable nobody gives: the first it admits


class Fault(Exception):
    pass


def load_tables():
    for path in sorted(glob.glob(os.path.join(HERE, "*.py"))):
        name = os.path.splitext(os.path.basename(path))[0]
        if name not in ("run", "vectors", "vecfile", "number"):
            importlib.import_module(name)


def smelt(*arguments):
    environment = dict(os.environ, SMELT_LIB=os.path.join(ROOT, "lib"))
    process = subprocess.run([SMELT, *arguments], capture_output=True, text=True, env=environment)
    if process.returncode:
        raise Fault(process.stderr.strip() or process.stdout.strip() or
                    f"smelt ended with {process.returncode}")
    return json.loads(process.stdout)


def split(settings):
    """'B=[2, 3] D=5' as ['B=[2,3]', 'D=5']."""
    words, depth, word = [], 0, ""
    for c in settings:
        depth += (c == "[") - (c == "]")
        if c.isspace() and depth == 0:
            words.append(word)
            word = ""
        elif not c.isspace():
            word += c
    return [word for word in words + [word] if word]


def default_type(dtypes):
    return next(dtype for dtype in DEFAULTS if dtype in dtypes)


# ---- which runs ----

def is_empty(case):
    return "=0" in case or "[0" in case or ",0" in case.replace(" ", "")


def plan_runs(entry, known):
    """(settings, whether special values are put in): every case at the default types, then every
    further type of every type variable on one of the cases in turn, then the special values."""
    types = known["types"]
    fixed = {v["name"]: default_type(v["dtypes"]) for v in types}
    further = {v["name"]: [d for d in v["dtypes"] if d != fixed[v["name"]]] for v in types}

    def settings(case, chosen):
        return " ".join(split(case) + [f"{name}={dtype}" for name, dtype in chosen.items()])

    plan = [(settings(case, fixed), False) for case in entry.cases]
    full = [case for case in entry.cases if not is_empty(case)] or entry.cases
    for i in range(max((len(list_) for list_ in further.values()), default=0)):
        chosen = {name: list_[i % len(list_)] if list_ else fixed[name]
                  for name, list_ in further.items()}
        plan.append((settings(full[i % len(full)], chosen), False))
    if entry.special:
        plan.append((settings(entry.special_case or full[0], fixed), True))
    return plan


# ---- one run ----

def draw(entry, settings, types, seed, folder):
    """Draws inputs; the description smelt gives of the case."""
    options = ["--seed", str(seed), "--out", folder, "--oracle", "interpreter", "--json"]
    if not entry.draws:
        return smelt("ref", entry.name, *split(settings), *options)["cases"][0]
    chosen = dict(word.split("=", 1) for word in split(settings))
    sizes = [f"{name}={value}" for name, value in chosen.items() if name not in types]
    task = [f"task drawn of {entry.name}"]
    if types:
        task.append("    dtype " + ", ".join(f"{name}={chosen[name]}" for name in types))
    for name, how in entry.draws.items():
        task.append(f"    input {name} {how}" if how.startswith("in ") else
                    f"    input {name} ~ {how}")
    task.append("    case " + ", ".join(sizes))
    path = os.path.join(folder, "drawn.op")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(task) + "\n")
    return smelt("ref", path, *options)["cases"][0]


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


def arguments_of(case, inputs, types, settings):
    sizes = {name: float(value) if value in ("inf", "-inf", "nan") else value
             for name, value in case["sizes"].items()}
    t = SimpleNamespace(**sizes)
    t.types = {name: value for name, value in (w.split("=", 1) for w in split(settings))
               if name in types}
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


def make_run(entry, known, settings, special, seed):
    types = [variable["name"] for variable in known["types"]]
    with tempfile.TemporaryDirectory() as folder:
        case = draw(entry, settings, types, seed, folder)
        inputs = load_inputs(case, folder, entry.special if special else {})
    t = arguments_of(case, inputs, types, settings)
    run = vecfile.Run(settings, *tolerance(entry, case))
    for tensor, values in inputs:
        run.inputs.append(vecfile.Array(tensor["name"], tensor["type"], tensor["shape"],
                                        values.reshape(-1).tolist()))
    run.outputs = collect_outputs(case, entry.function(t))
    return run


# ---- one operator ----

def make_runs(entry, known):
    runs = []
    for number_, (settings, special) in enumerate(plan_runs(entry, known)):
        seed = zlib.crc32(f"{entry.name} {number_}".encode())
        try:
            runs.append(make_run(entry, known, settings, special, seed))
        except Exception as error:
            where = f"run {settings}" + (" with special values" if special else "")
            raise Fault(f"{where}: {type(error).__name__ if not isinstance(error, Fault) else ''}"
                        f" {error}".replace(":  ", ": ")) from error
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
    load_tables()
    known = {op["name"]: op for op in smelt("ops", "--json")["ops"]}
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
