"""A store with a few runs, and a viewer of it."""

import itertools
import time

import pytest

from calipers import Case, Dataset
from calipers.evaluators import EqualsExpected
from calipers.stores import SqliteStore
from calipers.testing import ServedViewer, TemporaryPostgres
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
