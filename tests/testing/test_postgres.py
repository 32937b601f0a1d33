"""The throw-away PostgreSQL."""

from pathlib import Path

import pytest

from calipers.errors import CalipersError
from calipers.testing import TemporaryPostgres


def test_where_there_are_no_binaries_it_says_so(monkeypatch):
    if list(Path("/usr/lib/postgresql").glob("*/bin/initdb")):
        pytest.skip("this machine has PostgreSQL where it is found without PATH")
    monkeypatch.setenv("PATH", "")
    assert "initdb, pg_ctl, postgres not found on PATH" in TemporaryPostgres.missing()
    with pytest.raises(CalipersError, match="no PostgreSQL on this machine"), TemporaryPostgres():
        pass


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
