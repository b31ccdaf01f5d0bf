"""Vectors of lib/jagged.op. PyTorch has few of these: the others are loops over segments in PyTorch,
written from what the operator is for and not from our formula."""
import numpy
import torch
from vectors import INF, op

ROWS = ["E=7 B=[3] S=4", "E=1 B=[] S=1", "E=5 B=[2,2] S=6", "E=0 B=[2] S=3"]


def segments(t, x=None):
    """The rows of each segment."""
    x = t.x if x is None else x
    return torch.split(x, (t.off[1:] - t.off[:-1]).tolist())


def lengths(t):
    return t.off.diff()


def each(t, function, empty=0.0):
    """function of the rows of each segment, as one row; a number for segments without rows."""
    rows = [function(part) if len(part) else torch.full(part.shape[1:], empty, dtype=part.dtype)
            for part in segments(t)]
    return torch.stack(rows)


def joined(t, parts):
    """Segments put together again."""
    return torch.cat(list(parts))


def reduce(how, empty):
    """torch.segment_reduce takes floats; over integers the sum of each segment."""
    def function(t):
        if t.x.dtype == torch.int64:
            return each(t, lambda part: part.sum(0), 0)
        return torch.segment_reduce(t.x.contiguous(), how, offsets=t.off, axis=0, initial=empty)
    return function


op("jagged_sum", reduce("sum", 0.0), cases=ROWS, special=["x"])
op("jagged_mean", lambda t: each(t, lambda part: part.mean(0)), cases=ROWS, special=["x"])
op("jagged_max", reduce("max", -INF), cases=ROWS, special=["x"])
op("jagged_min", reduce("min", INF), cases=ROWS, special=["x"])
op("jagged_softmax", lambda t: joined(t, [torch.softmax(part, 0) for part in segments(t)]), cases=ROWS,
   special={"x": [-INF, -0.0, 80.0]})
op("jagged_cumsum", lambda t: joined(t, [torch.cumsum(part, 0) for part in segments(t)]), cases=ROWS, special=["x"])
op("jagged_lengths", lambda t: lengths(t), cases=["S=5", "S=1", "S=7", "S=0"])
op("lengths_to_offsets", lambda t: torch.cat([torch.zeros(1, dtype=torch.int64), torch.cumsum(t.lengths, 0)]),
   cases=["S=5", "S=1", "S=7", "S=0"], draws={"lengths": "index(5)"})
op("segment_ids", lambda t: torch.repeat_interleave(torch.arange(t.S), lengths(t)),
   cases=["E=7 S=4", "E=1 S=1", "E=5 S=6", "E=0 S=3"])
op("jagged_expand", lambda t: torch.repeat_interleave(t.x, lengths(t), 0), cases=ROWS, special=["x"])

DENSE = ["E=7 B=[3] S=4 N=3", "E=1 B=[] S=1 N=1", "E=5 B=[2] S=3 N=5", "E=0 B=[2] S=3 N=2", "E=5 B=[] S=2 N=0"]


def reached(t, dense):
    """The rows of a dense tensor that stand beside the rows of segments; zero behind its end."""
    parts = []
    for segment, count in enumerate(lengths(t).tolist()):
        rows = dense[segment, :count]
        missing = torch.zeros((count - len(rows),) + tuple(rows.shape[1:]), dtype=rows.dtype)
        parts.append(torch.cat([rows, missing]))
    return torch.cat(parts)


def padded(parts, count, value):
    """Each part cut or filled up to count rows."""
    out = torch.full((len(parts), count) + tuple(parts[0].shape[1:]), value).to(parts[0].dtype)
    for segment, part in enumerate(parts):
        kept = part[:count]
        out[segment, :len(kept)] = kept
    return out


op("jagged_to_padded_dense", lambda t: padded(segments(t), t.N, t.padding_value),
   cases=[f"{case} padding_value={value}" for case, value in zip(DENSE, (1.5, 0, 2, 1, 3))], special=["x"])
op("dense_to_jagged", lambda t: reached(t, t.x), cases=DENSE, special=["x"])
op("jagged_dense_add", lambda t: t.x + reached(t, t.z), cases=DENSE, special=["x", "z"])
op("jagged_dense_mul", lambda t: t.x * reached(t, t.z), cases=DENSE, special=["z"])
op("jagged_dense_bmm", lambda t: joined(t, [part @ t.w[s] for s, part in enumerate(segments(t))]),
   cases=["E=7 K=3 N=2 S=4", "E=1 K=1 N=1 S=1", "E=5 K=2 N=5 S=3", "E=0 K=2 N=2 S=2", "E=3 K=0 N=2 S=2"])
op("jagged_jagged_bmm",
   lambda t: torch.stack([a.T @ b for a, b in zip(segments(t), segments(t, t.y))]),
   cases=["E=7 M=3 N=2 S=4", "E=1 M=1 N=1 S=1", "E=5 M=2 N=5 S=3", "E=0 M=2 N=2 S=2"])


