"""A store with a few runs, a viewer of it, and pages opened in a browser under watch."""

import itertools
import time
from dataclasses import dataclass, field
from typing import Any

import pytest

from calipers import Case, Dataset
from calipers.evaluators import EqualsExpected
from calipers.stores import SqliteStore
from calipers.testing import ServedViewer, TemporaryPostgres
from calipers.viewer.pages import built_files
from calipers.viewer.viewed_store import ViewedStore

_numbers = itertools.count()


def doubling(cases=4, name="doubling"):
    """A dataset of numbers to double."""
    made = [Case(name=f"case {n}", inputs=n, expected_output=2 * n) for n in range(cases)]
    return Dataset(name=name, cases=made, evaluators=[EqualsExpected()])


def keep_run(store, *, wrong=(), cases=4, name="run", dataset="doubling", **options):
    """Keep a run that is wrong at some numbers, and return its id."""
    report = doubling(cases, dataset).evaluate_sync(
        lambda n: 0 if n in wrong else 2 * n, store=store, name=name, progress=False, **options
    )
    return report.reuse.run


def until(ask, is_right, *, seconds=30):
    """What `ask` gives as soon as it is right."""
    end = time.monotonic() + seconds
    while not is_right(found := ask()):
        if time.monotonic() > end:
            raise AssertionError(f"not right after {seconds} s: {found!r:.500}")
        time.sleep(0.01)
    return found


@pytest.fixture(scope="module")
def store_path(tmp_path_factory):
    path = tmp_path_factory.mktemp("viewed") / "runs.db"
    with SqliteStore(path) as store:
        keep_run(store, name="first")
        keep_run(store, name="second", wrong=[1, 2])
    return path


@pytest.fixture(scope="module")
def viewer(store_path):
    with ServedViewer(store_path) as served:
        yield served


@pytest.fixture
def store(tmp_path):
    """An empty store."""
    with SqliteStore(tmp_path / "runs.db") as opened:
        yield opened


@pytest.fixture(scope="session")
def postgres():
    missing = TemporaryPostgres.missing()
    if missing is not None:
        pytest.skip(missing)
    with TemporaryPostgres() as started:
        yield started


@pytest.fixture
def postgresql_url(postgres):
    """The URL of an empty schema."""
    return f"{postgres.url}?schema=viewed_{next(_numbers)}"


@pytest.fixture
def view():
    """Makes a viewed store of an open one, without a server."""
    opened = []

    def made(store):
        opened.append(ViewedStore(store))
        return opened[-1]

    yield made
    for each in opened:
        each.close()


@dataclass
class Watch:
    """What a page did that no page of the viewer may do: ask another server, open a dialog or a window, complain on the console."""

    url: str
    complaints: list[str] = field(default_factory=list)

    def on(self, page: Any) -> None:
        page.on("request", self.requested)
        page.on("dialog", self.asked)
        page.on("console", self.said)
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("popup", lambda popup: self.complaints.append("opened a window"))
        page.on("download", lambda download: self.complaints.append("saved a file"))

    def requested(self, request: Any) -> None:
        if not request.url.startswith((f"{self.url}/", f"blob:{self.url}/")):
            self.complaints.append(f"request: {request.url}")

    def asked(self, dialog: Any) -> None:
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def said(self, message: Any) -> None:
        if message.type in {"error", "warning", "assert"}:
            self.complaints.append(f"console: {message.text}")


TELL_OF_REFUSALS = """
document.addEventListener("securitypolicyviolation", (event) => console.error("policy: " + event.violatedDirective + " " + event.blockedURI))
"""


@pytest.fixture(scope="session")
def built_page():
    """Skips where the page was not built, which needs Node.js."""
    if "viewer.js" not in built_files():
        pytest.skip("the page of the viewer was not built: run `make web`")


@pytest.fixture
def browse(browser, built_page):
    """Open a page of a viewer: `browse(viewer, "/runs", width=390, scheme="dark", **context_options)`.

    At the end, the test fails for whatever the page did that it must not do; `page.watch.complaints` has it before.
    """
    contexts, watches = [], []

    def opened(viewer, path="/", *, width=1280, height=900, scheme="light", **options):
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=scheme,
            reduced_motion="reduce",
            **options,
        )
        contexts.append(context)
        context.set_default_timeout(15_000)
        context.add_init_script(TELL_OF_REFUSALS)
        page = context.new_page()
        watches.append(Watch(viewer.url))
        watches[-1].on(page)
        page.watch = watches[-1]
        page.goto(viewer.address(path))
        return page

    yield opened
    for context in contexts:
        context.close()
    assert [complaint for watch in watches for complaint in watch.complaints] == []
