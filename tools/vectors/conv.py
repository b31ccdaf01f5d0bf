"""Convolutions, transposed ones, patches."""
import torch.nn.functional as F

from vectors import INF, NAN, op


def settings(t):
    return dict(stride=t.stride, padding=t.pad, dilation=t.dil, groups=t.G)


def transposed(t):
    return dict(settings(t), output_padding=t.output_pad)


def pair(t, name):
    return (getattr(t, name + "_h"), getattr(t, name + "_w"))


def triple(t, name):
    return (getattr(t, name + "_d"), *pair(t, name))


op("conv1d", lambda t: F.conv1d(t.x, t.w, t.b, **settings(t)),
   cases=["N=2 C=3 O=2 W=7 S=3 G=1 pad=1", "N=1 C=1 O=1 W=1 S=1 G=1",
          "N=1 C=2 O=1 W=9 S=3 G=2 stride=2 pad=2 dil=2",
          "N=2 C=1 O=2 W=8 S=2 G=3 stride=3", "N=0 C=1 O=2 W=4 S=2 G=1"],
   special={"x": [NAN, INF, -INF]})
op("conv2d", lambda t: F.conv2d(t.x, t.w, t.b, **settings(t)),
   cases=["N=1 C=2 O=3 H=5 W=4 R=3 S=3 G=1 pad=1", "N=1 C=1 O=1 H=1 W=1 R=1 S=1 G=1",
          "N=1 C=1 O=2 H=7 W=6 R=2 S=3 G=2 stride=2 pad=1",
          "N=2 C=1 O=1 H=6 W=7 R=3 S=2 G=1 dil=2 stride=3",
          "N=0 C=1 O=2 H=3 W=3 R=2 S=2 G=1"], special={"x": [NAN, INF, -INF]})
op("conv2d_no_bias", lambda t: F.conv2d(t.x, t.w, **settings(t)),
   cases=["N=1 C=2 O=3 H=5 W=4 R=3 S=3 G=1 pad=1", "N=1 C=1 O=1 H=1 W=1 R=1 S=1 G=1",
          "N=1 C=1 O=2 H=7 W=6 R=2 S=3 G=2 stride=2 pad=1",
          "N=2 C=1 O=1 H=6 W=7 R=3 S=2 G=1 dil=2 stride=3",
          "N=0 C=1 O=2 H=3 W=3 R=2 S=2 G=1"], special={"x": [NAN, INF, -INF]})
op("conv2d_asymmetric", lambda t: F.conv2d(t.x, t.w, t.b, stride=pair(t, "stride"),
                                           padding=pair(t, "pad"),
                                           dilation=pair(t, "dil"), groups=t.G),
   cases=["N=1 C=2 O=3 H=5 W=4 R=3 S=3 G=1 pad_w=1", "N=1 C=1 O=1 H=1 W=1 R=1 S=1 G=1",
          "N=1 C=1 O=2 H=7 W=6 R=2 S=3 G=2 stride_h=2 pad_h=2 dil_w=2",
          "N=2 C=1 O=1 H=4 W=9 R=3 S=2 G=1 stride_w=3 dil_w=3 pad_h=1"])
op("conv3d", lambda t: F.conv3d(t.x, t.w, t.b, **settings(t)),
   cases=["N=1 C=2 O=2 D=3 H=3 W=4 U=2 R=2 S=2 G=1 pad=1",
          "N=1 C=1 O=1 D=1 H=1 W=1 U=1 R=1 S=1 G=1",
          "N=1 C=1 O=1 D=5 H=3 W=4 U=2 R=1 S=2 G=2 stride=2 dil=2 pad=1"])
op("conv3d_asymmetric",
   lambda t: F.conv3d(t.x, t.w, t.b, stride=triple(t, "stride"), padding=triple(t, "pad"),
                      dilation=triple(t, "dil"), groups=t.G),
   cases=["N=1 C=2 O=2 D=3 H=3 W=4 U=1 R=2 S=3 G=1 pad_w=1",
          "N=1 C=1 O=1 D=1 H=1 W=1 U=1 R=1 S=1 G=1",
          "N=1 C=1 O=1 D=5 H=3 W=4 U=2 R=1 S=2 G=2 stride_d=2 dil_w=2 pad_h=1 stride_h=3"])
op("depthwise_conv2d", lambda t: F.conv2d(t.x, t.w, t.b, stride=t.stride, padding=t.pad,
                                          dilation=t.dil, groups=t.C),
   cases=["N=1 C=3 M=1 H=5 W=4 R=3 S=3 pad=1", "N=1 C=1 M=1 H=1 W=1 R=1 S=1",
          "N=2 C=2 M=2 H=5 W=3 R=2 S=1 stride=2 dil=2 pad=1"])
