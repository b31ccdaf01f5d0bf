/*
 * Which models there are: one plain file, a block of lines for each.
 *
 *     # comments, empty lines
 *     model fast
 *         protocol openai
 *         url      http://127.0.0.1:8080/v1
 *         id       qwen
 *         key-env  FAST_API_KEY
 *         window   32k
 *         price    0.5 1.5
 *
 * Keys are not in it: it says where they are.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/file.h"
#include "os/secret.h"
#include "propose/llm/llm.h"
#include "propose/model/model.h"

struct reader {
    struct arena *arena;
    const struct source *source;
    struct models *models;
    struct model *model; /* that is being read, or NULL */
    struct place place;  /* of the line */
    struct error *error;
};

static bool fail(struct reader *reader, const char *message, const char *hint)
{
    error_at(reader->error, ERROR_BAD_MODELS, reader->place, "%s", message);
    error_hint(reader->error, "%s", hint);
    return false;
}

/* ---- values ---- */

/* 32k, 1M, 8000 */
static bool read_tokens(const char *text, double least, double most, size_t *tokens)
{
    char *end;
    double amount = strtod(text, &end);
    if (end != text && (*end == 'k' || *end == 'K'))
        amount *= 1000, end++;
    else if (end != text && (*end == 'M' || *end == 'm'))
        amount *= 1e6, end++;
    if (end == text || *end || !(amount >= least) || !(amount <= most))
        return false;
    *tokens = (size_t)amount;
    return true;
}

/* 10s, 5m, 0.5 */
static bool read_seconds(const char *text, double *seconds)
{
    char *end;
    double amount = strtod(text, &end);
    if (end != text && *end == 's')
        end++;
    else if (end != text && *end == 'm')
        amount *= 60, end++;
    if (end == text || *end || !(amount > 0) || !(amount <= 86400))
        return false;
    *seconds = amount;
    return true;
}

static bool read_prices(const char *text, struct model *model)
{
    char *middle, *end;
    double read = strtod(text, &middle);
    if (middle == text)
        return false;
    double written = strtod(middle, &end);
    if (end == middle || *end || !(read >= 0) || !(written >= 0) || !(fmax(read, written) <= 1e6))
        return false;
    model->price_read = read;
    model->price_written = written;
    return true;
}

static bool read_count(const char *text, int most, int *count)
{
    char *end;
    long number = strtol(text, &end, 10);
    if (end == text || *end || number < 1 || number > most)
        return false;
    *count = (int)number;
    return true;
}

static const char *expand_home(struct arena *arena, const char *path)
{
    const char *home = getenv("HOME");
    return path[0] == '~' && path[1] == '/' && home ? arena_printf(arena, "%s%s", home, path + 1)
                                                    : arena_string(arena, path);
}

static bool is_url(const char *text)
{
    return (strncmp(text, "https://", 8) == 0 && text[8]) ||
           (strncmp(text, "http://", 7) == 0 && text[7]);
}

/* On this machine itself, where nobody listens in. */
static bool is_near(const char *url)
{
    static const char *const hosts[] = {"http://127.0.0.1", "http://localhost", "http://[::1]"};
    for (int i = 0; i < 3; i++) {
        size_t length = strlen(hosts[i]);
        if (strncmp(url, hosts[i], length) == 0 &&
            (url[length] == ':' || url[length] == '/' || url[length] == 0))
            return true;
    }
    return false;
}

/* ---- lines ---- */

static bool take_limit(struct reader *reader, const char *value)
{
    if (strspn(value, "abcdefghijklmnopqrstuvwxyz_") != strlen(value))
        return fail(reader, "this is no name of a field", "such as max_completion_tokens");
    reader->model->limit = arena_string(reader->arena, value);
    return true;
}

static bool take_key_variable(struct reader *reader, const char *value)
{
    if (!secret_is_name(value))
        return fail(reader, "this variable is not named like a secret",
                    "let it end in _KEY, _TOKEN or _SECRET: such are taken out of the environment "
                    "of everything smelt starts");
    reader->model->key_variable = arena_string(reader->arena, value);
    return true;
}

