/*
 * The formatter: one style, every comment kept, the meaning unchanged, and nothing left to do the
 * second time.
 */
#include <stdio.h>
#include <string.h>

#include "ast_dump.h"
#include "test.h"

static struct ast_file *parse(struct arena *arena, struct map *names, struct source *source)
{
    struct errors errors = errors_new(arena);
    struct ast_file *file = ast_parse(arena, names, source, &errors);
    if (errors.list.count) {
        struct text text = text_new(arena);
        error_render(&text, &errors.list.at[0], false);
        test_fail(__FILE__, __LINE__, "unexpected error: %s\n%s", text.at, source->text);
    }
    return file;
}

/* Formats to `expected`, which formats to itself and means the same. */
static void check_format(const char *given, const char *expected)
{
    struct arena arena = {0};
    struct map names = map_new(&arena);
    struct source one = {"given.op", given, strlen(given)};
    struct source two = {"expected.op", expected, strlen(expected)};
    struct text out = text_new(&arena), again = text_new(&arena);
    struct text meant = text_new(&arena), read = text_new(&arena);
    struct ast_file *file = parse(&arena, &names, &one);
    ast_format(&out, file);
    CHECK_STR(out.at, expected);
    struct ast_file *formatted = parse(&arena, &names, &two);
    ast_format(&again, formatted);
    CHECK_STR(again.at, expected);
    dump_file(&meant, file);
    dump_file(&read, formatted);
    CHECK_STR(read.at, meant.at);
    arena_release(&arena);
}

/* The same for one expression. */
static void check_value(const char *given, const char *expected)
{
    char one[400], two[400];
    snprintf(one, sizeof one, "fn f() = %s", given);
    snprintf(two, sizeof two, "fn f() = %s\n", expected);
    check_format(one, two);
}

TEST(lang_format_needed_parentheses_only)
{
    check_value("((a))+(b*c)", "a + b * c");
    check_value("(a+b)*c", "(a + b) * c");
    check_value("a-(b-c)-(d)", "a - (b - c) - d");
    check_value("a*(b/c)", "a * (b / c)");
    check_value("(-a)^b + -(a^b)", "(-a)^b + -a^b");
    check_value("(a^b)^(c^-d)", "(a^b)^c^-d");
    check_value("a - -b - (-c)", "a - -b - -c");
    check_value("not (a == b) and ((c))", "not a == b and c");
    check_value("(not a) == (b < c)", "(not a) == (b < c)");
    check_value("(a ? b : c) ? (d ? e : f) : (g)", "(a ? b : c) ? d ? e : f : g");
    check_value("(a+b) < (c)", "a + b < c");
    check_value("-(a+b) div (-c)", "-(a + b) div -c");
}

TEST(lang_format_keeps_parentheses_between_and_and_or)
{
    check_value("(a and b) or c and d or (e or f)", "(a and b) or c and d or (e or f)");
    check_value("(a or b) and c", "(a or b) and c");
}

TEST(lang_format_spacing_in_indices)
{
    check_value("x[n,g*C+c,p*stride-pad+r*dil else 0*z]",
                "x[n, g*C + c, p*stride - pad + r*dil else 0 * z]");
    check_value("x[ i/2 , j%3 , k/!4 , (a+b)*c, *b ]", "x[i/2, j%3, k/!4, (a + b)*c, *b]");
    check_value("xs[k+1][i]*f(a*b;p=2*3)", "xs[k + 1][i] * f(a * b; p=2*3)");
    check_value("x[]+x[else 1]", "x[] + x[else 1]");
}

TEST(lang_format_numbers_keep_their_spelling)
{
    check_value("1_000*0x1F+1E-5", "1_000 * 0x1F + 1E-5");
}

TEST(lang_format_lines_up)
{
    check_format("op softmax(x: T[*B, D]) -> (y: T[*B, D]) {            # any type\n"
                 "m[*b] max= x[*b, d]; s[*b] += exp(x[*b, d] - m[*b])\n"
                 "    y[*b, d]  =   exp(x[*b, d] - m[*b]) / s[*b]\n}",
                 "op softmax(x: T[*B, D]) -> (y: T[*B, D]) {  # any type\n"
                 "    m[*b]    max= x[*b, d]\n"
                 "    s[*b]    +=   exp(x[*b, d] - m[*b])\n"
                 "    y[*b, d] =    exp(x[*b, d] - m[*b]) / s[*b]\n"
                 "}\n");
}

TEST(lang_format_lines_up_runs_only)
{
    check_format("op f(x: T[N]) -> (y: T[N]) {\n"
                 "a=1 # one\nbb[i]+=2 # two\n\nccc=3\n# own\ndddd=4\ne: f32[N]\nf[i,j]=5\n"
                 "ggggggggggggggggggggggggggggggggg=6\n}",
                 "op f(x: T[N]) -> (y: T[N]) {\n"
                 "    a     =  1  # one\n"
                 "    bb[i] += 2  # two\n"
                 "\n"
                 "    ccc = 3\n"
                 "    # own\n"
                 "    dddd = 4\n"
                 "    e: f32[N]\n"
                 "    f[i, j] = 5\n"
                 "    ggggggggggggggggggggggggggggggggg = 6\n"
                 "}\n");
}

