"""Which HTTP clients hold 1,000 calls in flight: runs of Calipers against a service on this machine that answers after 2 s.

The service has a process of its own and counts how many calls it holds at once and how many connections are made to it. Each
client is measured in a process of its own. The ideal time is the number of calls times 2 s, divided by 1,000. The work of
a call is the processor time of the client's process, which other work on the machine affects less than the time.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import time
import urllib.request

from calipers import Case, Dataset

NAP = 2.0
IN_FLIGHT = 1_000
CALLS = 3_000
ANSWER = {
    "id": "x",
    "object": "chat.completion",
    "created": 0,
    "model": "m",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "yes"}}],
}


# ---------------------------------------------------------------------- the service


async def serve():
    from aiohttp import web

    counts = {"now": 0, "most": 0, "connections": 0}

    async def answer(request):
        await request.read()
        counts["now"] += 1
        counts["most"] = max(counts["most"], counts["now"])
        if "seen" not in vars(request.protocol.transport).setdefault("_calipers", {}):
            vars(request.protocol.transport)["_calipers"]["seen"] = True
            counts["connections"] += 1
        try:
            await asyncio.sleep(NAP)
        finally:
            counts["now"] -= 1
        return web.json_response(ANSWER)

    async def told(_):
        return web.json_response(counts)

    app = web.Application()
    app.router.add_post("/chat/completions", answer)
    app.router.add_get("/counts", told)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=4096).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


# ---------------------------------------------------------------------- the clients


def aiohttp_client(url, **options):
    import aiohttp

    session = None

    async def ask(question):
        nonlocal session
        if session is None:  # inside the event loop of the run
            session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(**options))
        async with session.post(f"{url}/chat/completions", json={"messages": question}) as reply:
            reply.raise_for_status()
            return (await reply.json())["choices"][0]["message"]["content"]

    return ask


def httpx_client(url, *, clients=1, **options):
    import itertools

    import httpx

    pool = itertools.cycle([httpx.AsyncClient(**options) for _ in range(clients)])

    async def ask(question):
        reply = await next(pool).post(f"{url}/chat/completions", json={"messages": question})
        reply.raise_for_status()
        return reply.json()["choices"][0]["message"]["content"]

    return ask


def openai_client(url, **options):
    import openai

    client = openai.AsyncOpenAI(api_key="none", base_url=url, max_retries=0, **options)

    async def ask(question):
        reply = await client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": question}]
        )
        return reply.choices[0].message.content

    return ask


def wide(connections=IN_FLIGHT):
    import httpx

    limits = httpx.Limits(max_connections=connections, max_keepalive_connections=connections)
    return {"limits": limits, "timeout": httpx.Timeout(60, pool=None)}


def over_aiohttp(url):
    import httpx_aiohttp

    return httpx_client(url, transport=httpx_aiohttp.AiohttpTransport(limits=wide()["limits"]), timeout=60)


def openai_over_aiohttp(url):
    import openai

    return openai_client(url, http_client=openai.DefaultAioHttpClient(timeout=60))


CLIENTS = {
    "aiohttp, as it comes": aiohttp_client,
    "aiohttp, limit=0": lambda url: aiohttp_client(url, limit=0),
    "httpx, as it comes": httpx_client,
    "httpx, limits of 1,000, no pool time-out": lambda url: httpx_client(url, **wide()),
    "httpx, 20 clients in turn, no pool time-out": lambda url: httpx_client(url, clients=20, **wide()),
    "httpx over httpx-aiohttp, limits of 1,000": over_aiohttp,
    "openai, as it comes": openai_client,
    "openai, http_client=DefaultAioHttpClient()": openai_over_aiohttp,
}


def measure(name, url, calls):
    """One run of Calipers with a client."""
    ask = CLIENTS[name](url)
    dataset = Dataset(
        name="calls",
        cases=[Case(name=f"c{n}", inputs="are you there?") for n in range(calls)],
        evaluators=[lambda output: output == "yes"],
    )
    begun, worked = time.perf_counter(), time.process_time()
    report = dataset.evaluate_sync(ask, max_concurrency=IN_FLIGHT, progress=False)
    took, work = time.perf_counter() - begun, time.process_time() - worked
    return {"seconds": took, "work": work, "failures": report.counts().failed_tasks}


def served(name, calls):
    """What a client does to a fresh service."""
    service = subprocess.Popen([sys.executable, __file__, "--serve"], stdout=subprocess.PIPE, text=True)
    try:
        url = f"http://127.0.0.1:{service.stdout.readline().strip()}"
        command = [sys.executable, __file__, "--client", name, "--url", url, "--calls", str(calls)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        with urllib.request.urlopen(f"{url}/counts") as reply:
            return json.loads(done.stdout.splitlines()[-1]) | json.load(reply)
    finally:
        service.terminate()
        service.wait()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--calls", type=int, default=CALLS, help=f"how many (default: {CALLS:,})")
    parser.add_argument("--rounds", type=int, default=3, help="the best of so many is shown (default: 3)")
    parser.add_argument("--only", choices=CLIENTS, action="append", help="measure this one; may be repeated")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--client", choices=CLIENTS, help=argparse.SUPPRESS)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        asyncio.run(serve())
    elif options.client:
        print(json.dumps(measure(options.client, options.url, options.calls)), flush=True)
    else:
        print(
            f"{options.calls:,} calls of {NAP:g} s, {IN_FLIGHT:,} in flight; ideal: {options.calls * NAP / IN_FLIGHT:.1f} s"
        )
        print("| client | work per call | time | most in flight | connections | failed |")
        print("|---|---:|---:|---:|---:|---|")
        for name in options.only or CLIENTS:
            found = min(
                (served(name, options.calls) for _ in range(options.rounds)), key=lambda one: one["seconds"]
            )
            failed = ", ".join(f"{count:,} {kind}" for kind, count in found["failures"].items()) or "none"
            work = 1_000 * found["work"] / options.calls
            print(
                f"| {name} | {work:.2f} ms | {found['seconds']:.1f} s | {found['most']:,} | {found['connections']:,} | {failed} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
