"""lib/loss.op: losses, all with reduction="mean"."""
import warnings

import torch.nn.functional as F

from vectors import INF, NAN, op

warnings.filterwarnings("ignore", message="reduction: 'mean' divides")  # kl_div: what is meant here

SHAPES = ["B=[2,3]", "B=[7]", "B=[]", "B=[0]", "B=[3,1,4]"]
CLASSES = ["N=5 C=4 S=[]", "N=2 C=3 S=[2]", "N=1 C=1 S=[]", "N=2 C=5 S=[2,1]"]
ROWS = ["N=4 D=5", "N=1 D=1", "N=3 D=7", "N=2 D=4"]


def loss(name, function, cases=SHAPES, **options):
    op(name, function, cases=cases, **options)


def with_(*settings, shapes=SHAPES):
    return [f"{shape} {settings[i % len(settings)]}" for i, shape in enumerate(shapes)]


loss("mse_loss", lambda t: F.mse_loss(t.x, t.target), special={"x": [INF]})
loss("l1_loss", lambda t: F.l1_loss(t.x, t.target), special={"x": [NAN]})
loss("smooth_l1_loss", lambda t: F.smooth_l1_loss(t.x, t.target, beta=t.beta), special={"x": [INF]},
     cases=with_("", "beta=0.5", "beta=0", "", "beta=2"))
loss("huber_loss", lambda t: F.huber_loss(t.x, t.target, delta=t.delta), special={"x": [INF]},
     cases=with_("", "delta=0.5", "", "", "delta=2"))
# the last: every target is ignored, and the result is nan
loss("nll_loss", lambda t: F.nll_loss(t.x, t.target, ignore_index=t.ignore_index),
     cases=CLASSES + ["N=6 C=3 S=[] ignore_index=1", "N=2 C=1 S=[2] ignore_index=0"],
     draws={"target": "index(C)"}, special={"x": [NAN, INF]})
loss("cross_entropy", lambda t: F.cross_entropy(t.x, t.target, ignore_index=t.ignore_index,
                                                label_smoothing=t.label_smoothing),
     cases=CLASSES + ["N=6 C=3 S=[] ignore_index=1", "N=2 C=1 S=[2] ignore_index=0",
                      "N=4 C=3 S=[2] label_smoothing=0.25",
                      "N=6 C=3 S=[] ignore_index=2 label_smoothing=0.5"],
     draws={"target": "index(C)", "x": "normal(0, 3)"}, special={"x": [NAN]})
loss("cross_entropy_soft", lambda t: F.cross_entropy(t.x, t.target), cases=CLASSES,
     draws={"target": "uniform(0, 1)"})
loss("binary_cross_entropy", lambda t: F.binary_cross_entropy(t.x, t.target),
     draws={"x": "uniform(0.05, 0.9)", "target": "uniform(0, 1)"},
     special={"x": [0.0, 1.0], "target": [1.0, 0.5]})
loss("binary_cross_entropy_with_logits",
     lambda t: F.binary_cross_entropy_with_logits(t.x, t.target),
     draws={"x": "normal(0, 5)", "target": "uniform(0, 1)"}, special={"x": [800.0, -800.0]})
loss("kl_div", lambda t: F.kl_div(t.x, t.target, reduction="mean"),
     draws={"target": "uniform(0, 1)"}, special={"target": [0.0, 1.0]})
loss("hinge_embedding_loss", lambda t: F.hinge_embedding_loss(t.x, t.target, margin=t.margin),
     draws={"target": "uniform(-1, 1)"}, cases=with_("", "margin=0.5"))
loss("soft_margin_loss", lambda t: F.soft_margin_loss(t.x, t.target))
loss("margin_ranking_loss", lambda t: F.margin_ranking_loss(t.a, t.b, t.target, margin=t.margin),
     cases=with_("", "margin=0.5"))
loss("poisson_nll_loss", lambda t: F.poisson_nll_loss(t.x, t.target),
     draws={"target": "uniform(0, 5)"})
loss("gaussian_nll_loss", lambda t: F.gaussian_nll_loss(t.x, t.target, t.variance, eps=t.eps),
     draws={"variance": "uniform(0.1, 2)"}, cases=with_("", "eps=0.5", shapes=SHAPES[:2] + SHAPES[4:]))
loss("cosine_similarity", lambda t: F.cosine_similarity(t.a, t.b, dim=len(t.B), eps=t.eps),
     cases=["B=[2] D=5 A=[3]", "B=[] D=7 A=[]", "B=[3] D=1 A=[] eps=4", "B=[2] D=0 A=[2]"])
loss("cosine_embedding_loss",
     lambda t: F.cosine_embedding_loss(t.a, t.b, t.target, margin=t.margin),
     draws={"target": "uniform(-1, 1)"}, cases=with_("", "margin=-0.5", shapes=ROWS))
loss("triplet_margin_loss",
     lambda t: F.triplet_margin_loss(t.anchor, t.positive, t.negative, margin=t.margin, eps=t.eps),
     cases=with_("", "margin=0.5", shapes=ROWS))
loss("multi_margin_loss", lambda t: F.multi_margin_loss(t.x, t.target, margin=t.margin),
     cases=["N=5 C=4", "N=1 C=1", "N=3 C=7 margin=0.5"], draws={"target": "index(C)"})
