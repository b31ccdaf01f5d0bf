/*
 * What is wrong with a result, as a person would see it who lays expected and got side by side:
 * where the wrong elements lie (the tail, edges, whole rows), and what they are instead (twice as
 * much, a neighbour's value, NaN, never written). Words only: whether a result is wrong was decided
 * before.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "judge/private.h"

enum {
    LOOKED_AT = 1 << 18, /* elements compared with other places: enough to be sure */
    EDGE = 2,            /* elements that still count as an edge */
};

/* So much of what is looked at must fit; elements agree by chance, or are off twice. */
static const double MOST = 0.97;

static bool is_wrong(const struct pattern_view *view, int64_t element)
{
    return pattern_error(view, element, element) > 1;
}

static double expected_at(const struct pattern_view *view, int64_t element)
{
    return view->expected->floats ? view->expected->floats[element]
                                  : (double)view->expected->integers[element];
}

/* ---- where ---- */

struct spread { /* of the wrong elements */
    int64_t first, last, count, total, row;
    int64_t step, previous; /* regular: every `step`-th from first on */
    bool regular;
    int64_t rows, full_rows, first_row, last_row; /* with a wrong one, all of them wrong */
    int64_t in_row, current_row;
    int64_t first_column, last_column; /* over all rows */
    int64_t at_edge;
};

static bool at_edge(const struct array *array, int64_t element)
{
    for (int d = array->rank; d-- > 0;) {
        int64_t size = array->dims[d] ? array->dims[d] : 1, index = element % size;
        element /= size;
        if (size > 4 * EDGE && (index < EDGE || index >= size - EDGE))
            return true;
    }
    return false;
}

static void spread_add(struct spread *spread, const struct array *array, int64_t element)
{
    int64_t row = element / spread->row, column = element % spread->row;
    if (spread->count == 0) {
        *spread = (struct spread){.first = element,
                                  .total = spread->total,
                                  .row = spread->row,
                                  .regular = true,
                                  .first_row = row,
                                  .current_row = -1,
                                  .first_column = column,
                                  .last_column = column};
    } else if (spread->count == 1) {
        spread->step = element - spread->previous;
    } else if (element - spread->previous != spread->step) {
        spread->regular = false;
    }
    if (row != spread->current_row) {
        spread->rows++;
        spread->in_row = 0;
    }
    spread->full_rows += ++spread->in_row == spread->row;
    spread->current_row = spread->last_row = row;
    spread->first_column = column < spread->first_column ? column : spread->first_column;
    spread->last_column = column > spread->last_column ? column : spread->last_column;
    spread->at_edge += at_edge(array, element);
    spread->previous = spread->last = element;
    spread->count++;
}

static struct spread spread_of(const struct pattern_view *view)
{
    const struct array *array = view->expected;
    struct spread spread = {.total = array->count,
                            .row = array->rank ? array->dims[array->rank - 1] : 1};
    spread.row = spread.row > 0 ? spread.row : 1;
    for (int64_t i = 0; i < array->count; i++)
        if (is_wrong(view, i))
            spread_add(&spread, array, i);
    return spread;
}

/* Wrong ones fill the columns they lie in, but for chance. */
static bool fills_columns(const struct spread *spread)
{
    int64_t rows = spread->total / spread->row;
    int64_t columns = spread->last_column - spread->first_column + 1;
    return spread->rows > 1 && columns < spread->row &&
           (double)spread->count >= 0.8 * (double)rows * (double)columns;
}

static enum mismatch_place place_of(const struct spread *spread)
{
    int64_t rows = spread->total / spread->row;
    bool last_columns = spread->last_column == spread->row - 1 &&
                        spread->first_column >= spread->row / 2 && spread->row > 1;
    if (spread->count == spread->total)
        return MISMATCH_EVERYWHERE;
    if (spread->count == 1)
        return MISMATCH_SINGLE;
    if (last_columns && (fills_columns(spread) || spread->rows == 1))
        return MISMATCH_TAIL;
    if (spread->regular && spread->step == 1 && spread->last == spread->total - 1)
        return MISMATCH_TAIL;
    if (rows > 1 && spread->full_rows > 0 && spread->rows < rows &&
        (double)spread->count >= 0.9 * (double)spread->rows * (double)spread->row)
        return spread->last_row == rows - 1 && spread->first_row >= rows / 2 &&
                       spread->rows == rows - spread->first_row
                   ? MISMATCH_TAIL
                   : MISMATCH_ROWS;
    if (spread->at_edge == spread->count)
        return MISMATCH_BOUNDARY;
    if (fills_columns(spread))
        return MISMATCH_COLUMNS;
    if (spread->regular && spread->count > 2)
        return MISMATCH_REGULAR;
    return MISMATCH_SCATTERED;
}

