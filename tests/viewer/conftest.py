"""A store with a few runs, and a viewer of it."""

import pytest

from calipers import Case, Dataset
from calipers.evaluators import EqualsExpected
from calipers.stores import SqliteStore
from calipers.testing import ServedViewer


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
