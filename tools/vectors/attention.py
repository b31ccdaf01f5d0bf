"""Attention and rotary embeddings. A fully masked row is zero, in PyTorch as here."""
import math

import torch
import torch.nn.functional as F

from vectors import INF, NAN, op

QKV = ["B=[2] L=3 S=4 E=2 D=3", "B=[] L=1 S=1 E=1 D=1", "B=[2,1] L=2 S=5 E=3 D=2",
       "B=[0] L=2 S=3 E=2 D=2"]
SELF = ["B=[2] L=4 E=2 D=3", "B=[] L=1 E=1 D=1", "B=[1,2] L=5 E=3 D=2"]


def masked(t, mask, k=None, v=None):
    """By plain expressions: what is masked counts as -inf, and a row of -inf only gives zeros."""
    k = t.k if k is None else k
    v = t.v if v is None else v
    scores = t.q @ k.transpose(-1, -2) / math.sqrt(t.E)
    weights = torch.softmax(scores.masked_fill(~mask, -INF), -1)
    return torch.nan_to_num(weights, nan=0.0) @ v


op("scaled_dot_product_attention", lambda t: F.scaled_dot_product_attention(t.q, t.k, t.v),
   cases=QKV, special={"q": [NAN], "v": [NAN, INF]})


def causal(t):
    if t.offset == 0:
        return F.scaled_dot_product_attention(t.q, t.k, t.v, is_causal=True)
    return masked(t, torch.ones(t.L, t.S, dtype=torch.bool).tril(t.offset))


op("attention_causal", causal,
   cases=QKV + ["B=[2] L=2 S=5 E=3 D=2 offset=3", "B=[1] L=4 S=3 E=2 D=2 offset=-1"])


def window(t):
    ones = torch.ones(t.L, t.L, dtype=torch.bool)
    return F.scaled_dot_product_attention(t.q, t.k, t.v,
                                          attn_mask=ones.tril() & ones.triu(1 - t.window))


op("attention_window", window, cases=[SELF[0] + " window=2", SELF[1] + " window=1",
                                      SELF[2] + " window=3", SELF[2] + " window=9"])


def softcap(t):
    """Not in PyTorch but by flex_attention's score_mod: plain expressions."""
    scores = torch.einsum("...le,...te->...lt", t.q, t.k) * t.E ** -0.5
    scores = (scores / t.cap).tanh() * t.cap
    mask = torch.triu(torch.full((t.L, t.L), -INF, dtype=torch.float64), 1)
    return torch.softmax(scores + mask, -1) @ t.v


op("attention_softcap", softcap, cases=[SELF[0] + " cap=1.5", SELF[1], SELF[2] + " cap=30.0"])
# the draws leave some queries without any key
op("attention_masked", lambda t: F.scaled_dot_product_attention(t.q, t.k, t.v, attn_mask=t.mask),
   cases=QKV + ["B=[3] L=4 S=2 E=2 D=1"])
op("attention_key_padding",
   lambda t: F.scaled_dot_product_attention(t.q, t.k, t.v,
                                            attn_mask=t.keep[:, None, None, :].expand(t.N, t.H,
                                                                                      t.L, t.S)),
   cases=["N=2 H=1 L=3 S=4 E=2 D=2", "N=1 H=1 L=1 S=1 E=1 D=1", "N=3 H=2 L=2 S=2 E=1 D=2"])
op("attention_bias", lambda t: F.scaled_dot_product_attention(t.q, t.k, t.v, attn_mask=t.bias),
   cases=["N=2 H=2 L=3 S=4 E=2 D=1", "N=1 H=1 L=1 S=1 E=1 D=1", "N=1 H=3 L=2 S=5 E=3 D=2"],
   special={"bias": [-INF] * 20})
op("attention_multi_query",
   lambda t: F.scaled_dot_product_attention(t.q, t.k[:, None], t.v[:, None], enable_gqa=True),
   cases=["N=2 H=2 L=3 S=4 E=2 D=2", "N=1 H=1 L=1 S=1 E=1 D=1", "N=1 H=3 L=2 S=5 E=3 D=2"])


def grouped(t):
    mask = torch.ones(t.L, t.S, dtype=torch.bool).tril(t.offset)
    return F.scaled_dot_product_attention(t.q, t.k, t.v, attn_mask=mask, enable_gqa=True)


op("attention_grouped_query", grouped,
   cases=["N=1 H=2 G=2 L=3 S=3 E=2 D=2", "N=1 H=1 G=1 L=1 S=1 E=1 D=1",
          "N=2 H=1 G=3 L=2 S=5 E=3 D=1 offset=3"])


def alibi(t):
    place = torch.arange(t.L)
    bias = (place[None, :] - place[:, None]) * t.slope[:, None, None]
    bias = bias.masked_fill(place[None, :] > place[:, None], -INF)
    return F.scaled_dot_product_attention(t.q, t.k, t.v, attn_mask=bias, enable_gqa=True)


op("attention_grouped_alibi", alibi,
   cases=["N=1 H=2 G=2 L=4 E=2 D=1", "N=1 H=1 G=1 L=1 E=1 D=1", "N=2 H=1 G=3 L=3 E=3 D=2"],
   draws={"slope": "uniform(0, 1)"})


def layer(t):
    module = torch.nn.MultiheadAttention(t.C, t.H, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        module.in_proj_weight.copy_(t.w)
        module.in_proj_bias.copy_(t.b)
        module.out_proj.weight.copy_(t.out_w)
        module.out_proj.bias.copy_(t.out_b)
        mask = torch.ones(t.L, t.L, dtype=torch.bool).triu(1) if t.causal else None
        return module(t.x, t.x, t.x, attn_mask=mask, need_weights=False)[0]


# nn.MultiheadAttention wants C = H E
op("multi_head_attention", layer,
   cases=["N=2 L=3 C=4 H=2 E=2", "N=1 L=1 C=1 H=1 E=1", "N=1 L=5 C=3 H=3 E=1 causal=true",
          "N=2 L=2 C=3 H=1 E=3"])


def turned(t):
    """Pairs as complex numbers times e^(i angle), as the RoFormer paper has it; not in PyTorch."""
    place = torch.arange(t.start, t.start + t.L, dtype=torch.float64)
    rate = 1.0 / t.base ** (torch.arange(0, 2 * t.D, 2, dtype=torch.float64) / (2 * t.D))
    return torch.polar(torch.ones(t.L, t.D, dtype=torch.float64), torch.outer(place, rate))


def halves(t):
    z = torch.complex(t.x[..., :t.D], t.x[..., t.D:]) * turned(t)
    return torch.cat([z.real, z.imag], -1)


def neighbours(t):
    z = torch.view_as_complex(t.x.reshape(*t.x.shape[:-1], t.D, 2)) * turned(t)
    return torch.view_as_real(z).flatten(-2)


ROPE = ["B=[2] L=3 D=2", "B=[] L=1 D=1", "B=[1,2] L=4 D=3 base=100.0 start=7"]
op("rope", halves, cases=ROPE)
op("rope_interleaved", neighbours, cases=ROPE)
