/*
 * smelt llm: which models are configured, whether they answer, what was said to them in a run.
 */
#include <math.h>
#include <string.h>

#include "cmd/stored.h"
#include "os/file.h"
#include "propose/llm/llm.h"
#include "propose/model/model.h"

static const struct option options[] = {
    {.name = "llm-config",
     .argument = "FILE",
     .help = "the file of models (SMELT_LLM_CONFIG, else models.conf below XDG_CONFIG_HOME/smelt "
             "or ~/.config/smelt)"},
    {.name = "out", .letter = 'o', .argument = "FILE", .help = "write the transcript to FILE"},
    OPTION_STORE,
    OPTION_JSON,
    {0},
};

static const struct example examples[] = {
    {"smelt llm list", "the models that are configured, and whether their keys are there"},
    {"smelt llm test fast", "a short question: does it answer, how fast, at what cost"},
    {"smelt llm models fast", "what the server of a model has"},
    {"smelt llm transcript last -o run.transcript", "for smelt run --replay-llm"},
    {0},
};

struct request {
    struct invocation *invocation;
    struct models models;
    const char *where;
};

static bool load(struct request *request)
{
    struct invocation *invocation = request->invocation;
    struct error error = {0};
    if (model_config_load(invocation->arena, option_value(invocation, "llm-config"),
                          &request->models, &request->where, &error))
        return true;
    errors_take(&invocation->errors, &error);
    return false;
}

static const struct model *find(struct request *request, const char *name)
{
    struct invocation *invocation = request->invocation;
    struct error error = {0};
    const struct model *model = model_find(&request->models, name);
    if (!model) {
        error_hint(errors_add(&invocation->errors, ERROR_MODEL_UNKNOWN, (struct place){0},
                              "there is no model '%s' in %s", name, request->where),
                   "smelt llm list shows those there are; docs/llm.md how to write one");
        return NULL;
    }
    if (model_key_check(model, &error))
        return model;
    errors_take(&invocation->errors, &error);
    return NULL;
}

/* ---- list ---- */

static const char *key_state(const struct model *model)
{
    struct error ignored;
    return !model->key_variable && !model->key_file ? "none needed"
           : model_key_check(model, &ignored)       ? "there"
                                                    : "missing or not safe";
}

static enum exit_code do_list(struct request *request)
{
    struct invocation *invocation = request->invocation;
    struct text out = text_new(invocation->arena);
    struct error missing = {0};
    bool transport = model_transport_check(&missing);
    if (invocation->json) {
        struct json json = output_json_begin(invocation, &out);
        json_string(&json, "file", request->where);
        json_bool(&json, "transport", transport);
        json_array(&json, "models");
        for (size_t i = 0; i < request->models.count; i++) {
            const struct model *model = &request->models.at[i];
            json_object(&json, NULL);
            json_string(&json, "name", model->name);
            json_string(&json, "protocol", model->protocol->name);
            json_string(&json, "url", model->url);
            json_string(&json, "id", model->id);
            json_string(&json, "key", key_state(model));
            json_int(&json, "window", (int64_t)model->window);
            json_int(&json, "reply", (int64_t)model->reply);
            json_double(&json, "price_read", model->price_read);
            json_double(&json, "price_written", model->price_written);
            json_int(&json, "at_once", model->at_once);
            json_end(&json);
        }
        json_end(&json);
        return output_json_end(invocation, &json);
    }
    if (request->models.count == 0)
        text_printf(&out,
                    "no models in %s. One is written like this (docs/llm.md says more):\n\n"
                    "model local\n"
                    "    protocol openai\n"
                    "    url      http://127.0.0.1:8080/v1\n"
                    "    id       the-name-its-server-has-for-it\n",
                    request->where);
    else
        text_printf(&out, "%-16s %-10s %8s %8s %12s  %-20s %s\n", "model", "protocol", "window",
                    "reply", "price", "key", "id at url");
    for (size_t i = 0; i < request->models.count; i++) {
        const struct model *model = &request->models.at[i];
        text_printf(&out, "%-16s %-10s %8zu %8zu %5.4g %6.4g  %-20s %s at %s\n", model->name,
                    model->protocol->name, model->window, model->reply, model->price_read,
                    model->price_written, key_state(model), model->id, model->url);
    }
    output_text(&out);
    if (!transport)
        output_note(invocation, "%s; %s", missing.message, missing.hint);
    return EXIT_YES;
}

