"""What is checked against PyTorch: one `op(...)` per operator of lib/, in the tables beside this
file. README.md says what the fields mean; run.py turns the tables into tests/vectors/*.vec.
"""
from dataclasses import dataclass, field

INF = float("inf")
NAN = float("nan")

#: What `special=["x"]` puts into x; LARGE and TINY stand for the greatest finite and the least
#: positive number of the type under test.
LARGE, TINY = "large", "tiny"
SPECIAL_VALUES = (NAN, INF, -INF, -0.0, LARGE, TINY)

OPS = {}


@dataclass
class Op:
    name: str
    function: object
    cases: list
    special: dict = field(default_factory=dict)  # input -> values put in
    special_case: str = None
    draws: dict = field(default_factory=dict)
    rounds: bool = False
    rtol: float = None
    table: str = ""


def op(name, function, cases, special=(), draws=None, rounds=False, rtol=None, special_case=None):
    """Registers how an operator of lib/ is checked. Three cases of different shape at least."""
    if name in OPS:
        raise ValueError(f"{name} is in two tables: {OPS[name].table} and {function.__module__}")
    if len(set(cases)) < 3:
        raise ValueError(f"{name}: fewer than three cases")
    if not isinstance(special, dict):
        special = {input: SPECIAL_VALUES for input in special}
    OPS[name] = Op(name, function, list(cases), special, special_case, draws or {}, rounds, rtol,
                   getattr(function, "__module__", ""))