op("pointwise_conv2d", lambda t: F.conv2d(t.x, t.w[:, :, None, None], t.b),
   cases=["N=2 C=3 O=2 H=2 W=3", "N=1 C=1 O=1 H=1 W=1", "N=1 C=5 O=3 H=3 W=1"])
op("conv2d_bn_relu", lambda t: F.relu(F.batch_norm(F.conv2d(t.x, t.w, stride=t.stride,
                                                            padding=t.pad),
                                                   t.mean, t.var, t.gamma, t.beta, eps=t.eps)),
   cases=["N=1 C=2 O=3 H=5 W=4 R=3 S=3 pad=1", "N=1 C=1 O=1 H=1 W=1 R=1 S=1",
          "N=1 C=1 O=2 H=7 W=6 R=2 S=3 stride=2 pad=1"],
   draws={"var": "uniform(0.1, 2)"})
op("conv_transpose1d", lambda t: F.conv_transpose1d(t.x, t.w, t.b, **transposed(t)),
   cases=["N=2 C=3 O=2 W=4 S=3 G=1 stride=2", "N=1 C=1 O=1 W=1 S=1 G=1",
          "N=1 C=2 O=1 W=5 S=3 G=2 stride=3 pad=2 dil=2 output_pad=1",
          "N=1 C=1 O=2 W=6 S=4 G=1 pad=3"])
op("conv_transpose2d", lambda t: F.conv_transpose2d(t.x, t.w, t.b, **transposed(t)),
   cases=["N=1 C=2 O=3 H=3 W=2 R=3 S=3 G=1 stride=2 pad=1 output_pad=1",
          "N=1 C=1 O=1 H=1 W=1 R=1 S=1 G=1",
          "N=1 C=2 O=1 H=3 W=3 R=2 S=3 G=2 dil=2 pad=1",
          "N=2 C=1 O=1 H=2 W=4 R=3 S=1 G=1 stride=3"])
op("conv_transpose2d_asymmetric",
   lambda t: F.conv_transpose2d(t.x, t.w, t.b, stride=pair(t, "stride"), padding=pair(t, "pad"),
                                dilation=pair(t, "dil"),
                                groups=t.G, output_padding=pair(t, "output_pad")),
   cases=["N=1 C=2 O=2 H=3 W=2 R=3 S=3 G=1 stride_h=2 pad_w=1 output_pad_h=1",
          "N=1 C=1 O=1 H=1 W=1 R=1 S=1 G=1",
          "N=1 C=2 O=1 H=2 W=3 R=2 S=3 G=2 dil_h=2 pad_h=1 stride_w=3 output_pad_w=2"])
op("conv_transpose3d", lambda t: F.conv_transpose3d(t.x, t.w, t.b, **transposed(t)),
   cases=["N=1 C=2 O=1 D=2 H=3 W=2 U=2 R=2 S=2 G=1 pad=1",
          "N=1 C=1 O=1 D=1 H=1 W=1 U=1 R=1 S=1 G=1",
          "N=1 C=1 O=1 D=2 H=1 W=3 U=1 R=2 S=2 G=2 stride=2 dil=2 output_pad=1 pad=1"])
op("conv_transpose3d_asymmetric",
   lambda t: F.conv_transpose3d(t.x, t.w, t.b, stride=triple(t, "stride"),
                                padding=triple(t, "pad"), groups=t.G,
                                output_padding=triple(t, "output_pad")),
   cases=["N=1 C=2 O=1 D=2 H=3 W=2 U=1 R=2 S=3 G=1 pad_w=1 stride_d=2 output_pad_d=1",
          "N=1 C=1 O=1 D=1 H=1 W=1 U=1 R=1 S=1 G=1",
          "N=1 C=1 O=1 D=2 H=1 W=3 U=3 R=2 S=1 G=2 pad_d=1 stride_h=3 output_pad_h=2"])
op("im2col", lambda t: F.unfold(t.x.double(), (t.R, t.S), stride=t.stride, padding=t.pad,
                                dilation=t.dil).to(t.x.dtype),
   cases=["N=2 C=2 H=3 W=3 R=2 S=2", "N=1 C=1 H=1 W=1 R=1 S=1",
          "N=1 C=1 H=5 W=4 R=2 S=3 stride=2 pad=1",
          "N=1 C=1 H=5 W=5 R=2 S=2 dil=3 pad=1"])
op("col2im", lambda t: F.fold(t.x.double(), (t.H, t.W), (t.R, t.S), stride=t.stride, padding=t.pad,
                              dilation=t.dil).to(t.x.dtype),
   cases=["N=2 C=2 H=3 W=3 R=2 S=2", "N=1 C=1 H=1 W=1 R=1 S=1",
          "N=1 C=1 H=5 W=4 R=2 S=3 stride=2 pad=1",
          "N=1 C=1 H=5 W=5 R=2 S=2 dil=3 pad=1"])
