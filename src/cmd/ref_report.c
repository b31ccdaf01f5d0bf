/*
 * The result of `smelt ref` as a table for people and as JSON.
 */
#include <math.h>
#include <string.h>

#include "cmd/ref.h"

enum { REPORT_FIRST = 3, REPORT_COLUMNS = 9 };

/* Over the elements that are numbers; with none of them, `some` is false. */
struct summary {
    bool some;
    double low, high, mean;
    int64_t integer_low, integer_high;
    int64_t nans;
};

static struct summary summarise(const struct array *array)
{
    struct summary summary = {0};
    double sum = 0;
    int64_t numbers = 0;
    for (int64_t i = 0; i < array->count; i++) {
        double value = array->floats ? array->floats[i] : (double)array->integers[i];
        int64_t integer = array->integers ? array->integers[i] : 0;
        if (isnan(value)) {
            summary.nans++;
            continue;
        }
        if (!summary.some || value < summary.low)
            summary.low = value;
        if (!summary.some || value > summary.high)
            summary.high = value;
        if (!summary.some || integer < summary.integer_low)
            summary.integer_low = integer;
        if (!summary.some || integer > summary.integer_high)
            summary.integer_high = integer;
        summary.some = true;
        sum += value;
        numbers++;
    }
    summary.mean = numbers ? sum / (double)numbers : 0;
    return summary;
}

static void print_float(struct text *out, double value)
{
    if (isnan(value)) /* all NaNs are alike: the sign of one is an accident */
        text_add(out, "nan");
    else
        text_printf(out, "%.6g", value);
}

static void print_element(struct text *out, const struct array *array, int64_t at)
{
    if (array->floats)
        print_float(out, array->floats[at]);
    else if (array->dtype == DTYPE_BOOL)
        text_add(out, array->integers[at] ? "true" : "false");
    else
        text_printf(out, "%lld", (long long)array->integers[at]);
}

static void print_limit(struct text *out, const struct array *array, double number, int64_t integer)
{
    if (array->floats)
        print_float(out, number);
    else
        text_printf(out, "%lld", (long long)integer);
}

static const char *shape_of(struct arena *arena, const struct array *array)
{
    struct text text = text_new(arena);
    text_char(&text, '[');
    for (int i = 0; i < array->rank; i++)
        text_printf(&text, "%s%lld", i ? ", " : "", (long long)array->dims[i]);
    text_char(&text, ']');
    return text.at;
}

struct row {
    struct text cell[REPORT_COLUMNS];
};

static void fill_row(struct row *row, struct arena *arena, const struct array *array,
                     const char *role)
{
    struct summary summary = summarise(array);
    for (int i = 0; i < REPORT_COLUMNS; i++)
        row->cell[i] = text_new(arena);
    text_add(&row->cell[0], array->name);
    text_add(&row->cell[1], role);
    text_add(&row->cell[2], dtype_name(array->dtype));
    text_add(&row->cell[3], shape_of(arena, array));
    if (summary.some) {
        print_limit(&row->cell[4], array, summary.low, summary.integer_low);
        print_limit(&row->cell[5], array, summary.high, summary.integer_high);
        print_float(&row->cell[6], summary.mean);
    } else {
        for (int i = 4; i < 7; i++)
            text_char(&row->cell[i], '-');
    }
    text_printf(&row->cell[7], "%lld", (long long)summary.nans);
    for (int64_t i = 0; i < array->count && i < REPORT_FIRST; i++) {
        text_add(&row->cell[8], i ? " " : "");
        print_element(&row->cell[8], array, i);
    }
    if (array->count > REPORT_FIRST)
        text_add(&row->cell[8], " ...");
}

struct rows VECTOR(struct row);

static void print_rows(struct text *out, const struct rows *rows)
{
    size_t widths[REPORT_COLUMNS] = {0};
    for (size_t r = 0; r < rows->count; r++)
        for (int c = 0; c < REPORT_COLUMNS; c++)
            if (rows->at[r].cell[c].length > widths[c])
                widths[c] = rows->at[r].cell[c].length;
    for (size_t r = 0; r < rows->count; r++) {
        for (int c = 0; c < REPORT_COLUMNS; c++) {
            const struct text *cell = &rows->at[r].cell[c];
            bool right = c >= 4 && c < 8, last = c == REPORT_COLUMNS - 1;
            long space = (long)(widths[c] - cell->length);
            text_repeat(out, ' ', right ? space : 0);
            text_add_bytes(out, cell->at, cell->length);
            text_repeat(out, ' ', last ? 0 : 2 + (right ? 0 : space));
        }
        while (out->length && out->at[out->length - 1] == ' ')
            text_truncate(out, out->length - 1);
        text_char(out, '\n');
    }
}

static void add_heading(struct rows *rows, struct arena *arena)
{
    static const char *const titles[] = {"name", "role", "type", "shape", "min",
                                         "max",  "mean", "nan",  "first"};
    struct row *row = vector_add(arena, rows);
    for (int i = 0; i < REPORT_COLUMNS; i++) {
        row->cell[i] = text_new(arena);
        text_add(&row->cell[i], titles[i]);
    }
}

static void print_points(struct text *out, const struct ref_result *result)
{
    for (size_t i = 0; i < result->points.count; i++) {
        const struct ref_point *point = &result->points.at[i];
        text_printf(out, "%s = ", point->text);
        if (dtype_is_float(point->dtype))
            text_double(out, point->value.number);
        else
            text_printf(out, "%lld", (long long)point->value.integer);
        text_char(out, '\n');
    }
}

