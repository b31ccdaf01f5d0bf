"""Vectors of lib/shape.op. Where an op works on a middle dimension, dim is the number of sizes in *A."""
import torch
from vectors import op

MIDDLE = ["A=[2] D=5 B=[3]", "A=[] D=1 B=[]", "A=[2,2] D=3 B=[]", "A=[] D=0 B=[2]"]


def middle(parameters):
    """The cases of MIDDLE with parameters added, one list of them per case."""
    return [f"{case} {more}" for case, more in zip(MIDDLE, parameters)]


def dim(t):
    return len(t.B)


def dtype(t):
    """A type of PyTorch in which the values of T are exact."""
    name = t.types["T"]
    return torch.bool if name == "bool" else torch.float64 if "f" in name else torch.int64


op("cat", lambda t: torch.cat(t.xs, dim(t)),
   cases=["B=[2] N=[1,4,2] A=[3]", "B=[] N=[1] A=[]", "B=[2,2] N=[3,2] A=[]", "B=[] N=[0,3,0] A=[2]"],
   special=["xs"])
op("stack", lambda t: torch.stack(t.xs, dim(t)),
   cases=["B=[2] A=[3] xs=3", "B=[] A=[] xs=1", "B=[] A=[2,5] xs=2", "B=[3] A=[0] xs=2"],
   special=["xs"])
op("block_diag", lambda t: torch.block_diag(*t.xs),
   cases=["N=[2,1,3] M=[3,2,1]", "N=[1] M=[1]", "N=[3,2] M=[2,5]", "N=[0,2] M=[2,1]"], special=["xs"])

op("slice", lambda t: t.x[(slice(None),) * dim(t) + (slice(t.start, t.end, t.step),)],
   cases=middle(["start=1 end=5 step=3", "end=1", "start=1 end=3", "end=0 step=2"]), special=["x"])
op("select", lambda t: torch.select(t.x, dim(t), t.index),
   cases=["B=[2] D=5 A=[3] index=4", "B=[] D=1 A=[] index=0", "B=[2,2] D=3 A=[] index=1",
          "B=[3] D=2 A=[0] index=0"], special=["x"])
op("narrow", lambda t: torch.narrow(t.x, dim(t), t.start, t.N),
   cases=middle(["start=1 N=3", "start=0 N=1", "start=2 N=1", "start=0 N=0"]), special=["x"])
op("split_with_sizes", lambda t: torch.split_with_sizes(t.x, [t.N, t.D - t.N], dim(t)),
   cases=middle(["N=2", "N=1", "N=0", "N=0"]), special=["x"])
op("chunk3", lambda t: torch.chunk(t.x, 3, dim(t)),
   cases=["B=[2] D=2 A=[3]", "B=[] D=1 A=[]", "B=[2,2] D=3 A=[]", "B=[0] D=2 A=[2]"], special=["x"])
op("slice_scatter", lambda t: torch.slice_scatter(t.x, t.src, dim(t), t.start,
                                                  t.start + t.N * t.step - t.step + 1, t.step),
   cases=["B=[2] D=5 A=[3] N=2 start=1 step=3", "B=[] D=1 A=[] N=1", "B=[2,2] D=7 A=[] N=4 step=2",
          "B=[] D=4 A=[0] N=2 start=2"], special=["x", "src"])
op("select_scatter", lambda t: torch.select_scatter(t.x, t.src, dim(t), t.index),
   cases=["B=[2] D=5 A=[3] index=4", "B=[] D=1 A=[] index=0", "B=[2,2] D=3 A=[] index=1",
          "B=[3] D=2 A=[0] index=0"], special=["x", "src"])

op("transpose", lambda t: torch.transpose(t.x, dim(t), dim(t) + 1 + len(t.A)),
   cases=["B=[2] M=3 A=[2] N=4 C=[]", "B=[] M=1 A=[] N=1 C=[]", "B=[2] M=3 A=[] N=2 C=[3]",
          "B=[] M=0 A=[] N=3 C=[2]"], special=["x"])
op("movedim", lambda t: torch.movedim(t.x, dim(t), dim(t) + len(t.A)),
   cases=["B=[2] D=3 A=[2,3] C=[]", "B=[] D=1 A=[1] C=[]", "B=[] D=3 A=[2] C=[5]", "B=[2] D=0 A=[3] C=[]"],
   special=["x"])
op("to_channels_last", lambda t: torch.movedim(t.x, 1, -1),
   cases=["N=2 C=3 S=[2,4]", "N=1 C=1 S=[]", "N=2 C=5 S=[3]", "N=0 C=2 S=[2,2]"], special=["x"])
op("to_channels_first", lambda t: torch.movedim(t.x, -1, 1),
   cases=["N=2 C=3 S=[2,4]", "N=1 C=1 S=[]", "N=2 C=5 S=[3]", "N=0 C=2 S=[2,2]"], special=["x"])
op("flip", lambda t: torch.flip(t.x, [dim(t)]), cases=MIDDLE, special=["x"])
op("rot90", lambda t: torch.rot90(t.x, 1, (-2, -1)),
   cases=["B=[2] M=3 N=4", "B=[] M=1 N=1", "B=[] M=5 N=3", "B=[2] M=0 N=3"], special=["x"])
op("roll", lambda t: torch.roll(t.x, t.shift, dim(t)),
   cases=middle(["shift=2", "shift=3", "shift=-4", "shift=1"]), special=["x"])

