"""Backward forms, against ATen's own backward functions or autograd."""
import torch
import torch.nn.functional as F

from vectors import op

aten = torch.ops.aten
POINTWISE = ["B=[3,7]", "B=[]", "B=[1]", "B=[2,0]"]


def gradients(function, inputs, g):
    """By autograd: the gradients of function(*inputs) by its inputs, for g at its output."""
    inputs = [input.clone().requires_grad_() for input in inputs]
    return torch.autograd.grad(function(*inputs), inputs, g)


op("threshold_backward", lambda t: aten.threshold_backward(t.g, t.x, t.threshold),
   cases=POINTWISE + ["B=[9] threshold=0.5"], special=["x", "g"])
op("leaky_relu_backward", lambda t: aten.leaky_relu_backward(t.g, t.x, t.slope, False),
   cases=POINTWISE + ["B=[9] slope=0.25"], special=["x"])
op("elu_backward", lambda t: aten.elu_backward(t.g, t.alpha, 1.0, 1.0, False, t.x),
   cases=POINTWISE + ["B=[9] alpha=0.5"], special=["x"])
op("gelu_backward", lambda t: aten.gelu_backward(t.g, t.x), cases=POINTWISE,
   draws={"x": "normal(0, 2)"}, special=["x"])
op("gelu_tanh_backward", lambda t: aten.gelu_backward(t.g, t.x, approximate="tanh"),
   cases=POINTWISE, draws={"x": "normal(0, 2)"}, special=["x"])
op("sigmoid_backward", lambda t: aten.sigmoid_backward(t.g, t.y), cases=POINTWISE,
   draws={"y": "uniform(0, 1)"}, special=["g"])
op("tanh_backward", lambda t: aten.tanh_backward(t.g, t.y), cases=POINTWISE,
   draws={"y": "uniform(-1, 1)"}, special=["g"])
op("silu_backward", lambda t: aten.silu_backward(t.g, t.x), cases=POINTWISE,
   draws={"x": "normal(0, 2)"}, special=["x"])

ROWS = ["B=[2,3] D=5", "B=[] D=1", "B=[4] D=11", "B=[0] D=3"]
op("_softmax_backward_data", lambda t: aten._softmax_backward_data(t.g, t.y, -1, torch.float64),
   cases=ROWS, draws={"y": "uniform(0, 1)"})
op("_log_softmax_backward_data", lambda t: aten._log_softmax_backward_data(t.g, t.y, -1,
                                                                           torch.float64),
   cases=ROWS, draws={"y": "uniform(-3, 0)"})
op("native_layer_norm_backward",
   lambda t: aten.native_layer_norm_backward(t.g, t.x, [t.D], t.mean[..., None], t.rstd[..., None],
                                             t.w, torch.zeros_like(t.w),
                                             [True, True, True]),
   cases=["B=[2,3] D=5", "B=[1] D=1", "B=[4] D=11"], draws={"rstd": "uniform(0.5, 2)"})
op("rms_norm_backward", lambda t: gradients(lambda x, w: F.rms_norm(x, [t.D], w, t.eps),
                                            [t.x, t.w], t.g),
   cases=["B=[2,3] D=5", "B=[] D=1 eps=0.5", "B=[4] D=11 eps=0.125"])
op("native_batch_norm_backward",
   lambda t: aten.native_batch_norm_backward(t.g, t.x, t.w, None, None, t.mean, t.rstd, True, 1e-5,
                                             [True, True, True]),
   cases=["N=2 C=3 B=[2,2]", "N=1 C=1 B=[1]", "N=5 C=2 B=[]", "N=2 C=1 B=[3]"],
   draws={"rstd": "uniform(0.5, 2)"})
op("linear_backward", lambda t: gradients(F.linear, [t.x, t.w, t.g.new_zeros(t.N)], t.g),
   cases=["B=[2,3] K=4 N=5", "B=[1] K=1 N=1", "B=[3] K=7 N=2"])
