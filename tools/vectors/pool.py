"""Pooling: windows, averages with and without counted padding, adaptive windows."""
import torch.nn.functional as F

from vectors import INF, op

ONE = ["B=[2,2] W=9 size=3 stride=2", "B=[1] W=1 size=1 stride=1",
       "B=[3] W=8 size=3 stride=2 pad=1", "B=[2] W=7 size=2 stride=3",
       "B=[0,2] W=4 size=2 stride=2"]
TWO = ["B=[2,1] H=5 W=4 size=2 stride=2", "B=[1] H=1 W=1 size=1 stride=1",
       "B=[2] H=5 W=6 size=3 stride=2 pad=1", "B=[1,1] H=7 W=5 size=2 stride=3 pad=1",
       "B=[0,2] H=4 W=3 size=2 stride=1"]
THREE = ["B=[1,2] D=3 H=4 W=3 size=2 stride=1", "B=[1] D=1 H=1 W=1 size=1 stride=1",
         "B=[1] D=4 H=3 W=5 size=3 stride=2 pad=1"]


def dilated(cases, more):
    return cases + [more]


def uncounted(cases):
    return cases + [cases[2] + " count_include_pad=false", cases[0] + " count_include_pad=false"]


def setting(t):
    return dict(kernel_size=t.size, stride=t.stride, padding=t.pad)


op("max_pool1d", lambda t: F.max_pool1d(t.x, dilation=t.dil, **setting(t)),
   cases=dilated(ONE, "B=[2] W=9 size=3 stride=1 dil=2 pad=1"), special=["x"])
op("max_pool2d", lambda t: F.max_pool2d(t.x, dilation=t.dil, **setting(t)),
   cases=dilated(TWO, "B=[1] H=7 W=6 size=2 stride=2 dil=3 pad=1"), special=["x"],
   special_case="B=[2] H=5 W=6 size=3 stride=2 pad=1")
op("max_pool3d", lambda t: F.max_pool3d(t.x, dilation=t.dil, **setting(t)),
   cases=dilated(THREE, "B=[1] D=3 H=4 W=3 size=2 stride=1 dil=2"), special=["x"])
op("max_pool2d_with_indices", lambda t: F.max_pool2d_with_indices(t.x, **setting(t)), cases=TWO,
   special={"x": [-INF, -INF, INF, -0.0]}, special_case="B=[2] H=5 W=6 size=3 stride=2 pad=1")
op("avg_pool1d", lambda t: F.avg_pool1d(t.x, count_include_pad=bool(t.count_include_pad),
                                        **setting(t)), cases=uncounted(ONE))
op("avg_pool2d", lambda t: F.avg_pool2d(t.x, count_include_pad=bool(t.count_include_pad),
                                        **setting(t)), cases=uncounted(TWO), special=["x"])
op("avg_pool3d", lambda t: F.avg_pool3d(t.x, count_include_pad=bool(t.count_include_pad),
                                        **setting(t)), cases=uncounted(THREE))
op("lp_pool2d", lambda t: F.lp_pool2d(t.x, t.norm, t.size, stride=t.stride),
   cases=["B=[2,1] H=5 W=4 size=2 stride=2", "B=[1] H=1 W=1 size=1 stride=1",
          "B=[2] H=5 W=6 size=3 stride=2 norm=3.0"],
   draws={"x": "uniform(0.1, 2)"})
op("adaptive_avg_pool1d", lambda t: F.adaptive_avg_pool1d(t.x, t.Q),
   cases=["B=[2,2] W=7 Q=3", "B=[1] W=1 Q=1", "B=[3] W=6 Q=2", "B=[2] W=3 Q=5", "B=[1] W=10 Q=7"])
op("adaptive_avg_pool2d", lambda t: F.adaptive_avg_pool2d(t.x, (t.P, t.Q)),
   cases=["B=[2,1] H=5 W=4 P=3 Q=3", "B=[1] H=1 W=1 P=1 Q=1", "B=[2] H=6 W=4 P=2 Q=2",
          "B=[1] H=2 W=7 P=3 Q=4"], special=["x"])
op("adaptive_max_pool1d", lambda t: F.adaptive_max_pool1d(t.x, t.Q),
   cases=["B=[2,2] W=7 Q=3", "B=[1] W=1 Q=1", "B=[3] W=6 Q=2", "B=[2] W=3 Q=5"], special=["x"])
op("adaptive_max_pool2d", lambda t: F.adaptive_max_pool2d(t.x, (t.P, t.Q)),
   cases=["B=[2,1] H=5 W=4 P=3 Q=3", "B=[1] H=1 W=1 P=1 Q=1", "B=[2] H=6 W=4 P=2 Q=2",
          "B=[1] H=2 W=7 P=3 Q=4"], special=["x"])
op("global_avg_pool2d", lambda t: F.adaptive_avg_pool2d(t.x, 1),
   cases=["B=[2,2] H=3 W=4", "B=[1] H=1 W=1", "B=[3] H=5 W=3"], special=["x"])