op("repeat", lambda t: t.x.repeat([1] * dim(t) + [t.times] + [1] * len(t.A)),
   cases=middle(["times=2", "times=4", "times=3", "times=2"]) + ["B=[] D=3 A=[] times=0"], special=["x"])
op("repeat_interleave", lambda t: torch.repeat_interleave(t.x, t.times, dim(t)),
   cases=middle(["times=2", "times=4", "times=3", "times=2"]) + ["B=[] D=3 A=[] times=0"], special=["x"])
op("expand", lambda t: t.x.expand(*t.B, t.N, *t.A),
   cases=["B=[2] A=[3] N=4", "B=[] A=[] N=1", "B=[3,2] A=[] N=3", "B=[2] A=[2] N=0"], special=["x"])
op("flatten", lambda t: torch.flatten(t.x, dim(t), dim(t) + 1),
   cases=["B=[2] M=3 N=2 A=[3]", "B=[] M=1 N=1 A=[]", "B=[2,2] M=2 N=3 A=[]", "B=[] M=3 N=1 A=[2]",
          "B=[] M=0 N=3 A=[]"], special=["x"])
op("unflatten", lambda t: torch.unflatten(t.x, dim(t), (t.M, t.N)),
   cases=["B=[2] M=3 N=2 A=[3]", "B=[] M=1 N=1 A=[]", "B=[2,2] M=2 N=3 A=[]", "B=[] M=3 N=1 A=[2]",
          "B=[] M=0 N=3 A=[]"], special=["x"])
op("unfold", lambda t: t.x.unfold(dim(t), t.size, t.step),
   cases=["B=[2] D=5 A=[3] size=3 step=1", "B=[] D=1 A=[] size=1 step=1", "B=[2,2] D=7 A=[] size=2 step=3",
          "B=[] D=4 A=[0] size=4 step=2"], special=["x"])

SQUARE = ["B=[2] M=3 N=5", "B=[] M=1 N=1", "B=[3] M=4 N=2", "B=[] M=5 N=3", "B=[2] M=0 N=3"]
TRIANGLE = [f"{case} diagonal={k}" for case, k in zip(SQUARE, (1, 0, -1, -7, 0))]
op("tril", lambda t: torch.tril(t.x, t.diagonal), cases=TRIANGLE, special=["x"])
op("triu", lambda t: torch.triu(t.x, t.diagonal), cases=TRIANGLE, special=["x"])
op("diagonal", lambda t: torch.diagonal(t.x, t.offset, -2, -1),
   cases=[f"{case} offset={k}" for case, k in zip(SQUARE, (3, 0, -1, -5, 1))], special=["x"])
op("diag_embed", lambda t: torch.diag_embed(t.x, t.offset),
   cases=["B=[2] L=3 offset=1", "B=[] L=1", "B=[] L=5 offset=-2", "B=[2] L=0 offset=1"], special=["x"])
op("trace", lambda t: torch.trace(t.x), cases=["M=3 N=5", "M=1 N=1", "M=5 N=4", "M=0 N=3"],
   special={"x": [float("nan")]})

op("eye", lambda t: torch.eye(t.M, t.N, dtype=dtype(t)), cases=["M=3 N=5", "M=1 N=1", "M=5 N=3", "M=0 N=3"])
op("arange", lambda t: torch.arange(t.start, t.end, t.step, dtype=dtype(t)),
   cases=["end=7", "start=3 end=4", "start=7 end=0 step=-2", "start=2 end=8 step=3", "start=1 end=1"])
op("linspace", lambda t: torch.linspace(t.first, t.last, t.N, dtype=torch.float64),
   cases=["first=0.25 last=7.5 N=7", "first=-1 last=1 N=2", "first=3 last=-2.5 N=5"])
op("full", lambda t: torch.full((t.N,), t.value).to(dtype(t)),
   cases=["N=5 value=2.5", "N=1 value=-0.5", "N=3 value=1", "N=0 value=2"])
op("full_like", lambda t: torch.full_like(t.x, t.value, dtype=torch.float64).to(dtype(t)),
   cases=["B=[2,3] value=2.5", "B=[] value=3", "B=[5] value=0", "B=[0] value=2"])
op("zeros_like", lambda t: torch.zeros_like(t.x), cases=["B=[2,3]", "B=[]", "B=[5]", "B=[0]"], special=["x"])
op("ones_like", lambda t: torch.ones_like(t.x), cases=["B=[2,3]", "B=[]", "B=[5]", "B=[0]"], special=["x"])
op("meshgrid", lambda t: torch.meshgrid(t.x, t.y, indexing="ij"), cases=["M=3 N=4", "M=1 N=1", "M=5 N=2", "M=0 N=3"],
   special=["x"])
op("cartesian_prod", lambda t: torch.cartesian_prod(t.x, t.y), cases=["M=3 N=4", "M=1 N=1", "M=5 N=2", "M=0 N=3"],
   special=["x"])
op("kron", lambda t: torch.kron(t.a, t.b),
   cases=["M=2 N=3 P=2 Q=2", "M=1 N=1 P=1 Q=1", "M=3 N=1 P=1 Q=5", "M=2 N=0 P=2 Q=2"], special=["a"])
op("vander", lambda t: torch.vander(t.x, t.K), cases=["N=4 K=5", "N=1 K=1", "N=3 K=2", "N=3 K=0"], special=["x"])
