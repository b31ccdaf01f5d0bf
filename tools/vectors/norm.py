"""lib/norm.op: softmax and its kin, normalisations."""
import torch
import torch.nn.functional as F

from vectors import INF, NAN, op

SHAPES = ["B=[2] D=5 A=[3]", "B=[] D=7 A=[]", "B=[3] D=1 A=[2]", "B=[2] D=0 A=[2]", "B=[4] D=6 A=[]"]
TRAILING = ["B=[2,3] N=[5]", "B=[] N=[4]", "B=[2] N=[3,2]", "B=[3] N=[1]", "B=[0] N=[3]"]
CHANNELS = ["N=2 C=3 S=[4]", "N=3 C=1 S=[]", "N=1 C=2 S=[3,2]", "N=2 C=4 S=[1,2]"]


def with_(*settings, shapes):
    return [f"{shape} {settings[i % len(settings)]}" for i, shape in enumerate(shapes)]


for name, function in (("softmax", F.softmax), ("log_softmax", F.log_softmax)):
    op(name, lambda t, f=function: f(t.x, len(t.B)), cases=SHAPES, draws={"x": "normal(0, 3)"},
       special_case="B=[4] D=6 A=[]",
       special={"x": [NAN, 1.0, INF, 2.0, -INF, 0.0, 700.0, -1000.0]})
op("softmin", lambda t: F.softmin(t.x, len(t.B)), cases=SHAPES, draws={"x": "normal(0, 3)"},
   special={"x": [NAN, INF]}, rounds=True)
op("layer_norm", lambda t: F.layer_norm(t.x, t.N, t.w, t.b, t.eps),
   cases=with_("", "eps=0.5", shapes=TRAILING), special={"x": [NAN, INF]})
op("rms_norm", lambda t: F.rms_norm(t.x, t.N, t.w, t.eps),
   cases=with_("", "eps=0.5", shapes=TRAILING), special={"x": [NAN, INF]})
op("group_norm", lambda t: F.group_norm(t.x, t.G, t.w, t.b, t.eps), special={"x": [NAN]},
   cases=["N=2 G=2 C=3 S=[2]", "N=1 G=1 C=4 S=[]", "N=2 G=3 C=1 S=[2,2]", "N=2 G=2 C=2 S=[3] eps=0.5"])
op("instance_norm", lambda t: F.instance_norm(t.x, weight=t.w, bias=t.b, eps=t.eps),
   cases=["N=2 C=3 S=[4]", "N=1 C=1 S=[2]", "N=2 C=2 S=[3,2] eps=0.5"], special={"x": [NAN]})
op("batch_norm", lambda t: F.batch_norm(t.x, t.mean, t.var, t.w, t.b, False, 0.1, t.eps),
   cases=with_("", "eps=0.5", shapes=CHANNELS + ["N=0 C=2 S=[3]"]), draws={"var": "uniform(0.1, 2)"},
   special=["x"])
op("batch_norm_train",
   lambda t: torch.native_batch_norm(t.x, t.w, t.b, None, None, True, 0.1, t.eps),
   cases=with_("", "eps=0.5", shapes=CHANNELS), special={"x": [NAN]})


def running(t):
    mean, var = t.mean.clone(), t.var.clone()
    F.batch_norm(t.x, mean, var, None, None, True, t.momentum, 1e-5)
    return mean, var


op("batch_norm_update", running, draws={"var": "uniform(0.1, 2)"},
   cases=with_("momentum=0.25", "momentum=1", shapes=CHANNELS))
op("l2_normalize", lambda t: F.normalize(t.x, 2, len(t.B), t.eps),
   cases=with_("", "eps=2", shapes=SHAPES), special={"x": [NAN, 0.0]})
op("local_response_norm",
   lambda t: F.local_response_norm(t.x, t.size, t.alpha, t.beta, t.k),
   cases=["N=2 C=5 S=[2] size=3 alpha=0.5", "N=1 C=4 S=[2,2] size=2 alpha=2 beta=0.5 k=2",
          "N=2 C=1 S=[3] size=5", "N=1 C=6 S=[2] size=4 alpha=1 k=0.5"], special={"x": [NAN, INF]})
