"""Recurrent cells and sequences, against torch.nn's modules with the same weights."""
import torch

from vectors import op

CELL = ["B=2 I=3 H=2", "B=1 I=1 H=1", "B=3 I=2 H=3"]
SEQUENCE = ["L=3 B=2 I=3 H=2", "L=1 B=1 I=1 H=1", "L=5 B=1 I=2 H=3"]


def loaded(module, *directions):
    """The module with these weights: (w, u, b, c) of each direction."""
    for suffix, tensors in zip(("", "_reverse"), directions):
        for name, tensor in zip(("weight_ih", "weight_hh", "bias_ih", "bias_hh"), tensors):
            name += ("_l0" if hasattr(module, "weight_ih_l0") else "") + suffix
            getattr(module, name).data.copy_(tensor)
    return module


def of(kind, t, **options):
    return kind(t.I, t.H, dtype=torch.float64, **options)


op("rnn_tanh_cell", lambda t: loaded(of(torch.nn.RNNCell, t), (t.w, t.u, t.b, t.c))(t.x, t.h),
   cases=CELL)
op("rnn_relu_cell",
   lambda t: loaded(of(torch.nn.RNNCell, t, nonlinearity="relu"), (t.w, t.u, t.b, t.c))(t.x, t.h),
   cases=CELL)
op("lstm_cell", lambda t: loaded(of(torch.nn.LSTMCell, t), (t.w, t.u, t.b, t.d))(t.x, (t.h, t.c)),
   cases=CELL)
op("gru_cell", lambda t: loaded(of(torch.nn.GRUCell, t), (t.w, t.u, t.b, t.c))(t.x, t.h),
   cases=CELL)


def plain(kind, t):
    y, hn = loaded(of(kind, t), (t.w, t.u, t.b, t.c))(t.x, t.h0[None])
    return y, hn[0]


def lstm(t):
    y, (hn, cn) = loaded(of(torch.nn.LSTM, t), (t.w, t.u, t.b, t.d))(t.x, (t.h0[None], t.c0[None]))
    return y, hn[0], cn[0]


op("rnn_tanh", lambda t: plain(torch.nn.RNN, t), cases=SEQUENCE)
op("lstm", lstm, cases=SEQUENCE)
op("gru", lambda t: plain(torch.nn.GRU, t), cases=SEQUENCE)


def gru_both(t):
    module = loaded(of(torch.nn.GRU, t, bidirectional=True), (t.w, t.u, t.b, t.c),
                    (t.w_rev, t.u_rev, t.b_rev, t.c_rev))
    y, hn = module(t.x, torch.stack([t.h0, t.h0_rev]))
    return y, hn[0], hn[1]


def lstm_both(t):
    module = loaded(of(torch.nn.LSTM, t, bidirectional=True), (t.w, t.u, t.b, t.d),
                    (t.w_rev, t.u_rev, t.b_rev, t.d_rev))
    y, (hn, cn) = module(t.x, (torch.stack([t.h0, t.h0_rev]), torch.stack([t.c0, t.c0_rev])))
    return y, hn[0], cn[0], hn[1], cn[1]


SMALL = ["L=3 B=1 I=2 H=2", "L=1 B=1 I=1 H=1", "L=4 B=2 I=1 H=2"]
op("gru_bidirectional", gru_both, cases=SMALL, rounds=True)
op("lstm_bidirectional", lstm_both, cases=SMALL, rounds=True)