def truncate(t):
    parts = [part[:t.N] for part in segments(t)]
    rows = torch.cat(parts)[:t.R]
    rest = torch.zeros((t.R - len(rows),) + tuple(t.x.shape[1:]), dtype=t.x.dtype)
    ends = torch.tensor([0] + [len(part) for part in parts]).cumsum(0)
    return torch.cat([rows, rest]), ends


op("jagged_truncate", truncate,
   cases=["E=7 B=[3] S=4 N=2 R=6", "E=1 B=[] S=1 N=1 R=1", "E=9 B=[2] S=3 N=3 R=7", "E=0 B=[2] S=3 N=2 R=0",
          "E=5 B=[] S=2 N=0 R=0"])


def batch_event_truncate(t):
    rows = []
    for feature in t.x:
        kept = [part[max(len(part) - t.N, 0):] for part in segments(t, feature)]
        rows.append(padded(kept, t.N, 0))
    return torch.stack(rows)


op("batch_event_truncate", batch_event_truncate,
   cases=["F=3 E=9 S=3 N=2", "F=1 E=1 S=1 N=1", "F=2 E=7 S=5 N=3", "F=2 E=0 S=2 N=2", "F=2 E=5 S=2 N=0"],
   special=["x"])


def sparse_lengths_sum(t):
    sums, begin = [], 0
    for count in t.lengths.tolist():
        sums.append(t.w[t.ids[begin:begin + count]].sum(0))
        begin += count
    return torch.stack(sums)


op("sparse_lengths_sum", sparse_lengths_sum,
   cases=["V=5 D=3 E=9 S=4", "V=1 D=1 E=3 S=1", "V=3 D=5 E=8 S=5", "V=3 D=2 E=0 S=2"], draws={"lengths": "index(4)"},
   special=["w"])


def map_id(t):
    places = {}
    for place, key in reversed(list(enumerate(t.keys.tolist()))):
        places[key] = place
    return torch.tensor([places.get(value, t.default) for value in t.x.reshape(-1).tolist()],
                        dtype=torch.int64).reshape(t.x.shape)


op("map_id", map_id, cases=["B=[3,5] N=7", "B=[] N=1", "B=[7] N=5 default=99", "B=[3] N=0 default=0"])

FEATURES = ["B=[5] F=3 K=4", "B=[] F=1 K=1", "B=[2,3] F=2 K=5", "B=[3] F=2 K=0", "B=[0] F=2 K=3"]


def buckets(t):
    """NumPy's digitize, feature by feature: borders[i-1] < x <= borders[i]."""
    x, borders = t.x.reshape(-1, t.F), t.borders
    columns = [torch.from_numpy(numpy.digitize(x[:, f].numpy(), borders[f].numpy(), right=True))
               for f in range(t.F)]
    return torch.stack(columns, -1).reshape(t.x.shape)


op("mbdt_bucketize", buckets, cases=FEATURES, special={"x": [INF, -INF, -0.0]})
op("mbdt_merge", lambda t: buckets(t) + torch.arange(t.F) * (t.K + 1), cases=FEATURES,
   special={"x": [INF, -INF, -0.0]})
op("mbdt_one_hot", lambda t: torch.nn.functional.one_hot(buckets(t).to(torch.int64), t.K + 1), cases=FEATURES,
   special={"x": [INF, -INF, -0.0]})


def feature_cross(t):
    """As the dot interaction of DLRM: all products of rows, then the places below the diagonal."""
    row, col = torch.tril_indices(t.F, t.F, -1)
    return (t.x @ t.x.mT)[..., row, col]


VECTORS = ["B=[2] F=4 D=3", "B=[] F=1 D=1", "B=[3] F=3 D=5", "B=[2] F=2 D=0"]
op("feature_cross", feature_cross, cases=VECTORS, special={"x": [float("nan")]})
# The pairs one by one, not the square of the sum less the sum of squares.
op("factorization_machine", lambda t: feature_cross(t).sum(-1), cases=VECTORS)
op("cross_layer", lambda t: t.x0 * torch.nn.functional.linear(t.x, t.w, t.b) + t.x,
   cases=["B=[2,3] D=4", "B=[] D=1", "B=[3] D=5", "B=[0] D=3"])
op("hash_embedding", lambda t: t.w[torch.remainder(t.ids, t.V)],
   cases=["V=5 D=3 B=[2,3]", "V=1 D=1 B=[]", "V=3 D=5 B=[5]", "V=3 D=2 B=[0]"], special=["w"])
op("quotient_remainder_embedding",
   lambda t: t.q[torch.div(t.ids, t.R, rounding_mode="floor")] * t.r[torch.remainder(t.ids, t.R)],
   cases=["Q=3 R=4 D=3 B=[2,3]", "Q=1 R=1 D=1 B=[]", "Q=4 R=3 D=5 B=[5]", "Q=2 R=2 D=2 B=[0]"],
   draws={"ids": "index(Q * R)"})
