"""The throw-away PostgreSQL."""

from pathlib import Path

import pytest

from calipers.testing import TemporaryPostgres
from calipers.testing.postgres import _missing


def test_where_there_are_no_binaries_it_says_which():
    said = _missing(("no-such-initdb", "no-such-postgres"))
    assert said.startswith(
        "no PostgreSQL on this machine: no-such-initdb, no-such-postgres not found on PATH"
    )


def test_it_is_there_inside_its_block_and_leaves_nothing_behind():
    psycopg = pytest.importorskip("psycopg", reason="asks the server with psycopg")
    missing = TemporaryPostgres.missing()
    if missing is not None:
        pytest.skip(missing)
    with TemporaryPostgres() as server:
        folder = Path(server._folder)
        with psycopg.connect(server.url) as connection:
            assert connection.execute("SELECT 1 + 1").fetchone() == (2,)
        assert folder.is_dir()
    assert not folder.exists()
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(server.url)