TEST(lang_format_long_signature)
{
    check_format(
        "op conv2d(x: T[N, G*C, H, W], w: T[G*O, C, R, S], b: T[G*O]; G, stride, dil: int = 1, "
        "pad: int = 0) -> (y: T[N, G*O, P, Q]) let P = (H + 2*pad - dil*(R-1) - 1)/stride + 1, "
        "Q = (W+2*pad-dil*(S-1)-1)/stride+1 where H % 2 == 0, T: float { # head\n"
        "    t: T[N, G*O, P, Q]\n"
        "    t[n, g*O+o, p, q] += x[n, g*C+c, p*stride-pad+r*dil, q*stride-pad+s*dil else 0] * "
        "w[g*O+o, c, r, s]\n"
        "    y[n, k, p, q]      = t[n, k, p, q] + b[k]\n}\n",
        "op conv2d(x: T[N, G*C, H, W], w: T[G*O, C, R, S], b: T[G*O]; G, stride, dil: int = 1, "
        "pad: int = 0)\n"
        "    -> (y: T[N, G*O, P, Q])\n"
        "    let P = (H + 2*pad - dil*(R - 1) - 1)/stride + 1,\n"
        "        Q = (W + 2*pad - dil*(S - 1) - 1)/stride + 1\n"
        "    where H % 2 == 0,\n"
        "          T: float\n"
        "{  # head\n"
        "    t: T[N, G*O, P, Q]\n"
        "    t[n, g*O + o, p, q] += x[n, g*C + c, p*stride - pad + r*dil, q*stride - pad + s*dil "
        "else 0] *\n"
        "            w[g*O + o, c, r, s]\n"
        "    y[n, k, p, q] = t[n, k, p, q] + b[k]\n"
        "}\n");
}

TEST(lang_format_comments_in_odd_places)
{
    check_format("# top\n\n\n\n# more\nfn f(x) = x + # inside\n 1 # after\n"
                 "# before\n"
                 "op g(x: T[N], # the input\n"
                 " # own\n"
                 " y: T[N]) -> (z: T[N]) { # open\n"
                 "\n  # first\n\n\n  a = b + # middle\n c # end\n"
                 "  loop t < N with h = h0 # start\n {\n  next h = h\n } # close\n -> hn\n"
                 "  each k in xs { # each\n }\n\n"
                 "  # last\n\n} # done\n# end",
                 "# top\n"
                 "\n"
                 "# more\n"
                 "# inside\n"
                 "fn f(x) = x + 1  # after\n"
                 "\n"
                 "# before\n"
                 "op g(x: T[N], y: T[N]) -> (z: T[N]) {\n"
                 "    # the input\n"
                 "    # own\n"
                 "    # open\n"
                 "\n"
                 "    # first\n"
                 "\n"
                 "    # middle\n"
                 "    a = b + c  # end\n"
                 "    loop t < N with h = h0 {\n"
                 "        # start\n"
                 "        next h = h\n"
                 "    } -> hn\n"
                 "    # close\n"
                 "    each k in xs {  # each\n"
                 "    }\n"
                 "\n"
                 "    # last\n"
                 "}  # done\n"
                 "\n"
                 "# end\n");
}

TEST(lang_format_items)
{
    check_format("include \"a.op\"\ninclude \"b\\\"c.op\"\nfn f(x)=x\nfn g(x)=x\n\n\nfn h(x)=x\n"
                 "monoid m(a;b)=(a+b) unit (0)\nmonoid n(a,i;b,j)=(a,i)unit(0,1)ordered\n",
                 "include \"a.op\"\n"
                 "include \"b\\\"c.op\"\n"
                 "\n"
                 "fn f(x) = x\n"
                 "fn g(x) = x\n"
                 "\n"
                 "fn h(x) = x\n"
                 "\n"
                 "monoid m(a; b) = a + b unit 0\n"
                 "\n"
                 "monoid n(a, i; b, j) = (a, i) unit (0, 1) ordered\n");
}

TEST(lang_format_task)
{
    check_format(
        "task t of f # head\ndtype T=f32,U=i8\n  input x~normal(0,3)in(0,inf] # one\n\n\n"
        "  accuracy   f32   deterministic\ndeterministic\n"
        "  sizes D in 1 .. 4, E in 1..2*D\n"
        "  case B=[4096],D=1024   time # two\n  case # three\n  baseline torch \"a(x, -1)\"\n"
        "  # inside\n# outside\n",
        "task t of f  # head\n"
        "    dtype T=f32, U=i8\n"
        "    input x ~ normal(0, 3) in (0, inf]  # one\n"
        "\n"
        "    accuracy f32 deterministic\n"
        "    deterministic\n"
        "    sizes D in 1..4, E in 1 .. 2*D\n"
        "    case B=[4096], D=1024 time  # two\n"
        "    case                        # three\n"
        "    baseline torch \"a(x, -1)\"\n"
        "    # inside\n"
        "\n"
        "# outside\n");
}

TEST(lang_format_nothing)
{
    check_format("", "");
    check_format("\n\n  \n", "");
    check_format("\n\n# c", "# c\n");
}

TEST(lang_format_for_messages)
{
    struct arena arena = {0};
    struct map names = map_new(&arena);
    static const char text[] = "op softmax(x, w: T[*B, D]..., i: i32[E] ~ index(V); eps: f32=1e-5)"
                               "->(y: T[*B, D*2]) {\n    y[d] = a ? b*c : x[i-1 else 0]\n}\n";
    struct source source = {"x.op", text, strlen(text)};
    struct ast_file *file = parse(&arena, &names, &source);
    struct text signature = text_new(&arena), value = text_new(&arena);
    ast_print_signature(&signature, &file->items.at[0]->op);
    ast_print_expression(&value, file->items.at[0]->op.body.at[0].value);
    CHECK_STR(signature.at, "softmax(x, w: T[*B, D]..., i: i32[E] ~ index(V); eps: f32 = 1e-5) -> "
                            "(y: T[*B, D*2])");
    CHECK_STR(value.at, "a ? b * c : x[i - 1 else 0]");
    arena_release(&arena);
}