/* ---- test, models ---- */

static bool ask(struct request *request, const struct model *model,
                const struct model_request *question, struct model_reply *reply)
{
    struct invocation *invocation = request->invocation;
    struct model_client client;
    struct error error = {0};
    bool heard = false;
    if (!model_client_start(&client, &request->models, &error)) {
        errors_take(&invocation->errors, &error);
        return false;
    }
    /* the worker keeps the time; a little more, lest it should not */
    if (model_client_ask(&client, &request->models, model, question))
        heard = model_client_hear(&client, invocation->arena, model->total + 10, reply);
    model_client_stop(&client);
    if (!heard)
        error_set(&error, ERROR_MODEL_FAILED, "model %s: the process that talks to servers ended",
                  model->name);
    else if (reply->fate != MODEL_OK)
        error_set(&error, ERROR_MODEL_FAILED, "model %s: %s", model->name, reply->message);
    if (error.code == ERROR_NONE)
        return true;
    if (heard && reply->fate == MODEL_REFUSED)
        error_hint(&error, "look at its key, url and id in %s", request->where);
    errors_take(&invocation->errors, &error);
    return false;
}

static enum exit_code do_test(struct request *request)
{
    struct invocation *invocation = request->invocation;
    const struct model *model = find(request, invocation->operands.at[1]);
    struct model_request question = {
        .system = "You are asked whether you can be heard. Answer with one word.",
        .turns = {{"user", "Can you hear me? Answer with the word yes."}},
        .turn_count = 1,
        .reply = 256};
    struct model_reply reply = {0};
    struct text out = text_new(invocation->arena);
    if (!model || !ask(request, model, &question, &reply))
        return errors_exit(&invocation->errors);
    double cost = model_cost(model, reply.read, reply.written);
    if (invocation->json) {
        struct json json = output_json_begin(invocation, &out);
        json_string(&json, "model", model->name);
        json_string(&json, "reply", reply.text);
        json_string(&json, "stop", reply.stop);
        json_double(&json, "seconds", reply.seconds);
        json_int(&json, "attempts", reply.attempts);
        json_int(&json, "read", reply.read);
        json_int(&json, "written", reply.written);
        json_bool(&json, "counted", reply.counted);
        json_string(&json, "doubt", reply.doubt);
        json_double(&json, "cost", cost);
        return output_json_end(invocation, &json);
    }
    text_printf(&out, "%s answered in %.2f s (%d attempt%s): %.200s\n", model->name, reply.seconds,
                reply.attempts, reply.attempts == 1 ? "" : "s", reply.text);
    text_printf(&out, "%lld tokens read, %lld written, %.4g of money%s%s\n", (long long)reply.read,
                (long long)reply.written, cost, *reply.doubt ? "; guessed: " : "", reply.doubt);
    output_text(&out);
    return EXIT_YES;
}

static enum exit_code do_models(struct request *request)
{
    struct invocation *invocation = request->invocation;
    const struct model *model = find(request, invocation->operands.at[1]);
    struct model_request question = {.list = true};
    struct model_reply reply = {0};
    if (!model || !ask(request, model, &question, &reply))
        return errors_exit(&invocation->errors);
    if (!invocation->json) {
        output_printf("%s", reply.text);
        return EXIT_YES;
    }
    struct text out = text_new(invocation->arena);
    struct json json = output_json_begin(invocation, &out);
    char *rest = NULL, *names = arena_string(invocation->arena, reply.text);
    json_array(&json, "models");
    for (char *name = strtok_r(names, "\n", &rest); name; name = strtok_r(NULL, "\n", &rest))
        json_string(&json, NULL, name);
    json_end(&json);
    return output_json_end(invocation, &json);
}

/* ---- transcript ---- */

