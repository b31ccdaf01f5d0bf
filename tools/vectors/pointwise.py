"""lib/pointwise.op: elementwise ops."""
import torch
import torch.nn.functional as F

from vectors import INF, LARGE, NAN, TINY, op

SHAPES = ["B=[2,3]", "B=[7]", "B=[]", "B=[0]", "B=[3,1,2]"]


def with_(*settings, shapes=SHAPES):
    """The shapes, with parameters: the settings in turn."""
    return [f"{shape} {settings[i % len(settings)]}" for i, shape in enumerate(shapes)]


def unary(name, function, settings="", special=("x",), **options):
    cases = with_(settings) if isinstance(settings, str) else with_(*settings)
    op(name, function, cases=cases, special=special, **options)


def binary(name, function, special=("a", "b"), **options):
    op(name, lambda t: function(t.a, t.b), cases=SHAPES, special=special, **options)


def simple(name, function=None, **options):
    function = function or getattr(torch, name)
    unary(name, lambda t: function(t.x), **options)


POSITIVE = {"x": "uniform(0.1, 4)"}
UNIT = {"x": "uniform(-1, 1)"}

# ---- arithmetic ----

for name in ("abs", "neg", "square", "reciprocal"):
    simple(name)
simple("sign", special={"x": [INF, -INF, -0.0, LARGE, TINY]})  # torch.sign(nan) is 0, ours nan
binary("add", torch.add)
binary("sub", torch.sub)
binary("rsub", torch.rsub)
binary("mul", torch.mul)
binary("true_divide", torch.true_divide)
unary("add_scalar", lambda t: torch.add(t.x, t.c), ["c=3", "c=-2"])
unary("mul_scalar", lambda t: torch.mul(t.x, t.c), ["c=3", "c=-2"])
unary("div_scalar", lambda t: torch.true_divide(t.x, t.c), ["c=3", "c=-0.5"])
unary("rsub_scalar", lambda t: torch.rsub(t.x, t.c), ["c=3", "c=1"])

DIVIDENDS = {"a": [NAN, INF, 5.0, -5.0, 3.0, 0.0, -7.0, 7.0, 1.0],
             "b": [1.0, 2.0, INF, INF, 0.0, 0.0, 2.0, -2.0, 0.1]}
for name in ("fmod", "remainder", "floor_divide"):
    op(name, lambda t, f=getattr(torch, name): f(t.a, t.b), cases=SHAPES, special=DIVIDENDS,
       special_case="B=[9]", draws={"a": "normal(0, 5)", "b": "normal(0, 2)"})


def or_zero(function):
    """PyTorch refuses to divide integers by zero; ours gives 0."""
    return lambda t: torch.where(t.b == 0, 0, function(t.a, torch.where(t.b == 0, 1, t.b)))


op("fmod_int", or_zero(torch.fmod), cases=SHAPES)
op("remainder_int", or_zero(torch.remainder), cases=SHAPES)
op("floor_divide_int", or_zero(torch.floor_divide), cases=SHAPES)
op("trunc_divide_int", or_zero(lambda a, b: torch.div(a, b, rounding_mode="trunc")), cases=SHAPES)

PAIRS = {"a": [NAN, 1.0, NAN, INF, -INF, LARGE], "b": [1.0, NAN, NAN, -INF, 2.0, INF]}
for name in ("maximum", "minimum", "fmax", "fmin"):
    binary(name, getattr(torch, name), special=PAIRS)
unary("clamp", lambda t: torch.clamp(t.x, t.low, t.high), ["low=1 high=2", "low=0 high=1"])
op("lerp", lambda t: torch.lerp(t.a, t.b, t.weight),
   cases=with_("weight=0.25", "weight=0.75", "weight=-1.5"))
op("addcmul", lambda t: torch.addcmul(t.x, t.a, t.b, value=t.value),
   cases=with_("", "value=0.25"), special=["x", "a", "b"])
op("addcdiv", lambda t: torch.addcdiv(t.x, t.a, t.b, value=t.value),
   cases=with_("", "value=0.25"), special=["x", "a", "b"])

# ---- powers, exponentials, logarithms ----

for name in ("sqrt", "rsqrt", "log", "log2", "log10", "log1p"):
    simple(name, draws=POSITIVE)
for name in ("exp", "exp2", "expm1"):
    simple(name)
op("pow", lambda t: torch.pow(t.a, t.b), cases=SHAPES, special_case="B=[8]",
   draws={"a": "uniform(0.1, 3)"},
   special={"a": [0.0, -2.0, -2.0, -2.0, NAN, 1.0, INF, 0.5],
            "b": [0.0, 3.0, 2.0, 0.5, 0.0, NAN, -1.0, -INF]})
unary("pow_scalar", lambda t: torch.pow(t.x, t.p), ["p=3", "p=-0.5", "p=0"], draws=POSITIVE)
binary("logaddexp", torch.logaddexp)
binary("xlogy", torch.xlogy, draws={"b": "uniform(0.1, 3)"},
       special={"a": [0.0, 0.0, 0.0, 1.0, NAN, 2.0], "b": [0.0, NAN, INF, 0.0, 1.0, -1.0]})
binary("hypot", torch.hypot)

# ---- trigonometry and special functions ----