static void print_footer(struct text *out, const struct ref_result *result)
{
    static const char *const forms[][2] = {
        {"compiled", "the compiled reference"},
        {"interpreter", "the interpreter"},
        {"both", "both forms of the reference, which agree bit for bit,"},
    };
    for (size_t i = 0; i < 3; i++)
        if (strcmp(forms[i][0], result->oracle) == 0)
            text_printf(out, "evaluated by %s in %.3g s\n", forms[i][1], result->seconds);
    if (result->folder)
        text_printf(out, "wrote %s/*.npy\n", result->folder);
}

void ref_print(const struct invocation *invocation, const struct ref_result *result)
{
    struct arena *arena = invocation->arena;
    struct text text = text_new(arena);
    struct rows rows = {0};
    const char *sizes = result->task_case->text;
    text_printf(&text, "%s%s%s%s%s\n", output_bold(invocation), result->part->name,
                output_plain(invocation), sizes && *sizes ? "  " : "", sizes ? sizes : "");
    add_heading(&rows, arena);
    for (int i = 0; i < result->part->input_count; i++)
        fill_row(vector_add(arena, &rows), arena, &result->inputs[i],
                 result->from_file[i] ? "input (file)" : "input");
    for (int i = 0; result->outputs && i < result->part->output_count; i++)
        fill_row(vector_add(arena, &rows), arena, &result->outputs[i], "output");
    print_rows(&text, &rows);
    print_points(&text, result);
    print_footer(&text, result);
    output_text(&text);
}

/* ---- JSON ---- */

static void json_limits(struct json *json, const struct array *array, const struct summary *summary)
{
    if (!summary->some) {
        json_null(json, "min");
        json_null(json, "max");
        json_null(json, "mean");
        return;
    }
    if (array->floats) {
        json_double(json, "min", summary->low);
        json_double(json, "max", summary->high);
    } else {
        json_int(json, "min", summary->integer_low);
        json_int(json, "max", summary->integer_high);
    }
    json_double(json, "mean", summary->mean);
}

static void json_tensor(struct json *json, const struct array *array, const char *role,
                        const char *origin, const char *folder)
{
    struct summary summary = summarise(array);
    json_object(json, NULL);
    json_string(json, "name", array->name);
    json_string(json, "role", role);
    if (origin)
        json_string(json, "origin", origin);
    json_string(json, "type", dtype_name(array->dtype));
    json_array(json, "shape");
    for (int i = 0; i < array->rank; i++)
        json_int(json, NULL, array->dims[i]);
    json_end(json);
    json_limits(json, array, &summary);
    json_int(json, "nan", summary.nans);
    json_array(json, "first");
    for (int64_t i = 0; i < array->count && i < REPORT_FIRST; i++) {
        if (array->floats)
            json_double(json, NULL, array->floats[i]);
        else
            json_int(json, NULL, array->integers[i]);
    }
    json_end(json);
    if (folder) {
        struct text path = text_new(json->out->arena);
        text_printf(&path, "%s/%s.npy", folder, array->name);
        json_string(json, "file", path.at);
    }
    json_end(json);
}

/* Sizes and parameters by name, a rank variable or list as an array. */
static void json_sizes(struct json *json, const struct ref_result *result)
{
    const struct ir_part *part = result->part;
    json_object(json, "sizes");
    for (int i = 0; i < part->symbol_count; i++)
        if (!part->symbols[i].family)
            json_int(json, part->symbols[i].name, result->task_case->sizes[i]);
    for (int f = 0; f < part->family_count; f++) {
        json_array(json, part->families[f].name);
        for (int i = 0; i < part->symbol_count; i++)
            if (part->symbols[i].family &&
                strcmp(part->symbols[i].family, part->families[f].name) == 0)
                json_int(json, NULL, result->task_case->sizes[i]);
        json_end(json);
    }
    for (int i = 0; i < part->scalar_count; i++) {
        double value = result->task_case->scalars[i];
        if (part->scalars[i].dtype == DTYPE_BOOL)
            json_bool(json, part->scalars[i].name, value != 0);
        else
            json_double(json, part->scalars[i].name, value);
    }
    json_end(json);
}

void ref_json(struct json *json, const struct ref_result *result)
{
    json_object(json, NULL);
    json_int(json, "number", result->number);
    json_string(json, "case", result->task_case->text);
    json_sizes(json, result);
    json_string(json, "oracle", result->oracle);
    json_double(json, "seconds", result->seconds);
    json_array(json, "tensors");
    for (int i = 0; i < result->part->input_count; i++)
        json_tensor(json, &result->inputs[i], "input", result->from_file[i] ? "file" : "drawn",
                    result->folder);
    for (int i = 0; result->outputs && i < result->part->output_count; i++)
        json_tensor(json, &result->outputs[i], "output", NULL, result->folder);
    json_end(json);
    json_array(json, "points");
    for (size_t i = 0; i < result->points.count; i++) {
        const struct ref_point *point = &result->points.at[i];
        json_object(json, NULL);
        json_string(json, "point", point->text);
        if (dtype_is_float(point->dtype))
            json_double(json, "value", point->value.number);
        else
            json_int(json, "value", point->value.integer);
        json_end(json);
    }
    json_end(json);
    json_end(json);
}