/* Every exchange is kept as a transcript of its own: they are put together. */
static bool write_transcript(struct stored *stored, const char *word, struct text *out,
                             size_t *count)
{
    struct arena *arena = stored->invocation->arena;
    struct store_exchanges list = {0};
    struct error error = {0};
    struct run run;
    if (!stored_run(stored, word, &run))
        return false;
    if (!stored->engine->exchange_list(stored->store, arena, run.id, &list, &error))
        return stored_fail(stored, &error);
    llm_transcript_begin(out);
    for (size_t i = 0; i < list.count; i++) {
        const char *text = stored_object(stored, list.at[i].text);
        const char *after = text ? strchr(text, '\n') : NULL;
        if (!after)
            return false;
        text_add(out, after + 1);
    }
    *count = list.count;
    return true;
}

static enum exit_code do_transcript(struct request *request)
{
    struct invocation *invocation = request->invocation;
    const char *path = option_value(invocation, "out");
    struct text text = text_new(invocation->arena);
    struct stored stored;
    struct error error = {0};
    size_t count = 0;
    if (!stored_open(&stored, invocation, false))
        return errors_exit(&invocation->errors);
    bool fine = write_transcript(&stored, invocation->operands.at[1], &text, &count);
    stored_close(&stored);
    if (!fine)
        return errors_exit(&invocation->errors);
    if (path && !file_write(path, text.at, text.length, 0644, &error)) {
        errors_take(&invocation->errors, &error);
        return error_exit(error.code);
    }
    if (invocation->json) {
        struct text out = text_new(invocation->arena);
        struct json json = output_json_begin(invocation, &out);
        json_int(&json, "exchanges", (int64_t)count);
        json_string(&json, path ? "file" : "transcript", path ? path : text.at);
        return output_json_end(invocation, &json);
    }
    if (!path)
        output_text(&text);
    return EXIT_YES;
}

/* ---- the command ---- */

static const struct action {
    const char *name;
    int words;
    bool needs_models;
    enum exit_code (*run)(struct request *request);
} actions[] = {
    {"list", 0, true, do_list},
    {"test", 1, true, do_test},
    {"models", 1, true, do_models},
    {"transcript", 1, false, do_transcript},
};

static enum exit_code bad_words(struct invocation *invocation, const char *name, const char *what,
                                int wanted)
{
    if (wanted)
        error_hint(errors_add(&invocation->errors, ERROR_USAGE, (struct place){0},
                              "llm %s needs to know which", name),
                   "smelt llm %s %s", name, what);
    else
        errors_add(&invocation->errors, ERROR_USAGE, (struct place){0},
                   "llm %s takes nothing after it", name);
    return EXIT_USAGE;
}

static enum exit_code run(struct invocation *invocation)
{
    struct request request = {.invocation = invocation};
    const char *name = invocation->operands.at[0];
    int words = (int)invocation->operands.count - 1;
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
        if (strcmp(actions[i].name, name) != 0)
            continue;
        if (actions[i].words != words)
            return bad_words(invocation, name, actions[i].needs_models ? "MODEL" : "RUN",
                             actions[i].words);
        if (actions[i].needs_models && !load(&request))
            return errors_exit(&invocation->errors);
        return actions[i].run(&request);
    }
    error_hint(errors_add(&invocation->errors, ERROR_USAGE, (struct place){0},
                          "llm has no action '%s'", name),
               "list, test MODEL, models MODEL or transcript RUN");
    return EXIT_USAGE;
}

const struct command command_llm = {
    .name = "llm",
    .summary = "list and test language models, or print what was said to them in a run",
    .operands = "list|test|models|transcript [MODEL|RUN]",
    .operand_kind = OPERAND_NONE,
    .least = 1,
    .most = 2,
    .description =
        "Language models take part in runs as proposers (smelt run --proposers model:NAME). They "
        "are configured in one plain file; keys are not in it but in the environment or in files "
        "of their own. `list` shows what is configured, `test` asks a model one short question, "
        "`models` asks its server what it has, and `transcript` prints all questions and replies "
        "of a run, from which it can be repeated without the model (smelt run --replay-llm).\n\n"
        "docs/llm.md says how models are configured, what caps there are, and where keys go.",
    .options = options,
    .examples = examples,
    .run = run,
};
