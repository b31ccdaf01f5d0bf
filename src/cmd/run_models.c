/*
 * Who proposes in a run: --proposers and what belongs to it. Models are asked with the prompt that
 * `smelt prompt` prints.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/run.h"
#include "os/file.h"

static bool bad(struct invocation *invocation, const char *name, const char *text, const char *hint)
{
    error_hint(errors_add(&invocation->errors, ERROR_USAGE, (struct place){0},
                          "--%s cannot be '%s'", name, text),
               "%s", hint);
    return false;
}

/* ---- words ---- */

struct wish { /* what was asked for, before models are known */
    bool given, experts;
    struct names VECTOR(const char *) models;
};

static bool take_proposers(struct invocation *invocation, const char *option, const char *text,
                           struct wish *wish)
{
    char *rest = NULL, *words = arena_string(invocation->arena, text);
    int count = 0;
    wish->given = true;
    for (char *word = strtok_r(words, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        count++;
        if (strcmp(word, "experts") == 0)
            wish->experts = true;
        else if (strncmp(word, "model:", 6) == 0 && word[6])
            vector_push(invocation->arena, &wish->models, word + 6);
        else
            return bad(invocation, option, text, "such as experts,model:NAME");
    }
    return count > 0 || bad(invocation, option, text, "such as experts,model:NAME");
}

/* ---- models ---- */

/* In a replay a model needs no configuration: what it would say is known. */
static const struct model *find_model(struct run_models *own, struct invocation *invocation,
                                      const char *name, const char *where)
{
    const struct model *found = model_find(&own->models, name);
    struct text names = text_new(invocation->arena);
    if (found || own->replay.count)
        return found;
    for (size_t i = 0; i < own->models.count; i++)
        text_printf(&names, "%s%s", i ? ", " : "", own->models.at[i].name);
    error_hint(errors_add(&invocation->errors, ERROR_MODEL_UNKNOWN, (struct place){0},
                          "there is no model '%s' in %s", name, where),
               own->models.count ? "there are: %s" : "docs/llm.md says how to write one%s",
               own->models.count ? names.at : "");
    return NULL;
}

static void add_replayed(struct run_models *own, struct arena *arena, const char *name)
{
    if (model_find(&own->models, name) || !own->replay.count)
        return;
    struct model *model = vector_add(arena, &own->models);
    *model = (struct model){.name = name,
                            .protocol = model_protocols[0],
                            .url = "transcript",
                            .id = name,
                            .limit = model_protocols[0]->limit,
                            .window = PROMPT_WINDOW,
                            .reply = LLM_REPLY_MOST,
                            .temperature = -1,
                            .at_once = 1};
}

/* islands: a bit each; 0: all. */
static bool add_member(struct run_models *own, struct invocation *invocation, const char *name,
                       unsigned islands, const char *where)
{
    struct models_run *run = &own->run;
    struct error error = {0};
    const struct model *model = find_model(own, invocation, name, where);
    if (!model)
        return false;
    struct models_member *member = NULL;
    for (int i = 0; i < run->count; i++)
        if (run->members[i].model == model)
            member = &run->members[i];
    if (!member && run->count == MODELS)
        return bad(invocation, "proposers", name, "at most 16 models in a run");
    if (!member) {
        member = &run->members[run->count++];
        *member = (struct models_member){.model = model};
    }
    member->islands |= islands;
    if (own->replay.count || model_key_check(model, &error))
        return true;
    errors_take(&invocation->errors, &error);
    return false;
}

/* ---- the transcript ---- */

static bool read_transcript(struct run_models *own, struct invocation *invocation, const char *path)
{
    struct source *source = arena_new(invocation->arena, struct source);
    struct error error = {0};
    source->name = path;
    source->text =
        file_read(invocation->arena, path, LLM_TRANSCRIPT_BYTES, &source->length, &error);
    if (source->text && llm_transcript_parse(invocation->arena, source, &own->replay, &error)) {
        if (own->replay.count)
            return true;
        error_set(&error, ERROR_BAD_TRANSCRIPT, "%s has no exchanges", path);
    }
    errors_take(&invocation->errors, &error);
    return false;
}

/* ---- options ---- */

static bool take_amounts(struct run_models *own, struct invocation *invocation)
{
    double tokens = 0;
    if (!option_number(invocation, "money", 1e9, &own->run.money) ||
        !option_number(invocation, "tokens", 1e12, &tokens))
        return false;
    own->run.tokens = (int64_t)tokens;
    own->run.no_cache = option_given(invocation, "no-llm-cache");
    return true;
}

static bool take_islands(struct run_request *request, struct invocation *invocation,
                         struct wish wishes[SEARCH_ISLANDS])
{
    size_t cursor = 0;
    for (const char *text; (text = option_next(invocation, "island", &cursor));) {
        const char *equals = strchr(text, '=');
        int island = equals ? search_island_find(text, (size_t)(equals - text)) : -1;
        if (island < 0)
            return bad(invocation, "island", text,
                       "such as memory=model:NAME; islands are fusion, memory, instruction, "
                       "latency");
        if (!take_proposers(invocation, "island", equals + 1, &wishes[island]))
            return false;
    }
    if (cursor > 0 && strcmp(request->options.policy->name, "islands") != 0)
        return bad(invocation, "policy", request->options.policy->name,
                   "--island belongs to the policy islands");
    return true;
}

static bool add_members(struct run_request *request, struct invocation *invocation,
                        const struct wish *all, const struct wish *islands)
{
    struct run_models *own = &request->models;
    const char *replay = option_value(invocation, "replay-llm"), *where = "";
    struct error error = {0};
    if (replay && !read_transcript(own, invocation, replay))
        return false;
    if (!model_config_load(invocation->arena, option_value(invocation, "llm-config"), &own->models,
                           &where, &error)) {
        errors_take(&invocation->errors, &error);
        return false;
    }
    /* all are there before any is pointed to */
    for (size_t i = 0; i < all->models.count; i++)
        add_replayed(own, invocation->arena, all->models.at[i]);
    for (int n = 0; n < SEARCH_ISLANDS; n++)
        for (size_t i = 0; i < islands[n].models.count; i++)
            add_replayed(own, invocation->arena, islands[n].models.at[i]);
    bool fine = true;
    for (int n = 0; n < SEARCH_ISLANDS; n++)
        for (size_t i = 0; i < islands[n].models.count; i++)
            fine = fine && add_member(own, invocation, islands[n].models.at[i], 1u << n, where);
    /* those of all islands are on those that have no list of their own */
    unsigned others = 0;
    for (int n = 0; n < SEARCH_ISLANDS; n++)
        others |= islands[n].given ? 0 : 1u << n;
    for (size_t i = 0; i < all->models.count && others; i++)
        fine = fine && add_member(own, invocation, all->models.at[i], others, where);
    return fine;
}

bool run_models_take(struct run_request *request, struct invocation *invocation)
{
    struct wish all = {0}, islands[SEARCH_ISLANDS] = {0};
    const char *text = option_value(invocation, "proposers");
    if (text && !take_proposers(invocation, "proposers", text, &all))
        return false;
    if (!take_islands(request, invocation, islands) || !take_amounts(&request->models, invocation))
        return false;
    bool any = all.models.count > 0;
    request->options.no_experts = text && !all.experts;
    for (int i = 0; i < SEARCH_ISLANDS; i++) {
        bool experts_there = islands[i].given ? islands[i].experts : !text || all.experts;
        request->options.island_no_experts[i] = !experts_there;
        request->options.no_experts &= !experts_there;
        any |= islands[i].models.count > 0;
    }
    if (any)
        return add_members(request, invocation, &all, islands);
    if (request->options.no_experts || option_given(invocation, "replay-llm"))
        return bad(invocation, "proposers", text ? text : "", "name a model: experts,model:NAME");
    return true;
}

/* ---- prompts ---- */

static bool write_prompt(void *context, struct arena *arena, struct search *search,
                         const struct search_node *node, const struct proposer *role, size_t window,
                         struct llm_prompt *prompt, struct error *error)
{
    struct run_request *request = context;
    struct prompted *prompted = &request->models.prompted;
    struct invocation *invocation = request->planned.request.invocation;
    struct invocation inner = *invocation;
    /* the knowledge base is opened once, and lives as long as the run */
    if (!prompted->kb_opened) {
        struct errors unreadable = errors_new(invocation->arena);
        kb_given(invocation, &prompted->kb, &unreadable);
        prompted->kb_opened = true;
    }
    inner.arena = arena;
    inner.errors = errors_new(arena);
    prompted->planned = request->planned;
    prompted->planned.request.invocation = prompted->invocation = &inner;
    prompted->stored = request->stored;
    prompted->stored.invocation = &inner;
    prompted->threads = search->threads;
    prompted->role = role;
    prompted->structure = request->know.structure;
    bool known = node->diagnosis.class != DIAGNOSIS_NONE;
    if (!prompted_about(prompted, &node->record, known ? &node->diagnosis : NULL)) {
        *error = inner.errors.list.at[0];
        return false;
    }
    if (request->options.no_experience) {
        prompted->context.experience_count = 0;
        prompted->context.winner_count = prompted->context.example_count = 0;
    }
    return llm_prompt_build(arena, &prompted->context, window, prompt, error);
}

/* A line of its own, above what is drawn again and again. */
static void say(void *context, const char *text)
{
    struct run_request *request = context;
    run_view_close(&request->view);
    output_note(request->view.invocation, "%s", text);
}

bool run_models_begin(struct run_request *request, struct error *error)
{
    struct models_run *run = &request->models.run;
    if (run->count == 0)
        return true;
    run->models = &request->models.models;
    run->replay = request->models.replay.count ? &request->models.replay : NULL;
    run->prompt = write_prompt;
    run->say = say;
    run->context = request;
    request->options.outside[request->options.outside_count++] = models_outside(run);
    return models_begin(run, error);
}

void run_models_end(struct run_request *request)
{
    struct models_run *run = &request->models.run;
    if (run->count == 0)
        return;
    models_end(run);
    if (request->models.prompted.kb_opened)
        kb_close(&request->models.prompted.kb);
}
