"""One throw-away PostgreSQL for all tests of stores, and stores of each kind."""

import itertools

import pytest

from calipers.stores import MemoryStore, PostgresqlStore, SqliteStore
from calipers.testing import TemporaryPostgres

_numbers = itertools.count()


@pytest.fixture(scope="session")
def postgres():
    missing = TemporaryPostgres.missing()
    if missing is not None:
        pytest.skip(missing)
    with TemporaryPostgres(password="s3cret") as server:
        yield server


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
