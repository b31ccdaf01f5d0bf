/*
 * The text form, upper level: the program, its monoids and parts, and what a part declares. Strict:
 * a program that was accepted is as sound as one that was checked, short of what only the prover or
 * ir_bind can tell (reads in bounds, slices that cover, shapes equal at given sizes).
 */
#include <string.h>

#include "ir/text.h"

/* ---- declarations of a part ---- */

static bool parse_symbol(struct reader *r, enum ir_symbol_kind kind)
{
    struct ir_symbol symbol = {.kind = kind};
    bool found;

    if (!reader_next(r))
        return false;
    struct token token = r->token;
    if (!reader_name(r, &symbol.name) || !reader_skip(r, "of", &found))
        return false;
    if (map_has(&r->symbols, symbol.name))
        return reader_fail_at(r, IR_INVALID, token.place, "size '%s' is declared twice",
                              symbol.name);
    if (!reader_room(r, r->symbol_list.count, IR_TEXT_ITEMS, "sizes"))
        return false;
    if (found && !(reader_name(r, &symbol.family) && reader_skip(r, "[", NULL) &&
                   reader_count(r, 0, IR_TEXT_ITEMS, &symbol.member) && reader_skip(r, "]", NULL)))
        return false;
    if (kind == IR_SYMBOL_LET && !(reader_skip(r, "=", NULL) && reader_size(r, &symbol.definition)))
        return false;
    if (kind == IR_SYMBOL_PARAMETER && !reader_skip(r, "=", &symbol.has_default))
        return false;
    if (symbol.has_default && !reader_integer(r, &symbol.value))
        return false;
    vector_push(r->arena, &r->symbol_list, symbol);
    /* The name counts from here on: a let cannot use itself. */
    map_set(&r->symbols, symbol.name, (void *)(intptr_t)r->symbol_list.count);
    return true;
}

static bool parse_size(struct reader *r)
{
    return parse_symbol(r, IR_SYMBOL_SIZE);
}

static bool parse_parameter(struct reader *r)
{
    return parse_symbol(r, IR_SYMBOL_PARAMETER);
}

static bool parse_let(struct reader *r)
{
    return parse_symbol(r, IR_SYMBOL_LET);
}

static bool parse_type(struct reader *r)
{
    struct ir_type type = {0};

    if (!reader_next(r) || !reader_declare(r, &r->types, r->type_list.count, "type", &type.name) ||
        !reader_type(r, &type.dtype))
        return false;
    vector_push(r->arena, &r->type_list, type);
    return true;
}

static bool parse_family(struct reader *r)
{
    struct ir_family family = {0};

    if (!reader_next(r) ||
        !reader_declare(r, &r->families, r->family_list.count, "family", &family.name) ||
        !reader_count(r, 0, IR_TEXT_ITEMS, &family.count))
        return false;
    vector_push(r->arena, &r->family_list, family);
    return true;
}

static bool parse_scalar(struct reader *r)
{
    struct ir_scalar scalar = {0};

    if (!reader_next(r) ||
        !reader_declare(r, &r->scalars, r->scalar_list.count, "scalar", &scalar.name))
        return false;
    struct token token = r->token;
    if (!reader_type(r, &scalar.dtype) || !reader_skip(r, "=", &scalar.has_default))
        return false;
    if (!dtype_is_float(scalar.dtype) && scalar.dtype != DTYPE_BOOL)
        return reader_fail_at(r, IR_INVALID, token.place, "a scalar is a float or a bool");
    token = r->token;
    if (scalar.has_default && !reader_number(r, &scalar.value))
        return false;
    if (scalar.dtype == DTYPE_BOOL && scalar.value != 0 && scalar.value != 1)
        return reader_fail_at(r, IR_INVALID, token.place, "a bool is 0 or 1");
    vector_push(r->arena, &r->scalar_list, scalar);
    return true;
}

static bool parse_fact(struct reader *r)
{
    static const char *const relations[] = {"==", "!=", "<", "<="};
    struct ir_fact fact = {0};

    fact.place = r->token.place;
    if (!reader_room(r, r->fact_list.count, IR_TEXT_ITEMS, "facts") || !reader_next(r) ||
        !reader_size(r, &fact.a))
        return false;
    int relation = 0;
    while (relation < 4 && !reader_is(r, relations[relation]))
        relation++;
    if (relation == 4)
        return reader_fail(r, IR_SYNTAX, "expected a comparison, found '%s'", r->token.text);
    fact.relation = (enum ir_relation)relation;
    if (!reader_next(r) || !reader_size(r, &fact.b))
        return false;
    vector_push(r->arena, &r->fact_list, fact);
    return true;
}

static bool parse_dims(struct reader *r, struct ir_tensor *tensor)
{
    const struct ir_size *dims[IR_MAX_RANK];
    bool more;

    if (!reader_skip(r, "[", NULL))
        return false;
    more = !reader_is(r, "]");
    while (more) {
        if (!reader_room(r, (size_t)tensor->rank, IR_MAX_RANK, "dimensions") ||
            !reader_size(r, &dims[tensor->rank++]) || !reader_skip(r, ",", &more))
            return false;
    }
    const struct ir_size **kept = arena_array(r->arena, (size_t)tensor->rank, sizeof *kept);
    for (int i = 0; i < tensor->rank; i++)
        kept[i] = dims[i];
    tensor->dims = kept;
    return reader_skip(r, "]", NULL);
}