for name in ("sin", "cos", "tan", "atan", "sinh", "cosh", "tanh", "asinh", "erf", "erfc"):
    simple(name)
for name in ("asin", "acos", "atanh"):
    simple(name, draws=UNIT)
simple("acosh", draws={"x": "uniform(1, 5)"})
simple("lgamma", draws=POSITIVE)
binary("atan2", torch.atan2)

# ---- rounding and signs ----

for name in ("floor", "ceil", "trunc", "round", "frac"):
    unary(name, lambda t, f=getattr(torch, name): f(t.x), draws={"x": "normal(0, 3)"},
          special={"x": [0.5, 1.5, 2.5, -0.5, -1.5, -2.5, NAN, INF, -INF, -0.0, LARGE, TINY]},
          special_case="B=[12]")
binary("copysign", torch.copysign, special={"a": [NAN, INF, 0.0, 2.0], "b": [-1.0, -0.0, -3.0, INF]})
unary("nan_to_num", lambda t: torch.nan_to_num(t.x, t.value, t.posinf, t.neginf),
      ["posinf=4 neginf=-5", "value=2 posinf=6 neginf=-7"])

# ---- activations ----

for name in ("sigmoid", "relu", "selu"):
    simple(name)
simple("relu6", F.relu6)
for name in ("silu", "mish", "softsign", "hardsigmoid", "hardswish", "tanhshrink",
             "logsigmoid"):
    simple(name, getattr(F, name), draws={"x": "normal(0, 3)"})
simple("logit", draws={"x": "uniform(0.05, 0.9)"}, special={"x": [0.0, 1.0, 2.0, -1.0, NAN]})
simple("gelu", F.gelu)
simple("gelu_tanh", lambda x: F.gelu(x, approximate="tanh"))
unary("leaky_relu", lambda t: F.leaky_relu(t.x, t.slope), ["", "slope=0.25"])
op("prelu", lambda t: F.prelu(t.x, t.w),
   cases=["N=2 C=3 B=[2]", "N=4 C=5 B=[]", "N=1 C=1 B=[1]", "N=0 C=3 B=[2]"], special=["x"])
unary("elu", lambda t: F.elu(t.x, t.alpha), ["", "alpha=0.5"])
unary("celu", lambda t: F.celu(t.x, t.alpha), ["", "alpha=0.5"])
unary("softplus", lambda t: F.softplus(t.x, t.beta, t.threshold), ["", "beta=2 threshold=1"])
unary("hardtanh", lambda t: F.hardtanh(t.x, t.low, t.high), ["", "low=-0.5 high=2"])
unary("softshrink", lambda t: F.softshrink(t.x, t.lambd), ["", "lambd=0.25"])
unary("hardshrink", lambda t: F.hardshrink(t.x, t.lambd), ["", "lambd=0.25"])
unary("threshold", lambda t: F.threshold(t.x, t.limit, t.value),
      ["limit=0.5 value=-1", "limit=-0.5 value=7"])
op("glu", lambda t: F.glu(t.x, len(t.B)), special=["x"],
   cases=["B=[2] D=3 A=[2]", "B=[] D=4 A=[]", "B=[3] D=1 A=[]", "B=[2] D=2 A=[0]"])
binary("swiglu", lambda a, b: F.silu(a) * b)

# ---- choosing and converting ----

op("where_self", lambda t: torch.where(t.c, t.a, t.b), cases=SHAPES, special=["a", "b"])
op("masked_fill", lambda t: torch.masked_fill(t.x, t.mask, t.value), cases=with_("value=1", "value=0"),
   special=["x"])

TORCH_TYPES = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16,
               "bf16": torch.bfloat16, "f8e4": torch.float8_e4m3fn, "f8e5": torch.float8_e5m2,
               "i64": torch.int64, "i32": torch.int32, "i16": torch.int16, "i8": torch.int8,
               "u8": torch.uint8, "u32": torch.int64, "bool": torch.bool}


LIMITS = {"u32": (0, 2**32 - 1)} | {name: (torch.iinfo(type_).min, torch.iinfo(type_).max)
                                    for name, type_ in TORCH_TYPES.items()
                                    if not type_.is_floating_point and type_ != torch.bool
                                    and name != "u32"}


def converted(t):
    """Floats beyond an integer type stop at its limits, which PyTorch leaves open."""
    name = t.types["U"]
    to = TORCH_TYPES[name]
    if t.x.dtype.is_floating_point and name in LIMITS:
        return t.x.clamp(*LIMITS[name]).to(to)
    result = t.x.to(to)
    return result.to(torch.float64) if to.is_floating_point else result


NAMES = list(TORCH_TYPES)
op("_to_copy", converted, cases=["B=[0]"] + [
    f"B={('[5]', '[2,3]', '[7]')[i % 3]} T={name} U={NAMES[(i + step) % 13]}"
    for step in (1, 5) for i, name in enumerate(NAMES)])

# ---- bits ----

for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
    binary(name, getattr(torch, name), special=())
unary("bitwise_not", lambda t: torch.bitwise_not(t.x), special=())
for name in ("bitwise_left_shift", "bitwise_right_shift"):
    binary(name, getattr(torch, name), special=(), draws={"b": "index(8)"})
