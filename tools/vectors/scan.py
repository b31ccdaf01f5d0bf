"""lib/scan.op: scans along one dimension."""
import torch

from vectors import INF, NAN, op

SHAPES = ["B=[2] D=5 A=[3]", "B=[] D=7 A=[]", "B=[3] D=1 A=[2]", "B=[2] D=0 A=[2]", "B=[4] D=6 A=[]"]
SPECIAL = {"x": [NAN, 1.0, INF, 2.0, -INF, 0.0, -INF, INF]}


def scan(name, function, **options):
    op(name, lambda t: function(t.x, len(t.B)), cases=SHAPES, special=SPECIAL,
       special_case="B=[4] D=6 A=[]", **options)


def reverse(x, d):
    return torch.flip(torch.cumsum(torch.flip(x, [d]), d), [d])


def exclusive(x, d):
    """PyTorch has no exclusive scan: the inclusive one, moved by one place."""
    first = torch.zeros_like(x.narrow(d, 0, min(1, x.shape[d])))
    return torch.cat([first, torch.cumsum(x, d)], d).narrow(d, 0, x.shape[d])


def first_places(function):
    """Values by torch.cummax; places by torch.argmax of every prefix: the first among equals,
    where torch.cummax gives the last."""
    values, place = function

    def scan_places(x, d):
        v, i = values(x, d)
        for k in range(x.shape[d]):
            i.select(d, k).copy_(place(x.narrow(d, 0, k + 1), d))
        return v, i
    return scan_places


scan("cumsum", torch.cumsum)
scan("cumsum_exclusive", exclusive)
scan("cumsum_reverse", reverse)
scan("cumsum_reverse_exclusive",
     lambda x, d: torch.flip(exclusive(torch.flip(x, [d]), d), [d]))
scan("cumprod", torch.cumprod)
scan("cummax", first_places((torch.cummax, torch.argmax)))
scan("cummin", first_places((torch.cummin, torch.argmin)))
scan("logcumsumexp", torch.logcumsumexp)
