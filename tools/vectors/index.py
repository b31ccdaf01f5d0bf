"""Vectors of lib/index.op. Where an op works on a middle dimension, dim is the number of sizes in *A."""
import torch
import torch.nn.functional as F
from vectors import INF, op

EACH = ["B=[2] V=4 A=[3] N=3", "B=[] V=1 A=[] N=1", "B=[2,2] V=3 A=[] N=5", "B=[] V=3 A=[2] N=0"]
PAIRS = ["V=3 W=4 N=5 B=[2]", "V=1 W=1 N=1 B=[]", "V=5 W=3 N=4 B=[]", "V=2 W=2 N=0 B=[3]"]


def dim(t):
    return len(t.B)


def in_turn(t, write):
    """Where places are equal PyTorch does not say which write is kept. Ours is the last: one at a time."""
    y = t.y0
    for n in range(t.N):
        y = write(y, n)
    return y


def at(x, t, n):
    return x.narrow(dim(t), n, 1)


op("gather", lambda t: torch.gather(t.x, dim(t), t.index), cases=EACH, special=["x"])
op("index_select", lambda t: torch.index_select(t.x, dim(t), t.index), cases=EACH, special=["x"])
op("take_along_dim",
   lambda t: torch.take_along_dim(t.x, t.index.reshape(list(t.index.shape) + [1] * len(t.A)), dim(t)),
   cases=EACH, special=["x"])
op("take", lambda t: torch.take(t.x, t.index),
   cases=["V=5 B=[3,4]", "V=1 B=[]", "V=7 B=[5]", "V=3 B=[0]"], special=["x"])
op("index", lambda t: torch.ops.aten.index.Tensor(t.x, [t.row, t.col]), cases=PAIRS, special=["x"])
op("embedding", lambda t: F.embedding(t.ids, t.w) if t.w.is_floating_point() else t.w[t.ids],
   cases=["V=5 D=3 B=[2,3]", "V=1 D=1 B=[]", "V=4 D=5 B=[3]", "V=3 D=2 B=[0]"], special=["w"])

BAGS = ["V=5 D=3 E=7 S=4", "V=1 D=1 E=1 S=1", "V=4 D=5 E=5 S=6", "V=3 D=2 E=0 S=2"]
PADDED_BAGS = ["V=5 D=3 E=7 S=4", "V=1 D=1 E=1 S=1", "V=4 D=3 E=9 S=3 padding_idx=2", "V=3 D=2 E=0 S=2",
               "V=1 D=2 E=3 S=2 padding_idx=0"]


def bag(t, mode, weights=None, padding=None):
    return F.embedding_bag(t.ids, t.w, t.off, mode=mode, per_sample_weights=weights,
                           include_last_offset=True, padding_idx=padding)


def padding(t):
    return None if t.padding_idx < 0 else t.padding_idx


op("embedding_bag_sum", lambda t: bag(t, "sum", None, padding(t)), cases=PADDED_BAGS, special=["w"])
op("embedding_bag_mean", lambda t: bag(t, "mean", None, padding(t)), cases=PADDED_BAGS, special=["w"])
op("embedding_bag_max", lambda t: bag(t, "max"), cases=BAGS, special={"w": [INF, -INF]})
op("embedding_bag_weighted", lambda t: bag(t, "sum", t.weight), cases=BAGS, special=["w"])

op("index_add", lambda t: torch.index_add(t.y0, dim(t), t.index, t.src), cases=EACH, special=["y0", "src"])
op("index_copy", lambda t: in_turn(t, lambda y, n: torch.index_copy(y, dim(t), t.index[n:n + 1], at(t.src, t, n))),
   cases=EACH, special=["y0", "src"])
op("index_fill", lambda t: torch.index_fill(t.y0, dim(t), t.index, t.value),
   cases=[f"{case} value={value}" for case, value in zip(EACH, (2, 0, 1, 3))], special=["y0"])
op("index_put", lambda t: in_turn(t, lambda y, n: torch.index_put(y, (t.row[n], t.col[n]), t.src[n])),
   cases=PAIRS, special=["y0", "src"])
op("index_put_accumulate", lambda t: torch.index_put(t.y0, (t.row, t.col), t.src, accumulate=True),
   cases=PAIRS, special=["y0", "src"])
op("scatter_src",
   lambda t: in_turn(t, lambda y, n: torch.scatter(y, dim(t), at(t.index, t, n), at(t.src, t, n))),
   cases=EACH, special=["y0", "src"])
op("scatter_add", lambda t: torch.scatter_add(t.y0, dim(t), t.index, t.src), cases=EACH, special=["y0", "src"])
for name, how in (("scatter_amax", "amax"), ("scatter_amin", "amin"), ("scatter_prod", "prod")):
    op(name, lambda t, how=how: torch.scatter_reduce(t.y0, dim(t), t.index, t.src, how, include_self=True),
       cases=EACH, special=["y0", "src"])

op("one_hot", lambda t: F.one_hot(t.ids, t.K), cases=["B=[2,3] K=5", "B=[] K=1", "B=[5] K=3", "B=[0] K=2"])

# Values that equal a border come from the integer types. PyTorch leaves open where NaN goes.
op("bucketize", lambda t: torch.bucketize(t.x, t.borders, right=t.right),
   cases=["B=[4,5] N=5", "B=[4,5] N=5 right=true", "B=[] N=1", "B=[7] N=4 right=true", "B=[3] N=0"],
   special={"x": [INF, -INF, -0.0]})
op("searchsorted", lambda t: torch.searchsorted(t.keys, t.x, right=t.right),
   cases=["B=[2] N=5 K=7", "B=[2] N=5 K=7 right=true", "B=[] N=1 K=1", "B=[3] N=4 K=5 right=true",
          "B=[2] N=0 K=3"],
   special={"x": [INF, -INF, -0.0]})
op("bincount", lambda t: torch.bincount(t.ids, minlength=t.K), cases=["N=9 K=4", "N=1 K=1", "N=5 K=7", "N=0 K=3"])
op("bincount_weights", lambda t: torch.bincount(t.ids, t.weights, t.K),
   cases=["N=9 K=4", "N=1 K=1", "N=5 K=7", "N=0 K=3"])
op("histc", lambda t: torch.histc(t.x, t.K, t.lo, t.hi),
   cases=["B=[4,5] K=4 lo=-1 hi=1", "B=[1] K=1 lo=-3 hi=3", "B=[17] K=3 lo=0 hi=2", "B=[0] K=2 lo=0 hi=1"],
   special={"x": [1.0, -1.0, INF, -INF, 0.5]})
op("isin", lambda t: torch.isin(t.x, t.set), cases=["B=[2,5] N=5", "B=[] N=1", "B=[7] N=3", "B=[3] N=0"],
   special={"x": [float("nan"), INF, -0.0], "set": [float("nan"), INF, 0.0]})
op("masked_scatter", lambda t: torch.masked_scatter(t.x, t.mask, t.src), cases=["N=7 M=7", "N=1 M=1", "N=5 M=6", "N=0 M=2"],
   special=["x", "src"])
