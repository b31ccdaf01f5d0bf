"""From the tables to runs and tasks: which types, which cases, how inputs are drawn. Needs no PyTorch."""
import glob
import importlib
import json
import os
import subprocess

import vectors

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SMELT = os.environ.get("SMELT", os.path.join(ROOT, os.environ.get("BUILD", "build"), "smelt"))
NO_TABLES = ("run", "vectors", "vecfile", "number", "plan")
DEFAULTS = ("f32", "i32")  # what a type variable stands for when nobody says: the first it admits
FLOATS = ("f64", "f32", "f16", "bf16", "f8e4", "f8e5")


class Fault(Exception):
    pass


def load_tables():
    for path in sorted(glob.glob(os.path.join(HERE, "*.py"))):
        name = os.path.splitext(os.path.basename(path))[0]
        if name not in NO_TABLES:
            importlib.import_module(name)


def smelt(*arguments):
    environment = dict(os.environ, SMELT_LIB=os.path.join(ROOT, "lib"))
    process = subprocess.run([SMELT, *arguments], capture_output=True, text=True, env=environment)
    if process.returncode:
        raise Fault(process.stderr.strip() or process.stdout.strip() or
                    f"smelt ended with {process.returncode}")
    return json.loads(process.stdout)


def library():
    """What `smelt ops` knows, by name."""
    return {op["name"]: op for op in smelt("ops", "--json")["ops"]}


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


def is_empty(case):
    sizes = case.replace(" ", ",").replace("[", ",").replace("]", ",").replace("=", ",")
    return "0" in sizes.split(",")


def choose_types(known):
    """Types for each type variable, {"T": "f32", "I": "i32"}: the default ones first, then so many
    that each variable was each of its types once."""
    variables = known["types"]
    fixed = {v["name"]: next(d for d in DEFAULTS if d in v["dtypes"]) for v in variables}
    further = {v["name"]: [d for d in v["dtypes"] if d != fixed[v["name"]]] for v in variables}
    most = max(map(len, further.values()), default=0)
    return [fixed] + [{name: dtypes[i % len(dtypes)] for name, dtypes in further.items()}
                      for i in range(most)]


def full_cases(entry):
    return [case for case in entry.cases if not is_empty(case)] or entry.cases


def plan_runs(entry, known):
    """(case, types, whether special values are put in): every case at the default types, then the
    further types on one of the cases in turn, then the special values. A case that names types
    ("D=5 U=i8") keeps them."""
    names = [variable["name"] for variable in known["types"]]

    def run(case, types, special=False):
        words = split(case)
        given = dict(word.split("=", 1) for word in words if word.split("=", 1)[0] in names)
        sizes = " ".join(word for word in words if word.split("=", 1)[0] not in names)
        return sizes, types | given, special

    fixed, *further = choose_types(known)
    full = full_cases(entry)
    plan = [run(case, fixed) for case in entry.cases]
    plan += [run(full[i % len(full)], types) for i, types in enumerate(further)]
    if entry.special:
        plan.append(run(entry.special_case or full[0], fixed, True))
    return [run for i, run in enumerate(plan) if run not in plan[:i]]


def settings(case, types):
    return " ".join(split(case) + [f"{name}={dtype}" for name, dtype in types.items()])


def task_lines(entry, known, types):
    """The head of a task at these types: its dtype and input lines. A way to draw that does not fit
    a type (normal for integers, any for bool) is left out there."""
    lines = []
    if types:
        lines.append("dtype " + ", ".join(f"{name}={dtype}" for name, dtype in types.items()))
    for input in known["inputs"]:
        how = entry.draws.get(input["name"])
        dtype = types.get(input["type"], input["type"])
        if how and (dtype in FLOATS or dtype != "bool" and not how.startswith("normal")):
            between = "" if how.startswith("in ") else "~ "
            lines.append(f"input {input['name']} {between}{how}")
    return lines


def case_line(case):
    return "case " + ", ".join(word.replace(",", ", ") for word in split(case))
