"""lib/compare.op: comparison and logic."""
import torch

from vectors import INF, LARGE, NAN, op

SHAPES = ["B=[2,3]", "B=[7]", "B=[]", "B=[0]", "B=[3,1,2]"]
LEFT = [NAN, 1.0, NAN, INF, -INF, 0.0, 2.0, LARGE, 0.5]
RIGHT = [1.0, NAN, NAN, INF, INF, -0.0, 2.0, INF, 0.25]

for name in ("eq", "ne", "lt", "le", "gt", "ge"):
    function = getattr(torch, name)
    op(name, lambda t, f=function: f(t.a, t.b), cases=SHAPES, special_case="B=[9]",
       special={"a": LEFT, "b": RIGHT})
    op(name + "_scalar", lambda t, f=function: f(t.x, t.c), special_case="B=[9] c=1",
       cases=[f"{shape} c={i % 2}" for i, shape in enumerate(SHAPES)], special={"x": LEFT})
for name in ("logical_and", "logical_or", "logical_xor"):
    op(name, lambda t, f=getattr(torch, name): f(t.a, t.b), cases=SHAPES, special_case="B=[9]",
       special={"a": LEFT, "b": [0.0, 0.0, -0.0, 0.0, 1.0, NAN, 0.0, INF, 0.0]})
op("logical_not", lambda t: torch.logical_not(t.x), cases=SHAPES, special={"x": LEFT},
   special_case="B=[9]")
for name in ("isnan", "isinf", "isfinite"):
    op(name, lambda t, f=getattr(torch, name): f(t.x), cases=SHAPES, special=["x"])