static bool parse_properties(struct reader *r, struct ir_tensor *tensor)
{
    for (size_t i = 0; i < IR_TEXT_PROPERTY_COUNT; i++) {
        const struct ir_text_property *property = &IR_TEXT_PROPERTIES[i];
        struct token token = r->token;
        bool found;
        if (!reader_skip(r, property->name, &found))
            return false;
        if (!found)
            continue;
        tensor->properties |= property->bit;
        if (property->bounded && tensor->bound)
            return reader_fail_at(r, IR_INVALID, token.place,
                                  "a tensor holds an index or offsets, not both");
        if (property->bounded && !(reader_skip(r, "(", NULL) && reader_size(r, &tensor->bound) &&
                                   reader_skip(r, ")", NULL)))
            return false;
        bool fits = tensor->role == IR_TENSOR_INPUT;
        if (property->bounded)
            fits = fits && dtype_is_integer(tensor->dtype);
        if (property->bit & (IR_PROPERTY_OFFSETS | IR_PROPERTY_SORTED))
            fits = fits && tensor->rank >= 1;
        if (property->bit & IR_PROPERTY_TRIANGULAR)
            fits = fits && tensor->rank >= 2;
        if (!fits)
            return reader_fail_at(r, IR_INVALID, token.place, "'%s' cannot be said of '%s'",
                                  property->name, tensor->name);
    }
    return true;
}

/* name or name#number; the number is the tensor's own. */
static bool parse_tensor_name(struct reader *r, const char **name)
{
    size_t number = r->tensor_list.count;
    struct token token = r->token;

    if (token.kind != TOKEN_NAME || token.suffix != '#')
        return reader_declare(r, &r->tensors, number, "tensor", name);
    if ((size_t)token.number != number)
        return reader_fail(r, IR_INVALID, "tensor '%s' is number %zu, not %d", token.text, number,
                           token.number);
    void *known = map_get(&r->tensors, token.text);
    if (known && (intptr_t)known > 0)
        return reader_fail(r, IR_INVALID, "tensor '%s' is declared twice", token.text);
    *name = token.text;
    map_set(&r->tensors, token.text, (void *)(intptr_t)-1);
    return reader_room(r, number, IR_TEXT_ITEMS, "tensors") && reader_next(r);
}

static bool parse_tensor(struct reader *r, enum ir_tensor_role role)
{
    struct ir_tensor tensor = {.role = role, .place = r->token.place};
    bool computed;

    if (!reader_next(r) || !parse_tensor_name(r, &tensor.name) || !reader_skip(r, "~", &computed) ||
        !reader_type(r, &tensor.dtype) || !parse_dims(r, &tensor))
        return false;
    tensor.declared = !computed;
    if (computed && dtype_compute(tensor.dtype) != tensor.dtype)
        return reader_fail_at(r, IR_INVALID, tensor.place,
                              "nothing computes in %s: '%s' must be declared so",
                              dtype_name(tensor.dtype), tensor.name);
    if (!parse_properties(r, &tensor))
        return false;
    vector_push(r->arena, &r->tensor_list, tensor);
    vector_push(r->arena, &r->marks, 0);
    vector_push(r->arena, &r->states, role == IR_TENSOR_INPUT ? TENSOR_DEFINED : 0);
    return true;
}

static bool parse_input(struct reader *r)
{
    return parse_tensor(r, IR_TENSOR_INPUT);
}

static bool parse_output(struct reader *r)
{
    return parse_tensor(r, IR_TENSOR_OUTPUT);
}

static bool parse_temporary(struct reader *r)
{
    return parse_tensor(r, IR_TENSOR_TEMPORARY);
}

static bool parse_state(struct reader *r)
{
    return parse_tensor(r, IR_TENSOR_STATE);
}

/* ---- parts and monoids ---- */

static bool parse_declarations(struct reader *r)
{
    static const struct {
        const char *word;
        bool (*parse)(struct reader *);
    } words[] = {
        {"size", parse_size},     {"parameter", parse_parameter}, {"let", parse_let},
        {"family", parse_family}, {"scalar", parse_scalar},       {"fact", parse_fact},
        {"input", parse_input},   {"output", parse_output},       {"temporary", parse_temporary},
        {"state", parse_state},   {"type", parse_type},
    };
    enum { WORDS = sizeof words / sizeof *words };

    while (!reader_is(r, "signature")) {
        int word = 0;
        while (word < WORDS && !reader_is(r, words[word].word))
            word++;
        if (word == WORDS)
            return reader_fail(r, IR_SYNTAX, "expected a declaration or 'signature', found '%s'",
                               r->token.text);
        if (!words[word].parse(r))
            return false;
    }
    return true;
}