static bool take_word(struct reader *reader, const char *word, const char *value)
{
    struct model *model = reader->model;
    struct arena *arena = reader->arena;
    if (strcmp(word, "protocol") == 0)
        return (model->protocol = model_protocol_find(value)) ||
               fail(reader, "there is no such protocol", "openai or anthropic");
    if (strcmp(word, "url") == 0) {
        size_t length = strlen(value);
        while (length > 8 && value[length - 1] == '/')
            length--;
        model->url = arena_copy(arena, value, length);
        return is_url(value) || fail(reader, "this is no address", "such as https://host/v1");
    }
    if (strcmp(word, "id") == 0)
        return (model->id = arena_string(arena, value)) != NULL;
    if (strcmp(word, "key-env") == 0)
        return take_key_variable(reader, value);
    if (strcmp(word, "key-file") == 0)
        return (model->key_file = expand_home(arena, value)) != NULL;
    if (strcmp(word, "limit") == 0)
        return take_limit(reader, value);
    if (strcmp(word, "window") == 0)
        return read_tokens(value, LLM_WINDOW_LEAST, LLM_WINDOW_MOST, &model->window) ||
               fail(reader, "this is no window", "from 8000 to 2000000 tokens, such as 128k");
    if (strcmp(word, "reply") == 0)
        return read_tokens(value, 256, LLM_REPLY_MOST, &model->reply) ||
               fail(reader, "this is no length of a reply", "from 256 to 32000 tokens");
    if (strcmp(word, "price") == 0)
        return read_prices(value, model) ||
               fail(reader, "these are no prices",
                    "two numbers: for a million tokens read, and for a million written");
    if (strcmp(word, "temperature") == 0) {
        char *end;
        model->temperature = strtod(value, &end);
        return (end != value && *end == 0 && model->temperature >= 0 && model->temperature <= 2) ||
               fail(reader, "this is no temperature", "a number from 0 to 2");
    }
    if (strcmp(word, "at-once") == 0)
        return read_count(value, 16, &model->at_once) ||
               fail(reader, "this is no number of requests", "from 1 to 16");
    if (strcmp(word, "attempts") == 0)
        return read_count(value, 10, &model->attempts) ||
               fail(reader, "this is no number of attempts", "from 1 to 10");
    double *seconds = strcmp(word, "connect") == 0 ? &model->connect
                      : strcmp(word, "idle") == 0  ? &model->idle
                      : strcmp(word, "total") == 0 ? &model->total
                                                   : NULL;
    if (seconds)
        return read_seconds(value, seconds) || fail(reader, "this is no time", "such as 10s or 5m");
    return fail(reader, "a model has no such line",
                "it has protocol, url, id, key-env, key-file, window, reply, price, temperature, "
                "limit, at-once, attempts, connect, idle, total");
}

static bool finish_model(struct reader *reader)
{
    struct model *model = reader->model;
    if (!model)
        return true;
    reader->place = model->place;
    const char *lacks = !model->protocol ? "this model lacks a line: protocol"
                        : !model->url    ? "this model lacks a line: url"
                        : !model->id     ? "this model lacks a line: id"
                                         : NULL;
    if (lacks)
        return fail(reader, lacks, "it needs at least protocol, url and id");
    if (model->key_variable && model->key_file)
        return fail(reader, "this model has two keys", "either key-env or key-file");
    if ((model->key_variable || model->key_file) && model->url[4] != 's' && !is_near(model->url))
        return fail(reader, "the key of this model would travel in the clear",
                    "use https, or leave out the key");
    if (!model->limit)
        model->limit = model->protocol->limit;
    if (model->reply == 0)
        model->reply = model->window / LLM_REPLY_SHARE;
    if (model->reply > LLM_REPLY_MOST)
        model->reply = LLM_REPLY_MOST;
    if (model->reply > model->window / 2)
        return fail(reader, "the reply of this model takes more than half of its window",
                    "make reply smaller or window larger");
    return true;
}

static struct model *begin_model(struct reader *reader, const char *name)
{
    struct model *model = vector_add(reader->arena, reader->models);
    *model = (struct model){.name = arena_string(reader->arena, name),
                            .window = 128000,
                            .temperature = -1,
                            .at_once = 1,
                            .attempts = 4,
                            .connect = 10,
                            .idle = 120,
                            .total = 900,
                            .place = reader->place};
    return model;
}

static bool is_name(const char *name)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    return *name && strlen(name) <= 40 && strspn(name, letters) == strlen(name);
}

static bool take_line(struct reader *reader, char *line)
{
    char *word = line + strspn(line, " \t");
    size_t length = strcspn(word, " \t");
    char *value = word + length + strspn(word + length, " \t");
    if (word[length])
        word[length] = 0;
    if (!*word || *word == '#')
        return true;
    for (size_t end = strlen(value); end && strchr(" \t\r", value[end - 1]);)
        value[--end] = 0;
    if (!*value)
        return fail(reader, "this line says nothing", "a word and its value");
    if (strcmp(word, "model") != 0)
        return reader->model
                   ? take_word(reader, word, value)
                   : fail(reader, "this line belongs to no model", "begin with: model NAME");
    struct place place = reader->place;
    if (!finish_model(reader))
        return false;
    reader->place = place;
    if (!is_name(value))
        return fail(reader, "this is no name of a model", "letters, digits, '-', '_' and '.'");
    if (model_find(reader->models, value))
        return fail(reader, "there is a model of this name already", "give it another one");
    if (reader->models->count == MODELS)
        return fail(reader, "there are too many models", "at most 16 in a file");
    reader->model = begin_model(reader, value);
    return true;
}

