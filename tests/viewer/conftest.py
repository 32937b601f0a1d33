"""A store with a few runs, a viewer of it, and pages opened in a browser under watch."""

import itertools
import random
import threading
import time
from dataclasses import dataclass, field
from typing import Any

import pytest

from calipers import Case, Dataset, EvaluationReason
from calipers.evaluators import EqualsExpected
from calipers.stores import SqliteStore
from calipers.testing import ServedViewer, TemporaryPostgres
from calipers.viewer.pages import is_built
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
    allowed: list[str] = field(default_factory=list)
    """Parts of complaints that a test expects."""
    pending: set[Any] = field(default_factory=set)
    """Requests that were not answered yet."""

    def on(self, page: Any) -> None:
        page.on("request", self.requested)
        page.on("requestfinished", lambda request: self.pending.discard(request))
        page.on("requestfailed", lambda request: self.pending.discard(request))
        page.on("dialog", self.asked)
        page.on("console", self.said)
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("popup", lambda popup: self.complaints.append("opened a window"))
        page.on("download", lambda download: self.complaints.append("saved a file"))

    @property
    def unexpected(self) -> list[str]:
        """The complaints that no test expects."""
        return [each for each in self.complaints if not any(part in each for part in self.allowed)]

    def requested(self, request: Any) -> None:
        if request.resource_type != "eventsource":
            self.pending.add(request)
        if not request.url.startswith((f"{self.url}/", f"blob:{self.url}/")):
            self.complaints.append(f"request: {request.url}")

    def asked(self, dialog: Any) -> None:
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def said(self, message: Any) -> None:
        if message.type in {"error", "warning", "assert"}:
            self.complaints.append(f"console: {message.text} ({message.location.get('url', '')})")


def settled(page: Any, *, seconds: float = 20) -> None:
    """Wait until a watched page asks for nothing more, and shows nothing that waits."""
    calm, end = 0, time.monotonic() + seconds
    while calm < 2:
        if time.monotonic() > end:
            raise AssertionError(f"{page.url} still waits: {[each.url for each in page.watch.pending]}")
        page.wait_for_timeout(20)
        is_calm = not page.watch.pending and page.evaluate(IS_SHOWN)
        calm = calm + 1 if is_calm else 0


IS_SHOWN = "() => document.querySelector('h1') !== null && document.querySelector('.waiting') === null"
TELL_OF_REFUSALS = """
document.addEventListener("securitypolicyviolation", (event) => console.error("policy: " + event.violatedDirective + " " + event.blockedURI))
"""


@pytest.fixture(scope="session")
def built_page():
    """Fails where the page was not built: `make test` does that first, and so a test of the page is never left out in silence."""
    if not is_built():
        pytest.fail("the page of the viewer was not built: run `make web`")


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
    assert [complaint for watch in watches for complaint in watch.unexpected] == []


@pytest.fixture
def visit(browse):
    """As `browse`, and wait until the page is there."""

    def opened(viewer, path="/", **options):
        page = browse(viewer, path, **options)
        page.locator("h1").first.wait_for()
        return page

    return opened


# ---------------------------------------------------------------------- runs to look at

TOPICS = ("refund", "billing", "delivery", "account")
LANGUAGES = ("en", "de", "fr")


def support_desk(cases=60, *, name="support desk"):
    """A dataset that sorts what customers write, with languages as metadata and topics as tags."""
    made = []
    for n in range(cases):
        topic, language = TOPICS[n % 4], LANGUAGES[n % 3]
        asked = {"question": f"Order {1000 + n} was late: what about {topic}?", "order": 1000 + n}
        metadata = {"lang": language, "tags": [topic], "length": n}
        made.append(Case(name=f"{topic} {n:04d}", inputs=asked, expected_output=topic, metadata=metadata))
    return Dataset(name=name, cases=made, evaluators=[right, politeness, route])


def right(output, expected_output):
    """Whether the topic is right, and why it is not."""
    said = "" if output == expected_output else f"filed under {output!r}, expected {expected_output!r}"
    return EvaluationReason(output == expected_output, said)


def politeness(inputs):
    """A score from 0 to 1."""
    return inputs["order"] % 10 / 10


def route(output):
    """A label."""
    return output


def sorter(share, *, unsteady=False):
    """A task that sorts a share of the questions right, is worse in French, and now and then gives no answer."""

    def task(inputs):
        draw = random.Random(inputs["order"] if not unsteady else None).random()
        if inputs["order"] % 29 == 0:
            raise TimeoutError(f"no answer within {inputs['order']} ms")
        is_right = draw < share - (0.3 if inputs["order"] % 3 == 1 else 0)
        topic = inputs["question"].split("about ")[1][:-1]
        return topic if is_right else TOPICS[(TOPICS.index(topic) + 1) % 4]

    return task


def in_thread(work):
    """Do something in a thread of its own: playwright keeps an event loop running in this one."""
    found = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    thread.join()
    return found[0]


@pytest.fixture(scope="session")
def desk_store(tmp_path_factory):
    """A store with three runs of a small dataset, and one of 700 cases. No test writes to it."""
    path = tmp_path_factory.mktemp("desk") / "runs.db"

    def fill():
        with SqliteStore(path) as store:
            for version, share in enumerate((0.6, 0.75, 0.9), start=1):
                support_desk().evaluate_sync(
                    sorter(share),
                    store=store,
                    name=f"desk v{version}",
                    repeat=2,
                    seed=version,
                    progress=False,
                )
            support_desk(700, name="long").evaluate_sync(
                sorter(0.8), store=store, name="long", seed=1, progress=False
            )

    in_thread(fill)
    return path


@pytest.fixture(scope="module")
def desk(desk_store):
    """A viewer of these runs."""
    with ServedViewer(desk_store) as served:
        yield served
