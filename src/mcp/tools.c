/*
 * The tools: one row each, a command of smelt and what may be said with it.
 *
 * To add one: a table of parameters and a row below. docs/agents.md has the same table, compared by
 * a test (smelt mcp --tools).
 */
#include <string.h>

#include "mcp/private.h"

/* ---- parameters that several tools have ---- */

#define TASK(needed)                                                                             \
    {                                                                                            \
        .name = "task", .way = MCP_OPERAND, .required = (needed),                                \
        .help = "the path of an op file with a task, as list_tasks gives it, or the name of an " \
                "op of the library"                                                              \
    }
#define SIZES                                                                                     \
    {                                                                                             \
        .name = "sizes", .type = MCP_LIST, .way = MCP_OPERANDS,                                   \
        .help = "of an op of the library: its sizes and types, such as [\"B=[64]\", \"D=1024\", " \
                "\"T=f32\"]"                                                                      \
    }
#define RUN(needed, way_of)                                                                 \
    {                                                                                       \
        .name = "run", .way = (way_of), .required = (needed),                               \
        .help = "a run: its number, the name of its task (the newest run of it), or 'last'" \
    }
#define KERNEL                                                                         \
    {                                                                                  \
        .name = "kernel", .way = MCP_INPUT, .required = true, .lines = true,           \
        .help = "the whole source of the kernel, with its manifest as the first lines" \
    }
#define THREADS                                                    \
    {                                                              \
        .name = "threads", .type = MCP_INTEGER, .way = MCP_OPTION, \
        .help = "threads the kernel is given; 1 when not given"    \
    }

/* ---- one table per tool ---- */

static const struct mcp_parameter tasks_parameters[] = {
    {.name = "where",
     .way = MCP_OPERAND,
     .help = "a suite (core, peers, recsys, aten, gpu), a folder or a file; when not given, the "
             "suites"},
    {0},
};

static const struct mcp_parameter task_parameters[] = {TASK(true), SIZES, {0}};

static const struct mcp_parameter start_parameters[] = {
    TASK(false),
    {.name = "text",
     .way = MCP_INPUT,
     .lines = true,
     .help = "instead of `task`: the text of an op file, with an op, a task and its cases"},
    SIZES,
    {.name = "budget",
     .way = MCP_OPTION,
     .fallback = "0e",
     .help = "how long smelt itself searches before it answers: 30s, 5m, 50e (evaluations); 0e, "
             "the default, begins the run and leaves the search to you"},
    {.name = "threads",
     .type = MCP_INTEGER,
     .way = MCP_OPTION,
     .help = "threads kernels are given; 1 when not given"},
    {0},
};

static const struct mcp_parameter next_parameters[] = {
    RUN(true, MCP_OPERAND),
    {.name = "parent",
     .way = MCP_OPTION,
     .help = "go on from the candidate of this number instead of the one smelt would choose"},
    {.name = "window",
     .way = MCP_OPTION,
     .fallback = "32k",
     .help = "tokens the answer and your reply may take together: 8k to 2M; 32k when not given"},
    {.name = "role",
     .way = MCP_OPTION,
     .help = "the point of view of an expert: memory, instruction, latency, fusion, ..."},
    {0},
};

static const struct mcp_parameter judge_parameters[] = {
    RUN(false, MCP_OPTION),
    TASK(false),
    SIZES,
    KERNEL,
    THREADS,
    {.name = "check_only",
     .type = MCP_BOOLEAN,
     .way = MCP_FLAG,
     .option = "check-only",
     .help = "only whether it is right, not how fast: quicker"},
    {0},
};

static const struct mcp_parameter submit_parameters[] = {
    RUN(true, MCP_OPERAND),
    KERNEL,
    {.name = "parent",
     .way = MCP_OPTION,
     .help = "the number of the candidate it was made from; when not given, the best of the run"},
    {.name = "change", .way = MCP_OPTION, .help = "what was changed, in a few words"},
    {.name = "why", .way = MCP_OPTION, .lines = true, .help = "why that should help"},
    {.name = "expected",
     .type = MCP_NUMBER,
     .way = MCP_OPTION,
     .help = "how many times as fast as its parent it should be; kept, and compared with what "
             "happened"},
    {.name = "agent", .way = MCP_OPTION, .client = true, .help = "who submits it"},
    {0},
};

static const struct mcp_parameter best_parameters[] = {RUN(true, MCP_OPERAND), {0}};

static const struct mcp_parameter diagnose_parameters[] = {
    RUN(false, MCP_OPTION), TASK(false), SIZES, KERNEL, THREADS, {0}};

static const struct mcp_parameter status_parameters[] = {
    RUN(true, MCP_OPERAND),
    {.name = "log",
     .type = MCP_BOOLEAN,
     .way = MCP_FLAG,
     .help = "all candidates in the order they were judged, instead of the best"},
    {0},
};

static const struct mcp_parameter candidate_parameters[] = {
    {.name = "candidate",
     .type = MCP_INTEGER,
     .way = MCP_OPERAND,
     .required = true,
     .help = "its number"},
    {0},
};