bool model_config_parse(struct arena *arena, const struct source *source, struct models *models,
                        struct error *error)
{
    struct reader reader = {.arena = arena, .source = source, .models = models, .error = error};
    size_t at = 0;
    while (at < source->length) {
        const char *line = source->text + at, *end = memchr(line, '\n', source->length - at);
        size_t length = end ? (size_t)(end - line) : source->length - at;
        reader.place = (struct place){source, at, length};
        if (memchr(line, 0, length))
            return fail(&reader, "this line is no text", "write it anew");
        if (!take_line(&reader, arena_copy(arena, line, length)))
            return false;
        at += length + 1;
        /* the vector may have moved */
        reader.model = reader.model ? &models->at[models->count - 1] : NULL;
    }
    return finish_model(&reader);
}

/* ---- files and environment ---- */

/* A model that is configured by the environment alone. */
static bool take_environment(struct arena *arena, struct models *models, struct error *error)
{
    static const char *const lines[][2] = {
        {"protocol", "SMELT_LLM_PROTOCOL"}, {"url", "SMELT_LLM_URL"},     {"id", "SMELT_LLM_MODEL"},
        {"window", "SMELT_LLM_WINDOW"},     {"price", "SMELT_LLM_PRICE"},
    };
    struct text text = text_new(arena);
    struct source *source = arena_new(arena, struct source);
    if (!getenv("SMELT_LLM_URL") || !getenv("SMELT_LLM_MODEL"))
        return true;
    text_add(&text, "model env\n");
    if (!getenv("SMELT_LLM_PROTOCOL"))
        text_add(&text, "protocol openai\n");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (getenv(lines[i][1]))
            text_printf(&text, "%s %s\n", lines[i][0], getenv(lines[i][1]));
    if (secret_value("SMELT_LLM_KEY"))
        text_add(&text, "key-env SMELT_LLM_KEY\n");
    *source = (struct source){"the environment", text.at, text.length};
    return model_config_parse(arena, source, models, error);
}

bool model_config_load(struct arena *arena, const char *path, struct models *models,
                       const char **where, struct error *error)
{
    struct source *source = arena_new(arena, struct source);
    const char *given = path ? path : getenv("SMELT_LLM_CONFIG");
    if (given && !*given)
        given = NULL;
    const char *folder = given ? NULL : directory_config(arena, NULL, error);
    if (!given && !folder)
        return false;
    *where = given ? given : arena_printf(arena, "%s/models.conf", folder);
    if (given || access(*where, F_OK) == 0) {
        source->name = *where;
        source->text = file_read(arena, *where, MODEL_CONFIG_BYTES, &source->length, error);
        if (!source->text || !model_config_parse(arena, source, models, error))
            return false;
    }
    return take_environment(arena, models, error);
}

const struct model *model_find(const struct models *models, const char *name)
{
    for (size_t i = 0; i < models->count; i++)
        if (strcmp(models->at[i].name, name) == 0)
            return &models->at[i];
    return NULL;
}

bool model_key_check(const struct model *model, struct error *error)
{
    struct stat about;
    if (model->key_variable && !secret_value(model->key_variable)) {
        error_set(error, ERROR_MODEL_KEY, "the key of model '%s' is not there: %s is not set",
                  model->name, model->key_variable);
        error_hint(error, "export it, or use key-file");
        return false;
    }
    if (!model->key_file)
        return true;
    if (stat(model->key_file, &about) != 0) {
        error_set(error, ERROR_MODEL_KEY, "the key of model '%s' is not there: %s: %s", model->name,
                  model->key_file, strerror(errno));
        error_hint(error, "put it into that file, one line, and chmod 600 it");
        return false;
    }
    if (!S_ISREG(about.st_mode) || about.st_uid != geteuid() || (about.st_mode & 077)) {
        error_set(error, ERROR_MODEL_KEY, "others may read the key of model '%s': %s", model->name,
                  model->key_file);
        error_hint(error, "it must be a file of your own: chmod 600 %s", model->key_file);
        return false;
    }
    return true;
}

double model_cost(const struct model *model, int64_t read, int64_t written)
{
    return ((double)read * model->price_read + (double)written * model->price_written) / 1e6;
}
