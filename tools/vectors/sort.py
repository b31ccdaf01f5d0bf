"""lib/sort.op: ranking along the last dimension. torch.topk and torch.kthvalue leave the order of
equals open; a stable torch.sort has ours, the lower place first."""
import torch

from vectors import INF, LARGE, NAN, op

SHAPES = ["B=[2,3] D=5", "B=[] D=7", "B=[4] D=1", "B=[3] D=0"]
FULL = ["B=[2,3] D=5", "B=[] D=7", "B=[4] D=1"]
VALUES = [INF, -INF, 0.0, -0.0, LARGE, INF, 1.0, 1.0]
ASCENDING = {"x": VALUES}  # without nan, which PyTorch puts last and ours first
DESCENDING = {"x": [NAN, NAN] + VALUES}


def ranked(t, descending=False):
    return torch.sort(t.x, dim=-1, descending=descending, stable=True)


def cut(pair, k):
    return tuple(part[..., :k] for part in pair)


op("sort", lambda t: tuple(ranked(t)), cases=SHAPES, special=ASCENDING)
op("sort_descending", lambda t: tuple(ranked(t, True)), cases=SHAPES, special=DESCENDING)
op("argsort", lambda t: torch.argsort(t.x, dim=-1, stable=True), cases=SHAPES, special=ASCENDING)
KS = ["B=[2,3] D=5 K=2", "B=[] D=7 K=7", "B=[4] D=1 K=1", "B=[3] D=4 K=0"]
op("topk", lambda t: cut(ranked(t, True), t.K), cases=KS, special=DESCENDING)
op("bottomk", lambda t: cut(ranked(t), t.K), cases=KS, special=ASCENDING)
op("kthvalue", lambda t: tuple(part[..., t.K - 1] for part in ranked(t)), cases=KS[:3],
   special=ASCENDING, rounds=True)
op("median_lower",
   lambda t: (torch.median(t.x, -1).values, ranked(t).indices[..., (t.D - 1) // 2]),
   cases=FULL + ["B=[3] D=4"], special={"x": [INF, -INF, LARGE]}, rounds=True)
