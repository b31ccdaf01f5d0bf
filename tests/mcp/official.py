"""The official client of the protocol (PyPI `mcp`) lists and calls every tool of `smelt mcp`, over
standard input and output and over HTTP. Closes with "N passed, N failed".

    official.py SMELT FOLDER
"""

import asyncio
import json
import os
import re
import subprocess
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client import streamable_http
from mcp.client.stdio import stdio_client

TASK = """op running(x: i32[N]) -> (y: i32[N]) {
    y[i] += x[j] over j < N if j <= i
}

task running_sum of running
    case N=3000 time
"""

FAST = """// smelt kernel 1
// op running
// target cpu
// threads 1
#include <stdint.h>

int kernel(void *const *tensors, const int64_t *sizes, const double *scalars, void *scratch)
{
    const uint32_t *x = tensors[0];
    uint32_t *y = tensors[1], sum = 0;
    (void)scalars, (void)scratch;
    for (int64_t i = 0; i < sizes[0]; i++)
        y[i] = sum += x[i];
    return 0;
}
"""

passed = failed = 0


def check(what, holds):
    global passed, failed
    if holds:
        passed += 1
    else:
        failed += 1
        print("not ok:", what)


def field(value, name):
    """Names are spelt in camel case by version 1 of the client, with underscores by version 2."""
    return getattr(value, name, None) or getattr(value, re.sub("[A-Z]", lambda m: "_" + m.group().lower(), name), None)


def text_of(result):
    return result.content[0].text


async def call(session, called, name, **arguments):
    async def progress(amount, total, message):
        called.setdefault("progress", []).append(message)

    result = await session.call_tool(name, arguments, progress_callback=progress)
    check(f"{name}: {text_of(result)[:300]}", not field(result, "isError"))
    called[name] = True
    return result


async def every_tool(session):
    called = {}
    tools = {tool.name for tool in (await session.list_tools()).tools}
    check("tools are listed", len(tools) >= 10)
    suites = json.loads(text_of(await call(session, called, "list_tasks")))["suites"]
    check("suites are named", any(suite["suite"] == "core" for suite in suites))
    contract = text_of(await call(session, called, "describe_task", task="softmax", sizes=["B=[4]", "D=64"]))
    check("the contract is a kernel", contract.startswith("// smelt kernel 1"))
    started = json.loads(text_of(await call(session, called, "start_run", text=TASK)))
    run = str(started["runs"][0]["run"])
    await call(session, called, "list_runs")
    step = text_of(await call(session, called, "next_step", run=run))
    check("the next step has the op", "y[i] += x[j]" in step)
    verdict = json.loads(text_of(await call(session, called, "judge_kernel", run=run, kernel=FAST, check_only=True)))
    check("the kernel is right", verdict["verdicts"][0]["outcome"] == "ok")
    sent = await call(
        session, called, "submit_kernel", run=run, kernel=FAST, change="one pass", why="fewer steps", expected=100
    )
    submitted = field(sent, "structuredContent")
    check("it is the best", submitted["outcome"] == "ok" and submitted["is_best"])
    check("it is much faster than plain", submitted["speedup"] > 5)
    check("progress was told", called.get("progress"))
    best = json.loads(text_of(await call(session, called, "best_kernel", run=run)))
    check("the best is what was submitted", best["source"] == FAST)
    await call(session, called, "diagnose_kernel", run=run, kernel=FAST)
    await call(session, called, "run_status", run=run)
    await call(session, called, "show_candidate", candidate=submitted["candidate"])
    await call(session, called, "list_experience")
    pages = json.loads(text_of(await call(session, called, "search_knowledge", words="vector width")))["pages"]
    await call(session, called, "read_knowledge", page=pages[0]["page"])
    check(f"every tool was called, not {tools - set(called)}", tools <= set(called))
    wrong = await session.call_tool("best_kernel", {"run": "nobody"})
    check("an error is told", field(wrong, "isError") and "no run" in text_of(wrong))
    resources = (await session.list_resources()).resources
    check("pages are resources", len(resources) >= 10)
    page = await session.read_resource(resources[0].uri)
    check("a page has text", len(page.contents[0].text) > 100)
    prompt = await session.get_prompt("next_step", {"run": run})
    check("the prompt has text", len(prompt.messages[0].content.text) > 1000)
    await session.send_ping()


async def over_pipes(smelt, store):
    parameters = StdioServerParameters(command=smelt, args=["mcp", "--store", store], env=dict(os.environ))
    async with stdio_client(parameters) as (read, write):
        async with ClientSession(read, write) as session:
            opened = await session.initialize()
            check("the server is smelt", field(opened, "serverInfo").name == "smelt")
            await every_tool(session)


def http_streams(url, token):
    headers = {"Authorization": f"Bearer {token}"}
    if hasattr(streamable_http, "streamable_http_client"):
        from mcp.shared._httpx_utils import create_mcp_http_client

        return streamable_http.streamable_http_client(url, http_client=create_mcp_http_client(headers=headers))
    return streamable_http.streamablehttp_client(url, headers=headers)


async def over_http(smelt, store):
    token = "of this test, and no other"
    server = subprocess.Popen(
        [smelt, "mcp", "--http", "--port", "0", "--store", store],
        stderr=subprocess.PIPE,
        text=True,
        env=dict(os.environ, SMELT_MCP_TOKEN=token),
    )
    try:
        url = re.search(r"http://\S+", server.stderr.readline()).group()
        async with http_streams(url, token) as streams:
            async with ClientSession(streams[0], streams[1]) as session:
                await session.initialize()
                tools = (await session.list_tools()).tools
                check("tools are listed over HTTP", len(tools) >= 10)
                called = {}
                await call(session, called, "judge_kernel", run="last", kernel=FAST, check_only=True)
                await call(session, called, "best_kernel", run="last")
    finally:
        server.terminate()
        check("the server ends when told", server.wait(30) == 0)


async def main(smelt, folder):
    store = os.path.join(folder, "store.db")
    await asyncio.wait_for(over_pipes(smelt, store), 240)
    await asyncio.wait_for(over_http(smelt, store), 240)


asyncio.run(main(sys.argv[1], sys.argv[2]))
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0)