op("embedding_dense_backward", lambda t: aten.embedding_dense_backward(t.g, t.ids, t.V, t.padding,
                                                                       False),
   cases=["B=[5] V=4 D=3", "B=[2,3] V=2 D=2 padding=1", "B=[1] V=1 D=1", "B=[0] V=3 D=2"])
op("mse_loss_backward", lambda t: aten.mse_loss_backward(t.g, t.x, t.target, 1),
   cases=["B=[3,7]", "B=[]", "B=[5]"])
op("binary_cross_entropy_with_logits_backward",
   lambda t: gradients(lambda x: F.binary_cross_entropy_with_logits(x, t.target), [t.x], t.g),
   cases=["B=[3,7]", "B=[]", "B=[5]"], draws={"target": "uniform(0, 1)"})
op("nll_loss_backward",
   lambda t: aten.nll_loss_backward(t.g, torch.zeros(t.N, t.C, dtype=torch.float64), t.target,
                                    None, 1, -100,
                                    torch.tensor(float(t.N), dtype=torch.float64)),
   cases=["N=4 C=5", "N=1 C=1", "N=7 C=3"])
op("cross_entropy_backward", lambda t: gradients(lambda x: F.cross_entropy(x, t.target), [t.x],
                                                 t.g),
   cases=["N=4 C=5", "N=1 C=1", "N=7 C=3"])


def conv(t, x, w):
    return F.conv2d(x, w, stride=t.stride, padding=t.pad, dilation=t.dil, groups=t.G)


CONV = ["N=1 C=2 O=3 G=1 H=5 W=4 R=3 S=3 P=5 Q=4 pad=1", "N=1 C=1 O=1 G=1 H=1 W=1 R=1 S=1 P=1 Q=1",
        "N=1 C=1 O=2 G=2 H=7 W=6 R=2 S=3 P=4 Q=3 stride=2 pad=1",
        "N=2 C=1 O=1 G=1 H=6 W=7 R=3 S=2 P=1 Q=2 dil=2 stride=3"]
op("conv2d_backward_input",
   lambda t: gradients(lambda x: conv(t, x, t.w), [t.g.new_zeros(t.N, t.G * t.C, t.H, t.W)], t.g),
   cases=CONV)
op("conv2d_backward_weight",
   lambda t: gradients(lambda w: conv(t, t.x, w), [t.g.new_zeros(t.G * t.O, t.C, t.R, t.S)], t.g),
   cases=CONV)
op("avg_pool2d_backward",
   lambda t: gradients(lambda x: F.avg_pool2d(x, t.size, t.stride, t.pad),
                       [t.g.new_zeros(*t.B, t.H, t.W)], t.g),
   cases=["B=[2,1] H=5 W=4 P=2 Q=2 size=2 stride=2", "B=[1] H=1 W=1 P=1 Q=1 size=1 stride=1",
          "B=[2] H=5 W=6 P=3 Q=3 size=3 stride=2 pad=1"])
op("max_pool2d_with_indices_backward",
   # ATen's takes only indices that its own forward pass gave; any drawn ones do here
   lambda t: t.g.new_zeros(*t.B, t.H * t.W).scatter_add(-1, t.i.flatten(-2),
                                                        t.g.flatten(-2)).reshape(*t.B, t.H, t.W),
   cases=["B=[2,1] H=5 W=4 P=2 Q=2", "B=[1] H=1 W=1 P=1 Q=1", "B=[2] H=3 W=3 P=3 Q=2"])
op("scaled_dot_product_attention_backward",
   lambda t: gradients(F.scaled_dot_product_attention, [t.q, t.k, t.v], t.g),
   cases=["B=[2] L=3 S=4 E=2 D=3", "B=[] L=1 S=1 E=1 D=1", "B=[2,1] L=2 S=5 E=3 D=2"])
