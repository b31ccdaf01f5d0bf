"""lib/reduce.op: reductions along one dimension, and of everything."""
import warnings

import torch

from vectors import INF, LARGE, NAN, op

warnings.filterwarnings("ignore", message=".*degrees of freedom")  # tested on purpose

SHAPES = ["B=[2] D=5 A=[3]", "B=[] D=7 A=[]", "B=[3] D=1 A=[2]", "B=[2,2] D=3 A=[]"]
EMPTY = ["B=[2] D=0 A=[2]", "B=[0] D=3 A=[]"]
ALL = ["B=[3,5]", "B=[]", "B=[1]", "B=[2,1,7]"]


def dim(t):
    return len(t.B)


def with_(*settings, shapes=SHAPES + EMPTY):
    return [f"{shape} {settings[i % len(settings)]}" for i, shape in enumerate(shapes)]


def reduction(name, function=None, cases=SHAPES + EMPTY, special=("x",), **options):
    function = function or getattr(torch, name)
    op(name, lambda t: function(t.x, dim(t)), cases=cases, special=special, **options)


reduction("sum")
reduction("nansum")
reduction("prod")
reduction("mean")
# PyTorch refuses the maximum of nothing; ours is the unit
for name in ("amax", "amin", "argmax", "argmin"):
    reduction(name, cases=SHAPES)
reduction("max_dim", lambda x, d: tuple(torch.max(x, d)), cases=SHAPES)
reduction("min_dim", lambda x, d: tuple(torch.min(x, d)), cases=SHAPES)
reduction("aminmax", lambda x, d: tuple(torch.aminmax(x, dim=d)), cases=SHAPES)
CORRECTIONS = with_("", "correction=0", "", "correction=3", "correction=2")
op("var", lambda t: torch.var(t.x, dim(t), correction=t.correction), cases=CORRECTIONS,
   special={"x": [NAN, INF]})
op("std", lambda t: torch.std(t.x, dim(t), correction=t.correction), cases=CORRECTIONS,
   special={"x": [NAN, INF]})
# torch.var_mean calls the mean nan where torch.mean says inf: no infinities here
op("var_mean", lambda t: torch.var_mean(t.x, dim(t), correction=t.correction), cases=CORRECTIONS,
   special={"x": [NAN]}, rounds=True)
reduction("all")
reduction("any")
reduction("count_nonzero")
reduction("linalg_vector_norm", lambda x, d: torch.linalg.vector_norm(x, 2, d))
op("norm_p", lambda t: torch.linalg.vector_norm(t.x, t.p, dim(t)), special={"x": [NAN, INF]},
   cases=with_("p=3", "p=1", "p=0.5"))
reduction("logsumexp", draws={"x": "normal(0, 3)"}, special_case="B=[3] D=1 A=[2]",
          special={"x": [-INF, INF, NAN, -1000.0, 700.0, LARGE]})
op("sum_all", lambda t: torch.sum(t.x), cases=ALL + ["B=[0]"], special={"x": [INF]})
op("mean_all", lambda t: torch.mean(t.x), cases=ALL + ["B=[0]"], special={"x": [-INF]})
op("max_all", lambda t: torch.max(t.x), cases=ALL, special={"x": [NAN, INF]})
op("min_all", lambda t: torch.min(t.x), cases=ALL, special={"x": [NAN, -INF]})
