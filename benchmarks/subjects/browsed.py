"""The viewer as a person meets it: `calipers view` as a process of its own, and pages of it in Chromium.

Steps are timed inside the page, from the click or the key to the frame that shows what came of it. Each round has a new server and a new
browser, so nothing is remembered of the round before but what the store keeps.
"""

import json
import os
import queue
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import defaultdict
from contextlib import contextmanager
from datetime import UTC, datetime
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import psutil

from calipers.stores import open_store
from calipers.stores.run_info import RunInfo
from calipers.viewer.case_id import case_id
from calipers.viewer.pages import built_files
from subjects.viewed import LARGE, STEPS

TABS = 8
READERS = 10
PAGE_SECONDS = 30
SHOWN = {"headline": ".headline", "table": "[role=grid] [data-row]", "trace": ".trace-detail .value"}
"""What a page has when it is there."""
SCRIPT = f"window.shown = {json.dumps(SHOWN)};\n" + Path(__file__).with_name("timed.js").read_text(
    encoding="utf-8"
)


class View:
    """A viewer as a process of its own, while the block lasts."""

    def __init__(self, store, folder):
        self.store = store
        self.folder = folder
        with open_store(store) as opened:
            self.large, *traced = (f"/runs/{opened.run(name).id}" for name in (LARGE, *STEPS))
        self.traced = dict(zip(STEPS, traced, strict=True))

    def __enter__(self):
        self._process = subprocess.Popen(
            [sys.executable, "-m", "calipers", "view", str(self.store), "--no-browser", "--port", "0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "XDG_RUNTIME_DIR": str(self.folder)},
        )
        printed = self._process.stdout.readline().strip()
        if not printed:
            raise RuntimeError(f"the viewer ended with {self._process.wait()}")
        self.url = printed.partition("/?")[0]
        parts = urlsplit(printed)
        self.place = parts.hostname, parts.port
        connection = HTTPConnection(*self.place)
        connection.request("GET", f"{parts.path}?{parts.query}")
        self.cookie = connection.getresponse().headers["set-cookie"].partition(";")[0]
        connection.close()
        return self

    def __exit__(self, *_):
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(30)
        self._process.stdout.close()

    @property
    def memory(self):
        """Bytes that the process has in memory."""
        return psutil.Process(self._process.pid).memory_info().rss

    def ask(self, path, **query):
        """The answer of a call."""
        connection = HTTPConnection(*self.place, timeout=60)
        connection.request("GET", f"/api/v1{path}?{urlencode(query)}", headers={"Cookie": self.cookie})
        answer = connection.getresponse()
        found = answer.read()
        connection.close()
        return answer.status, json.loads(found)


@contextmanager
def browser():
    """A headless Chromium."""
    from playwright.sync_api import sync_playwright

    path = os.environ.get("CALIPERS_CHROMIUM") or shutil.which("chromium")
    if path is None:
        raise RuntimeError("no Chromium was found: install it, or name its path in CALIPERS_CHROMIUM")
    if not built_files():
        raise RuntimeError("the page of the viewer was not built: run `make page`")
    options = [
        "--disable-gpu",
        "--disable-background-networking",
        "--disable-component-update",
        "--no-first-run",
    ]
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=options)
        yield chromium
        chromium.close()


