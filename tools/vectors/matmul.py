"""Matrix products, linear layers, contractions."""
import torch
import torch.nn.functional as F

from vectors import INF, NAN, op

MNK = ["M=3 K=4 N=5", "M=1 K=1 N=1", "M=2 K=7 N=3", "M=2 K=0 N=3"]
BATCHED = ["B=[2] M=3 K=4 N=2", "B=[] M=1 K=1 N=1", "B=[2,2] M=2 K=3 N=1", "B=[2] M=2 K=0 N=3"]

op("mm", lambda t: torch.mm(t.a, t.b), cases=MNK, special={"a": [NAN, INF, -INF]})
op("bmm", lambda t: torch.bmm(t.a, t.b),
   cases=["B=2 M=3 K=4 N=2", "B=1 M=1 K=1 N=1", "B=3 M=2 K=5 N=1", "B=2 M=2 K=0 N=3"])
op("matmul", lambda t: torch.matmul(t.a, t.b), cases=BATCHED)
op("tensordot", lambda t: torch.tensordot(t.a, t.b, dims=1),
   cases=["B=[2,3] K=4 A=[5]", "B=[] K=1 A=[]", "B=[3] K=7 A=[2,2]", "B=[2] K=0 A=[3]"])
op("matmul_nt", lambda t: torch.einsum("...mk,...nk->...mn", t.a, t.b), cases=BATCHED)
op("matmul_tn", lambda t: torch.einsum("...km,...kn->...mn", t.a, t.b), cases=BATCHED)
op("matmul_tt", lambda t: torch.einsum("...km,...nk->...mn", t.a, t.b), cases=BATCHED)
# torch._int_mm wants large multiples of 8; int64 products of int8 values are what it computes
op("int_mm", lambda t: torch.mm(t.a, t.b), cases=MNK)
op("mv", lambda t: torch.mv(t.a, t.x), cases=["M=4 K=5", "M=1 K=1", "M=3 K=13", "M=3 K=0"])
op("dot", lambda t: torch.dot(t.a, t.b), cases=["K=5", "K=1", "K=31", "K=0"])
op("outer", lambda t: torch.outer(t.a, t.b), cases=["M=4 N=5", "M=1 N=1", "M=7 N=3", "M=3 N=0"])
op("addmm", lambda t: torch.addmm(t.c, t.a, t.b, beta=t.beta, alpha=t.alpha),
   cases=["M=3 K=4 N=5 beta=0.5 alpha=2.0", "M=1 K=1 N=1", "M=2 K=7 N=3 beta=0.0", "M=2 K=0 N=3"],
   special={"c": [NAN, INF, -INF]}, special_case="M=2 K=7 N=3 beta=0.0")
op("addmv", lambda t: torch.addmv(t.c, t.a, t.x, beta=t.beta, alpha=t.alpha),
   cases=["M=4 K=5 beta=0.5 alpha=2.0", "M=1 K=1", "M=3 K=13 beta=0.0", "M=3 K=0"])
op("baddbmm", lambda t: torch.baddbmm(t.c, t.a, t.b, beta=t.beta, alpha=t.alpha),
   cases=["B=[2] M=3 K=4 N=2 beta=0.5 alpha=-1.0", "B=[1] M=1 K=1 N=1",
          "B=[3] M=2 K=3 N=1 beta=0.0"])
op("addr", lambda t: torch.addr(t.c, t.a, t.b, beta=t.beta, alpha=t.alpha),
   cases=["M=4 N=5 beta=0.5 alpha=2.0", "M=1 N=1", "M=3 N=7 beta=0.0", "M=3 N=0"])
op("diag_mm", lambda t: torch.diag(t.a) @ t.b, cases=["M=4 N=5", "M=1 N=1", "M=7 N=3", "M=3 N=0"])
op("tril_mm", lambda t: torch.tril(torch.tril(t.a) @ torch.tril(t.b)),
   cases=["N=4", "N=1", "N=7", "N=0"])
op("chain_matmul", lambda t: torch.linalg.multi_dot([t.a, t.b, t.c])
   if t.a.is_floating_point() else t.a @ t.b @ t.c,
   cases=["M=3 K=4 L=2 N=5", "M=1 K=1 L=1 N=1", "M=2 K=5 L=7 N=3"])
op("xxty", lambda t: t.x @ t.x.T @ t.y, cases=["N=5 D=3 C=4", "N=1 D=1 C=1", "N=7 D=2 C=3",
                                               "N=0 D=2 C=3"])
op("linear", lambda t: F.linear(t.x, t.w, t.b),
   cases=["B=[2,3] K=4 N=5", "B=[] K=1 N=1", "B=[3] K=7 N=2", "B=[0] K=3 N=2"],
   special={"x": [NAN, INF, -INF]})
op("linear_no_bias", lambda t: F.linear(t.x, t.w),
   cases=["B=[2,3] K=4 N=5", "B=[] K=1 N=1", "B=[3] K=7 N=2", "B=[0] K=3 N=2"])
op("linear_gelu", lambda t: F.gelu(F.linear(t.x, t.w, t.b)),
   cases=["B=[2,3] K=4 N=5", "B=[] K=1 N=1", "B=[3] K=7 N=2"])
op("linear_relu", lambda t: F.relu(F.linear(t.x, t.w, t.b)),
   cases=["B=[2,3] K=4 N=5", "B=[] K=1 N=1", "B=[3] K=7 N=2"])
op("swiglu_mlp", lambda t: F.linear(F.silu(F.linear(t.x, t.gate)) * F.linear(t.x, t.up), t.down),
   cases=["B=[2,2] D=3 F=5", "B=[] D=1 F=1", "B=[3] D=4 F=7"])
op("bilinear", lambda t: F.bilinear(t.a, t.b, t.w, t.bias),
   cases=["B=[2,3] I=3 J=4 N=2", "B=[1] I=1 J=1 N=1", "B=[3] I=2 J=5 N=3"])
