/*
 * smelt doctor: what this machine has for smelt, what it lacks, and the one command that closes
 * each gap. The checks themselves are in doctor_*.c.
 */
#include "cmd/doctor.h"

#include <string.h>
#include <unistd.h>

static const struct option options[] = {OPTION_JSON, {0}};

static const struct example examples[] = {
    {"smelt doctor", "everything, with a command for every gap"},
    {"smelt doctor >/dev/null || echo something vital is missing", "in a script"},
    {0},
};

struct finding *doctor_add(struct doctor *doctor, const char *group, const char *name,
                           enum finding_state state, const char *format, ...)
{
    struct text text = text_new(doctor->arena);
    va_list arguments;
    va_start(arguments, format);
    text_vprintf(&text, format, arguments);
    va_end(arguments);
    struct finding *finding = vector_add(doctor->arena, &doctor->findings);
    *finding = (struct finding){.group = group, .name = name, .state = state, .what = text.at};
    return finding;
}

/* Packages have other names elsewhere: what can be typed here is said. */
const char *doctor_install(struct doctor *doctor, const char *debian, const char *fedora)
{
    struct arena *arena = doctor->arena;
    const char *as_root = geteuid() == 0 ? "" : "sudo ";
    if (process_find(arena, "apt-get"))
        return arena_printf(arena, "%sapt-get install -y %s", as_root, debian);
    if (process_find(arena, "dnf"))
        return arena_printf(arena, "%sdnf install -y %s", as_root, fedora);
    return arena_printf(arena, "install what Debian calls %s", debian);
}

static const char *const state_names[] = {"ok", "none", "gap", "missing"};

static void print_finding(const struct invocation *invocation, struct text *out,
                          const struct finding *finding)
{
    static const char *const colours[] = {"\033[32m", "", "\033[33m", "\033[31m"};
    bool colour = invocation->colour;
    text_printf(out, "  %-12s %s%-8s%s%s\n", finding->name, colour ? colours[finding->state] : "",
                state_names[finding->state], colour ? "\033[0m" : "", finding->what);
    if (finding->fix)
        text_printf(out, "               -> %s\n", finding->fix);
}

static void print_all(const struct invocation *invocation, const struct doctor *doctor, int gaps,
                      int missing)
{
    struct text out = text_new(invocation->arena);
    const char *group = "";
    for (size_t i = 0; i < doctor->findings.count; i++) {
        const struct finding *finding = &doctor->findings.at[i];
        if (strcmp(group, finding->group) != 0)
            text_printf(&out, "%s%s%s%s\n", *group ? "\n" : "", output_bold(invocation),
                        finding->group, output_plain(invocation));
        group = finding->group;
        print_finding(invocation, &out, finding);
    }
    text_char(&out, '\n');
    if (missing) {
        text_count(&out, (size_t)missing, "thing");
        text_printf(&out, " smelt cannot do without %s missing.\n", missing == 1 ? "is" : "are");
    } else {
        text_add(&out, "Nothing vital is missing");
        if (gaps) {
            text_add(&out, "; ");
            text_count(&out, (size_t)gaps, "gap");
            text_add(&out, " above can be closed");
        }
        text_add(&out, ".\n");
    }
    output_text(&out);
}

static enum exit_code answer_json(struct invocation *invocation, const struct doctor *doctor,
                                  int gaps, int missing)
{
    struct text out = text_new(invocation->arena);
    struct json json = output_json_begin(invocation, &out);
    json_bool(&json, "healthy", missing == 0);
    json_int(&json, "gaps", gaps);
    json_int(&json, "missing", missing);
    json_array(&json, "findings");
    for (size_t i = 0; i < doctor->findings.count; i++) {
        const struct finding *finding = &doctor->findings.at[i];
        json_object(&json, NULL);
        json_string(&json, "group", finding->group);
        json_string(&json, "name", finding->name);
        json_string(&json, "state", state_names[finding->state]);
        json_string(&json, "what", finding->what);
        json_string(&json, "fix", finding->fix);
        json_end(&json);
    }
    json_end(&json);
    return output_json_end(invocation, &json);
}

static enum exit_code run(struct invocation *invocation)
{
    struct doctor doctor = {.arena = invocation->arena};
    int gaps = 0, missing = 0;
    doctor_compilers(&doctor);
    doctor_isolation(&doctor);
    doctor_machine(&doctor);
    doctor_devices(&doctor);
    doctor_libraries(&doctor);
    doctor_own(&doctor);
    for (size_t i = 0; i < doctor.findings.count; i++) {
        gaps += doctor.findings.at[i].state == FINDING_GAP;
        missing += doctor.findings.at[i].state == FINDING_MISSING;
    }
    enum exit_code code = missing ? EXIT_ENVIRONMENT : EXIT_YES;
    if (invocation->json)
        return exit_worse(code, answer_json(invocation, &doctor, gaps, missing));
    print_all(invocation, &doctor, gaps, missing);
    return code;
}

const struct command command_doctor = {
    .name = "doctor",
    .summary = "say what this machine has for smelt, and how to get what it lacks",
    .operands = "",
    .operand_kind = OPERAND_NONE,
    .most = 0,
    .description =
        "Looks at compilers, the layers kernels are confined by, processors and how quiet they "
        "are, devices, optional libraries, and smelt's own files. Each is ok, none (this "
        "machine has no such device), a gap (smelt works, with less) or missing (smelt cannot do "
        "without it); for what is not ok the command that "
        "changes it is shown.\n\n"
        "Nothing is changed. The exit code is 3 when something vital is missing.",
    .options = options,
    .examples = examples,
    .run = run,
};
