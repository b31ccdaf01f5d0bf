"""Padding, resampling, pixel shuffles."""
import torch.nn.functional as F

from vectors import op


def sides(t):
    return (t.left, t.right, t.top, t.bottom)


def padded(mode, one):
    """F.pad, of integers and bools by way of float64, which holds those drawn exactly."""
    return lambda t: F.pad(t.x.double(), (t.left, t.right) if one else sides(t),
                           mode=mode).to(t.x.dtype)


ONE = ["B=[2,2] W=5 left=2 right=1", "B=[1] W=1 left=0 right=0", "B=[3] W=4 left=0 right=3",
       "B=[2,1] W=6 left=1 right=5"]
TWO = ["B=[2,1] H=3 W=4 left=2 right=1 top=1 bottom=2",
       "B=[1] H=1 W=1 left=0 right=0 top=0 bottom=0",
       "B=[1] H=5 W=3 left=0 right=2 top=4 bottom=0"]

op("constant_pad_nd", lambda t: F.pad(t.x.movedim(len(t.B), -1), (t.before, t.after),
                                      value=t.value).movedim(-1, len(t.B)),
   cases=["B=[2] D=3 A=[2] before=1 after=2 value=3", "B=[] D=1 A=[]",
          "B=[2,2] D=5 A=[] before=-2 after=1", "B=[] D=0 A=[3] before=2"])
op("constant_pad2d", lambda t: F.pad(t.x, sides(t), value=t.value),
   cases=["B=[2] H=3 W=3 left=1 right=2 top=1 value=-1", "B=[] H=1 W=1",
          "B=[1] H=4 W=5 left=-1 top=2 bottom=-2 right=1"], special=["x"])
op("reflection_pad1d", padded("reflect", True), cases=ONE, special=["x"])
op("reflection_pad2d", padded("reflect", False), cases=TWO)
op("replication_pad1d", padded("replicate", True), cases=ONE)
op("replication_pad2d", padded("replicate", False),
   cases=TWO + ["B=[1] H=2 W=3 left=4 right=0 top=0 bottom=3"])
op("circular_pad1d", padded("circular", True),
   cases=["B=[2,2] W=5 left=2 right=1", "B=[1] W=1 left=0 right=1", "B=[3] W=4 left=4 right=3"])
op("circular_pad2d", lambda t: F.pad(t.x.double().reshape(1, -1, t.H, t.W), sides(t),
                                     mode="circular").to(t.x.dtype)
   .reshape(*t.x.shape[:-2], t.H + t.top + t.bottom, t.W + t.left + t.right), cases=TWO)


def resized(mode, **more):
    """F.interpolate wants a batch and channels."""
    def function(t):
        dims = 2 if hasattr(t, "P") else 1
        size = (t.P, t.Q) if dims == 2 else (t.Q,)
        x = t.x.double().reshape(1, -1, *t.x.shape[-dims:])
        options = {"align_corners": bool(t.align_corners)} if more else {}
        return F.interpolate(x, size=size, mode=mode,
                             **options).to(t.x.dtype).reshape(*t.x.shape[:-dims], *size)
    return function


op("upsample_nearest1d", resized("nearest"),
   cases=["B=[2,2] W=4 Q=8", "B=[] W=1 Q=1", "B=[3] W=5 Q=7", "B=[2] W=7 Q=3"])
op("upsample_nearest2d", resized("nearest"),
   cases=["B=[2] H=2 W=3 P=4 Q=6", "B=[1] H=1 W=1 P=1 Q=1", "B=[1] H=3 W=4 P=5 Q=7",
          "B=[1,1] H=5 W=4 P=3 Q=2"])
LINEAR = ["B=[2,2] W=4 Q=8", "B=[] W=1 Q=3", "B=[3] W=5 Q=7", "B=[2] W=7 Q=3"]
op("upsample_linear1d", resized("linear", align=True),
   cases=LINEAR + [case + " align_corners=true"
                   for case in LINEAR] + ["B=[] W=4 Q=1 align_corners=true"])
BILINEAR = ["B=[2] H=2 W=3 P=4 Q=6", "B=[1] H=1 W=1 P=2 Q=3", "B=[1] H=3 W=4 P=5 Q=7",
            "B=[1,1] H=5 W=4 P=3 Q=2"]
op("upsample_bilinear2d", resized("bilinear", align=True),
   cases=BILINEAR + [case + " align_corners=true"
                     for case in BILINEAR] + ["B=[] H=3 W=4 P=1 Q=1 align_corners=true"])
op("pixel_shuffle", lambda t: F.pixel_shuffle(t.x, t.R),
   cases=["B=[2] C=1 R=2 H=2 W=3", "B=[] C=1 R=1 H=1 W=1", "B=[] C=2 R=3 H=1 W=2"])
op("pixel_unshuffle", lambda t: F.pixel_unshuffle(t.x, t.R),
   cases=["B=[2] C=1 R=2 H=2 W=3", "B=[] C=1 R=1 H=1 W=1", "B=[] C=2 R=3 H=1 W=2"])