static void part_finish(struct reader *r, struct ir_part *part)
{
    part->types = r->type_list.at;
    part->type_count = (int)r->type_list.count;
    part->symbols = r->symbol_list.at;
    part->symbol_count = (int)r->symbol_list.count;
    part->families = r->family_list.at;
    part->family_count = (int)r->family_list.count;
    part->scalars = r->scalar_list.at;
    part->scalar_count = (int)r->scalar_list.count;
    part->facts = r->fact_list.at;
    part->fact_count = (int)r->fact_list.count;
    part->tensors = r->tensor_list.at;
    part->tensor_count = (int)r->tensor_list.count;
}

/* Forgets the part before. */
static void part_start(struct reader *r)
{
    r->part = arena_new(r->arena, struct ir_part);
    r->types = map_new(r->arena);
    r->symbols = map_new(r->arena);
    r->scalars = map_new(r->arena);
    r->tensors = map_new(r->arena);
    r->families = map_new(r->arena);
    r->type_list = (struct type_list){0};
    r->symbol_list = (struct symbol_list){0};
    r->family_list = (struct family_list){0};
    r->scalar_list = (struct scalar_list){0};
    r->fact_list = (struct fact_list){0};
    r->tensor_list = (struct tensor_list){0};
    r->states = (struct state_list){0};
    r->marks = (struct mark_list){0};
    r->index_list = (struct index_list){0};
}

static bool parse_part(struct reader *r)
{
    struct ir_stage *stages;

    part_start(r);
    struct ir_part *part = r->part;
    if (!reader_next(r))
        return false;
    part->place = r->token.place;
    if (!reader_declare(r, &r->part_names, r->parts.count, "part", &part->name) ||
        !reader_skip(r, "{", NULL) || !parse_declarations(r))
        return false;
    part_finish(r, part);
    if (!reader_next(r) || !reader_tensors(r, &part->inputs, &part->input_count) ||
        !reader_skip(r, "->", NULL) || !reader_tensors(r, &part->outputs, &part->output_count) ||
        !reader_stages(r, &stages, &part->stage_count))
        return false;
    part->stages = stages;
    part->indices = r->index_list.at;
    part->index_count = (int)r->index_list.count;
    if (!check_part(r) || !reader_skip(r, "}", NULL))
        return false;
    vector_push(r->arena, &r->parts, part);
    return true;
}

static bool parse_monoid(struct reader *r)
{
    struct ir_monoid *monoid = arena_new(r->arena, struct ir_monoid);
    int results, units;

    monoid->kind = IR_USER;
    if (!reader_next(r))
        return false;
    struct token token = r->token;
    if (token.kind != TOKEN_NAME || token.suffix != '@' || (size_t)token.number != r->monoids.count)
        return reader_fail(r, IR_SYNTAX, "expected name@%zu, found '%s'", r->monoids.count,
                           token.text);
    if (!reader_room(r, r->monoids.count, IR_TEXT_ITEMS, "monoids"))
        return false;
    monoid->name = token.text;
    r->monoid = monoid;
    if (!reader_next(r) || !reader_skip(r, "width", NULL) ||
        !reader_count(r, 1, IR_TEXT_WIDTH, &monoid->width) ||
        !reader_skip(r, "ordered", &monoid->ordered) || !reader_skip(r, "{", NULL) ||
        !reader_nodes(r, &monoid->nodes) || !reader_skip(r, "results", NULL) ||
        !reader_node_list(r, "(", ")", &monoid->results, &results) ||
        !reader_skip(r, "units", NULL) || !reader_node_list(r, "(", ")", &monoid->units, &units) ||
        !reader_skip(r, "}", NULL))
        return false;
    r->monoid = NULL;
    if (results != monoid->width || units != monoid->width)
        return reader_fail_at(r, IR_INVALID, token.place,
                              "monoid '%s' of width %d has %d results and %d units", monoid->name,
                              monoid->width, results, units);
    if (!reader_check_monoid(r, monoid, token.place))
        return false;
    vector_push(r->arena, &r->monoids, monoid);
    return true;
}

static bool parse_program(struct reader *r)
{
    int version;

    if (!reader_next(r) || !reader_skip(r, "ir", NULL) || !reader_count(r, 1, 1, &version))
        return false;
    while (reader_is(r, "monoid")) {
        if (!parse_monoid(r))
            return false;
    }
    do {
        if (!reader_is(r, "part"))
            return reader_fail(r, IR_SYNTAX, "expected 'part', found '%s'", r->token.text);
        if (!parse_part(r))
            return false;
    } while (r->token.kind != TOKEN_END);
    return true;
}

struct ir_program *ir_parse(struct arena *arena, const struct source *source, struct error *error)
{
    struct reader reader = {
        .arena = arena,
        .source = source,
        .error = error,
        .names = map_new(arena),
        .part_names = map_new(arena),
    };

    if (source->length > IR_TEXT_BYTES) {
        error_set(error, ERROR_IR_LIMIT, "%s is longer than %d bytes", source->name, IR_TEXT_BYTES);
        return NULL;
    }
    if (!parse_program(&reader))
        return NULL;
    struct ir_program *program = arena_new(arena, struct ir_program);
    program->parts = reader.parts.at;
    program->part_count = (int)reader.parts.count;
    return program;
}