static int say_place(const struct spread *spread, enum mismatch_place place, char *out, size_t size)
{
    long long count = spread->count, row = spread->row;
    long long columns = spread->last_column - spread->first_column + 1;
    switch (place) {
    case MISMATCH_EVERYWHERE: return snprintf(out, size, "every element is off");
    case MISMATCH_SINGLE: return snprintf(out, size, "only this element is off");
    case MISMATCH_TAIL:
        if (spread->regular && spread->step == 1 && spread->last == spread->total - 1)
            return snprintf(out, size, "everything from there to the end is off, %lld elements",
                            count);
        if (columns < row)
            return snprintf(out, size, "the last %lld of every row of %lld are off", columns, row);
        return snprintf(out, size, "the last %lld rows are off", (long long)spread->rows);
    case MISMATCH_ROWS:
        return snprintf(out, size, "%lld whole rows of %lld are off, from row %lld on",
                        (long long)spread->rows, (long long)(spread->total / row),
                        (long long)spread->first_row);
    case MISMATCH_COLUMNS:
        return snprintf(out, size, "elements %lld to %lld of every row are off",
                        (long long)spread->first_column, (long long)spread->last_column);
    case MISMATCH_BOUNDARY:
        return snprintf(out, size, "%lld elements are off, all of them at an edge", count);
    case MISMATCH_REGULAR:
        return spread->step == 1 ? snprintf(out, size, "%lld elements in a row are off", count)
                                 : snprintf(out, size, "every %lldth element is off from there on",
                                            (long long)spread->step);
    default:
        return snprintf(out, size, "%lld of %lld elements are off", count,
                        (long long)spread->total);
    }
}

/* ---- what they are instead ---- */

/* All bytes as the buffer was filled with before the call: see launch.c. */
static bool is_unwritten(const struct pattern_view *view, int64_t element)
{
    size_t width = dtype_bytes(view->dtype);
    const unsigned char *at = (const unsigned char *)view->bytes + (size_t)element * width;
    if (width < 2 || (*at != 0xdb && *at != 0x5b && *at != 0xff && *at != 0x7f))
        return false;
    for (size_t i = 1; i < width; i++)
        if (at[i] != at[0])
            return false;
    return true;
}

struct tally { /* over the wrong elements */
    int64_t wrong, nan, unwritten, zero;
    double factor, amount, largest; /* of the one where most was expected */
};

static struct tally tally_of(const struct pattern_view *view, int64_t first)
{
    struct tally tally = {.largest = -1};
    for (int64_t i = first; i < view->expected->count; i++) {
        if (!is_wrong(view, i))
            continue;
        double got = pattern_got(view, i), wanted = expected_at(view, i);
        tally.wrong++;
        tally.unwritten += is_unwritten(view, i);
        tally.nan += isnan(got) && !isnan(wanted);
        tally.zero += got == 0;
        if (isfinite(got) && isfinite(wanted) && fabs(wanted) > tally.largest) {
            tally.largest = fabs(wanted);
            tally.factor = wanted != 0 ? got / wanted : NAN;
            tally.amount = got - wanted;
        }
    }
    return tally;
}

/* Whether all wrong elements are factor * expected + amount, as exactly as that can be told. */
static bool is_linear(const struct pattern_view *view, int64_t first, double factor, double amount)
{
    int64_t seen = 0, fit = 0;
    for (int64_t i = first; i < view->expected->count && seen < LOOKED_AT; i++) {
        if (!is_wrong(view, i))
            continue;
        double got = pattern_got(view, i), wanted = factor * expected_at(view, i) + amount;
        double limit = view->limits && isfinite(view->limits[i]) ? view->limits[i] : 0;
        double slack = 4 * limit * fmax(1, fabs(factor)) + 1e-4 * fabs(wanted);
        seen++;
        fit += fabs(got - wanted) <= slack;
    }
    return seen > 1 && (double)fit >= MOST * (double)seen;
}

/* Dimension d and the next exchanged: what should lie at [a, b] lies at [b, a]. */
static bool is_transposed(const struct pattern_view *view, int d)
{
    const struct array *array = view->expected;
    int64_t rows = array->dims[d], columns = array->dims[d + 1], inner = 1;
    for (int k = d + 2; k < array->rank; k++)
        inner *= array->dims[k];
    int64_t whole = rows * columns * inner, seen = 0, fit = 0;
    if (rows < 2 || columns < 2)
        return false;
    for (int64_t i = 0; i < array->count && seen < LOOKED_AT; i++) {
        int64_t block = i / whole, place = i % whole / inner, rest = i % inner;
        int64_t from = block * whole + (place % rows * columns + place / rows) * inner + rest;
        if (from == i)
            continue;
        seen++;
        fit += pattern_error(view, i, from) <= 1;
    }
    return seen > 1 && (double)fit >= MOST * (double)seen;
}