def signed_in(chromium, view):
    """A browser that has nothing of the viewer yet but its cookie."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(1000 * PAGE_SECONDS)
    name, _, value = view.cookie.partition("=")
    context.add_cookies([{"name": name, "value": value, "url": view.url}])
    context.add_init_script(SCRIPT)
    return context


def warmed(store, folder):
    """Open the large run once, and wait until all of it was read and counted: from then on, the store is warm. Returns the seconds."""
    began = time.perf_counter()
    with View(store, folder) as view:
        for path in (view.large, *view.traced.values()):
            while True:
                status, answer = view.ask(path)
                if status == 200 and answer["index"]["state"] == "ready" and answer["headline"] is not None:
                    break
                time.sleep(0.2)
        time.sleep(2)  # what was counted is being kept
    return time.perf_counter() - began


# ---------------------------------------------------------------------- one round of the pages


def pages(store, folder):
    """Seconds of each step of one round, by its name; numbers of rows and streams beside them."""
    found = defaultdict(list)
    with View(store, folder) as view, browser() as chromium:
        _first_paint(chromium, view, found)
        _table(chromium, view, found)
        _traces(chromium, view, found)
        _tabs(chromium, view, store, found)
    return found


def _wait(page, what):
    page.locator(SHOWN[what]).first.wait_for()
    while what not in page.evaluate("window.seen"):
        page.wait_for_timeout(20)


def _first_paint(chromium, view, found):
    for name, path, what in (
        ("the run", view.large, "headline"),
        ("its cases", f"{view.large}/cases", "table"),
    ):
        context = signed_in(chromium, view)
        page = context.new_page()
        page.goto(view.url + path)
        _wait(page, what)
        found[f"first contentful paint, {name}"].append(page.evaluate("timed.first()") / 1000)
        found[f"all of it, {name}"].append(page.evaluate(f"window.seen.{what}") / 1000)
        context.close()


TABLE = (
    ("scroll", "a page", "timed.page()"),
    ("scroll", "a page", "timed.page()"),
    ("scroll", "to the middle", "timed.jump(0.5)"),
    ("scroll", "to two thirds", "timed.jump(0.667)"),
    ("scroll", "a page there", "timed.page()"),
    ("scroll", "to the end", "timed.jump(1)"),
    ("sort", "by name", "timed.sort('Case')"),
    ("sort", "by cost", "timed.sort('Cost')"),
    ("sort", "by time", "timed.sort('Time')"),
    ("sort", "by an evaluator", "timed.sort('tone')"),
    ("scroll", "to the middle, sorted", "timed.jump(0.5)"),
    ("filter", "tag:refund", "timed.filter('tag:refund')"),
    ("filter", "status:failed", "timed.filter('status:failed')"),
    ("filter", "meta.lang:de cost>0.005", "timed.filter('meta.lang:de cost>0.005')"),
    ("filter", "-eval.right:passed score.tone<0.5", "timed.filter('-eval.right:passed score.tone<0.5')"),
    ("search", "a phrase many have", "timed.filter('\"money back\"')"),
    ("search", "one order", "timed.filter('\"order 123456\"')"),
    ("search", "what no one has", "timed.filter('xylophone')"),
    ("search", "in outputs of failures", "timed.filter('status:failed output~\"late and\"')"),
)


def _table(chromium, view, found):
    context = signed_in(chromium, view)
    page = context.new_page()
    page.goto(f"{view.url}{view.large}/cases")
    _wait(page, "table")
    page.wait_for_timeout(1000)  # the facets beside the table
    most = 0
    for kind, what, script in TABLE:
        found[f"{kind}, {what}"].append(page.evaluate(script) / 1000)
        most = max(most, page.evaluate("timed.rows()"))
    found["rows in the page"].append(most)
    context.close()


def _traces(chromium, view, found):
    for name, steps in STEPS.items():
        context = signed_in(chromium, view)
        page = context.new_page()
        page.goto(f"{view.url}{view.traced[name]}/cases/{case_id(name)}?view=waterfall")
        _wait(page, "trace")
        label = f"a trace of {steps:,} steps"
        found[f"{label}, opened"].append(page.evaluate("window.seen.trace") / 1000)
        for share in (0.5, 1, 0.25):
            found[f"{label}, scrolled"].append(page.evaluate(f"timed.trace({share})") / 1000)
        found[f"{label}, a step"].append(page.evaluate("timed.step()") / 1000)
        told = page.locator(".trace-facts").inner_text()
        part = re.search(rf"([\d,]+) of {steps:,} steps loaded", told)
        found[f"steps loaded of {steps:,}"].append(int(part[1].replace(",", "")) if part else steps)
        found[f"rows in the page, {label}"].append(page.locator(".waterfall-row").count())
        context.close()


def _tabs(chromium, view, store, found):
    context = signed_in(chromium, view)
    streams = []
    context.on("request", lambda request: "/events" in request.url and streams.append(request.url))
    tabs = [context.new_page() for _ in range(TABS)]
    for page in tabs:
        page.goto(f"{view.url}/runs")
    for page in tabs:
        page.get_by_text("live", exact=True).wait_for()
    name = f"begun at {time.time_ns()}"
    with open_store(store) as writing:
        began = time.perf_counter()
        info = RunInfo(id=f"tabs-{time.time_ns()}", name=name, started_at=datetime.now(UTC).isoformat())
        writing.begin_run(info)
        for page in tabs:
            page.get_by_role("link", name=name).wait_for()
        found["eight tabs hear of a run"].append(time.perf_counter() - began)
        writing.finish_run(info.id)
        writing.delete_run(info.id)
    found["event streams"].append(len(streams))
    context.close()


# ---------------------------------------------------------------------- the server


def memory(store, folder, seconds):
    """The most bytes that the server has in memory while ten readers go through the large run and the traces."""
    with View(store, folder) as view:
        cases = view.ask(f"{view.large}/cases", limit=1)[1]["total"]
        end = time.monotonic() + seconds
        troubles = queue.Queue()
        counts = [0] * READERS
        readers = [
            threading.Thread(target=_read_on, args=(view, number, cases, end, troubles, counts))
            for number in range(READERS)
        ]
        most = 0
        for each in readers:
            each.start()
        while any(each.is_alive() for each in readers):
            most = max(most, view.memory)
            time.sleep(0.05)
        if not troubles.empty():
            raise RuntimeError(f"{troubles.qsize()} requests failed: {troubles.get():.150}")
        print(f"{sum(counts)} requests", file=sys.stderr)
        return most


def _read_on(view, number, cases, end, troubles, counts):
    """What one reader asks for, until the time is over."""
    draw = random.Random(number)
    sorts = ("", "name", "-cost", "seconds", "value.tone", "-mark")
    filters = ("", "tag:refund", "status:failed", "meta.lang:de cost>0.005", '"money back"', "xylophone")
    fields = ("tag", "meta.lang", "meta.shop", "status")
    while time.monotonic() < end:
        q, sort = draw.choice(filters), draw.choice(sorts)
        window = {"q": q, "sort": sort, "at": draw.randrange(cases)}
        asked = draw.choice(
            (
                (view.large, {}),
                *[(f"{view.large}/cases", window)] * 4,
                (f"{view.large}/facets", {"field": draw.choice(fields), "q": q}),
                (f"{view.large}/slices", {"by": draw.choice(("tag", "meta.lang", "meta.shop")), "q": q}),
                (f"{view.large}/groups", {"q": q}),
                ("/runs", {}),
                ("case", {}),
                ("trace", {}),
            )
        )
        path, query = asked
        if path == "case":
            rows = view.ask(f"{view.large}/cases", at=draw.randrange(cases), limit=1)[1]["rows"]
            path = f"{view.large}/cases/{rows[0]['id']}"
        elif path == "trace":
            path = f"{draw.choice([*view.traced.values()])}/attempts/0/trace"
        status, answer = view.ask(path, **query)
        counts[number] += 1
        if status not in {200, 503}:  # of a machine that does other things as well, too much can be asked
            troubles.put(f"{path} {query}: {answer}")


def bundle():
    """Bytes of all files of the page, compressed as they are sent."""
    return sum(len(file.zipped) for file in built_files().values())
