"""One throw-away PostgreSQL for all tests of stores, and stores of each kind."""

import itertools

import pytest

from calipers.stores import MemoryStore, PostgresqlStore, SqliteStore
from calipers.testing import TemporaryPostgres

_numbers = itertools.count()


@pytest.fixture(scope="session")
def postgres():
    yield from server(password="s3cret")


@pytest.fixture(scope="module")
def fragile():
    """A server of a module's own, to be stopped in the middle."""
    yield from server()


def server(**options):
    missing = TemporaryPostgres.missing()
    if missing is not None:
        pytest.skip(missing)
    with TemporaryPostgres(**options) as started:
        yield started


@pytest.fixture
def sqlite_store(tmp_path):
    with SqliteStore(tmp_path / "runs.db") as store:
        yield store


@pytest.fixture
def postgresql_store(postgres):
    with PostgresqlStore(f"{postgres.url}?schema=test_{next(_numbers)}") as store:
        yield store


@pytest.fixture
def memory_store():
    with MemoryStore() as store:
        yield store


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def store(request):
    return request.getfixturevalue(f"{request.param}_store")