/* Wrong elements have the value of the one `by` further along dimension d. */
static bool is_shifted(const struct pattern_view *view, int64_t first, int d, int by)
{
    const struct array *array = view->expected;
    int64_t inner = 1, size = array->dims[d], seen = 0, fit = 0;
    for (int k = d + 1; k < array->rank; k++)
        inner *= array->dims[k];
    for (int64_t i = first; i < array->count && seen < LOOKED_AT; i++) {
        int64_t index = i / inner % size + by;
        if (index < 0 || index >= size || !is_wrong(view, i))
            continue;
        seen++;
        fit += pattern_error(view, i, i + by * inner) <= 1;
    }
    return seen > 3 && (double)fit >= MOST * (double)seen;
}

static bool find_neighbour(const struct pattern_view *view, struct comparison *out)
{
    for (int d = 0; !view->sampled && d < view->expected->rank; d++) {
        out->dimension = d;
        for (int by = -1; by <= 1; by += 2)
            if (is_shifted(view, out->element, d, by)) {
                out->change = MISMATCH_SHIFTED;
                out->number = by;
                return true;
            }
        if (d + 1 < view->expected->rank && is_transposed(view, d)) {
            out->change = MISMATCH_TRANSPOSED;
            return true;
        }
    }
    out->dimension = 0;
    return false;
}

static void find_change(const struct pattern_view *view, struct comparison *out)
{
    struct tally tally = tally_of(view, out->element);
    if (2 * tally.unwritten > tally.wrong) {
        out->change = MISMATCH_UNWRITTEN;
    } else if (2 * tally.nan > tally.wrong) {
        out->change = MISMATCH_NAN;
    } else if ((double)tally.zero >= MOST * (double)tally.wrong) {
        out->change = MISMATCH_ZERO;
    } else if (isfinite(tally.factor) && is_linear(view, out->element, tally.factor, 0)) {
        out->change = MISMATCH_SCALED;
        out->number = tally.factor;
    } else if (is_linear(view, out->element, 1, tally.amount)) {
        out->change = MISMATCH_OFFSET;
        out->number = tally.amount;
    } else {
        find_neighbour(view, out);
    }
}

static void say_change(const struct comparison *found, char *out, size_t size)
{
    switch (found->change) {
    case MISMATCH_NAN: snprintf(out, size, "; NaN"); break;
    case MISMATCH_UNWRITTEN: snprintf(out, size, "; never written"); break;
    case MISMATCH_ZERO: snprintf(out, size, "; 0 instead"); break;
    case MISMATCH_SCALED:
        snprintf(out, size, "; %.6g times what is expected", found->number);
        break;
    case MISMATCH_OFFSET:
        snprintf(out, size, "; %.6g %s than expected", fabs(found->number),
                 found->number > 0 ? "more" : "less");
        break;
    case MISMATCH_TRANSPOSED:
        snprintf(out, size, "; dimensions %d and %d are exchanged", found->dimension,
                 found->dimension + 1);
        break;
    case MISMATCH_SHIFTED:
        snprintf(out, size, "; each is what is expected one %s along dimension %d",
                 found->number > 0 ? "further" : "before", found->dimension);
        break;
    default: break;
    }
}

void pattern_find(const struct pattern_view *view, struct comparison *comparison)
{
    struct spread spread = spread_of(view);
    char *out = comparison->pattern;
    size_t size = sizeof comparison->pattern;
    if (spread.count == 0) { /* an index that stands twice: right by itself, wrong beside another */
        snprintf(out, size, "%lld of %lld elements are off", (long long)comparison->wrong,
                 (long long)comparison->total);
        return;
    }
    comparison->place = place_of(&spread);
    if (view->sampled && comparison->place != MISMATCH_EVERYWHERE)
        comparison->place = spread.count == 1 ? MISMATCH_SINGLE : MISMATCH_SCATTERED;
    if (comparison->outcome == OUTCOME_WRONG)
        find_change(view, comparison);
    int length = say_place(&spread, comparison->place, out, size);
    if (length > 0 && (size_t)length < size)
        say_change(comparison, out + length, size - (size_t)length);
}