static const struct mcp_parameter experience_parameters[] = {
    {.name = "structure",
     .way = MCP_OPTION,
     .help = "only of ops like this: row, contract, map, ..."},
    {.name = "diagnosis",
     .way = MCP_OPTION,
     .help = "only where this was the matter: memory, instruction, latency, ..."},
    {.name = "action", .way = MCP_OPTION, .help = "only this change"},
    {0},
};

static const struct mcp_parameter search_parameters[] = {
    {.name = "words", .way = MCP_OPERAND, .required = true, .help = "what to look for"},
    {.name = "target",
     .way = MCP_OPTION,
     .help = "only what helps there: cpu, cpu:avx512, cuda, opencl, ..."},
    {.name = "diagnosis",
     .way = MCP_OPTION,
     .help = "where this is the matter: memory, instruction, latency, precision, ..."},
    {.name = "structure", .way = MCP_OPTION, .help = "for ops like this: row, contract, ..."},
    {.name = "most", .type = MCP_INTEGER, .way = MCP_OPTION, .help = "so many pages (10)"},
    {0},
};

static const struct mcp_parameter page_parameters[] = {
    {.name = "page",
     .way = MCP_OPERAND,
     .required = true,
     .help = "its name, as a search gives it"},
    {0},
};

static const struct mcp_parameter no_parameters[] = {{0}};

const struct mcp_tool mcp_tools[] = {
    {.name = "list_tasks",
     .title = "List tasks",
     .help = "Lists tasks that are ready to work on: the suites, or the tasks of one.",
     .words = {"tasks"},
     .parameters = tasks_parameters},
    {.name = "describe_task",
     .title = "Describe a task",
     .help = "Says what a kernel for a task must do: a plain kernel that is right and slow, with "
             "the op, the contract and the compiler's flags as a comment on top.",
     .words = {"gen", "--plain"},
     .parameters = task_parameters,
     .text = "source"},
    {.name = "start_run",
     .title = "Start a run",
     .help = "Begins a run of a task: the graph that candidates enter. With a budget smelt itself "
             "searches first and answers when it is spent. Runs are kept; list_runs names those "
             "you can go on with.",
     .words = {"run", "--report=none"},
     .parameters = start_parameters,
     .changes = true},
    {.name = "list_runs",
     .title = "List runs",
     .help = "Lists the runs of the store, newest first.",
     .words = {"runs"},
     .parameters = no_parameters},
    {.name = "next_step",
     .title = "Context for the next step",
     .help = "Says what to do next in a run: the candidate to go on from, with everything known "
             "about it: the contract, the machine, its source, verdict and diagnosis, what was "
             "tried from there and what came of it, experience, pages of the knowledge base.",
     .words = {"next"},
     .parameters = next_parameters,
     .text = "prompt"},
    {.name = "judge_kernel",
     .title = "Judge a kernel",
     .help = "Judges a kernel by a task or by the task of a run, and keeps nothing: whether it is "
             "right, and how fast. Give `run` or `task`.",
     .words = {"judge"},
     .parameters = judge_parameters},
    {.name = "submit_kernel",
     .title = "Submit a kernel",
     .help = "Puts a kernel into a run as a candidate, judges it, and says what came of it. It is "
             "kept whatever the verdict.",
     .words = {"submit"},
     .parameters = submit_parameters,
     .changes = true},
    {.name = "best_kernel",
     .title = "The best kernel",
     .help = "The best kernel of a run, with its speed-up over the fastest baseline.",
     .words = {"best"},
     .parameters = best_parameters},
    {.name = "diagnose_kernel",
     .title = "Diagnose a kernel",
     .help = "Judges a kernel and says why it fails or what bounds its speed, with the numbers "
             "that show it. Give `run` or `task`.",
     .words = {"diagnose"},
     .parameters = diagnose_parameters},
    {.name = "run_status",
     .title = "The state of a run",
     .help = "The state of a run and its best candidates: who proposed what, and what came of it.",
     .words = {"show"},
     .parameters = status_parameters},
    {.name = "show_candidate",
     .title = "Show a candidate",
     .help = "One candidate of a run: its source, verdict and diagnosis.",
     .words = {"show", "--candidate"},
     .parameters = candidate_parameters},
    {.name = "list_experience",
     .title = "Experience",
     .help = "What came of each kind of change in earlier runs, by what the op is like and what "
             "the diagnosis was.",
     .words = {"experience"},
     .operand = "list",
     .parameters = experience_parameters},
    {.name = "search_knowledge",
     .title = "Search the knowledge base",
     .help = "Searches the knowledge base about fast kernels: pages, best first.",
     .words = {"kb"},
     .operand = "search",
     .parameters = search_parameters},
    {.name = "read_knowledge",
     .title = "Read a page of the knowledge base",
     .help = "One page of the knowledge base.",
     .words = {"kb"},
     .operand = "show",
     .parameters = page_parameters,
     .text = "text"},
    {0},
};

const struct mcp_tool *mcp_tool_find(const char *name)
{
    for (const struct mcp_tool *tool = mcp_tools; tool->name; tool++)
        if (strcmp(tool->name, name) == 0)
            return tool;
    return NULL;
}
