"""URLs of stores, and what is said of those that name none."""

import pytest

from calipers.errors import StoreError
from calipers.stores import MemoryStore, RunInfo, SqliteStore, hide_keys, open_store


@pytest.mark.parametrize("form", ["sqlite:///{}", "{}", "sqlite:///{}?mode=rw"])
def test_a_file_is_named_by_a_url_or_a_path_and_its_folders_are_made(tmp_path, form):
    path = tmp_path / "a" / "b c.db"
    with open_store(form.format(path)) as store:
        assert isinstance(store, SqliteStore)
        assert store.path == path
    assert path.exists()


def test_three_slashes_are_relative_and_four_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with open_store("sqlite:///runs/r%20s.db") as store:
        assert (tmp_path / "runs" / "r s.db").exists()
        assert store.url == "sqlite:///runs/r%20s.db"
    with open_store(f"sqlite:///{tmp_path}/runs.db") as store:
        assert store.url == f"sqlite:///{tmp_path}/runs.db"
    with open_store(tmp_path / "path.db") as store:
        again = store.url
    with open_store(again) as store:
        assert store.path == tmp_path / "path.db"


def test_a_store_in_memory_is_its_own():
    with open_store("memory:") as first, open_store("memory:") as second:
        assert isinstance(first, MemoryStore)
        first.begin_run(RunInfo(name="r"))
        assert (len(first.runs()), len(second.runs())) == (1, 0)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("", "a store is named by sqlite:///path, postgresql://"),
        (None, "a store is named by"),
        (3, "got 3"),
        ("sqlite://runs.db", "write sqlite:/// and a path"),
        ("sqlite:runs.db", "write sqlite:/// and a path"),
        ("sqlite:/runs.db", "write sqlite:/// and a path"),
        ("sqlite://", "memory: for a store in memory"),
        ("sqlite:///", "memory: for a store in memory"),
        ("sqlite:///:memory:", "memory: for a store in memory"),
        ("sqlite:///x.db?mode=rx", "unknown option in"),
        ("sqlite:///x.db?cache=shared", "unknown option in"),
        ("memory:x", "a store in memory has no name"),
        ("mysql://root:secret@host/db", "unknown kind of store 'mysql'"),
        ("sqlite:///no/such.db?mode=ro", "there is no store 'no/such.db'"),
    ],
)
def test_what_is_no_url_of_a_store_is_refused_with_the_way_out(url, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError) as error:
        open_store(url)
    assert said in str(error.value)
    assert "secret" not in str(error.value)
    assert list(tmp_path.iterdir()) == [], "and nothing was made"


@pytest.mark.parametrize("redact", [hide_keys("a"), [3], ["api_key"]])
def test_redaction_is_a_list_of_functions(redact):
    with pytest.raises(StoreError, match="redact must be a list of functions"):
        open_store("memory:", redact=redact)


@pytest.mark.parametrize("form", ["sqlite:///{}", "{}"])
def test_a_store_that_has_to_exist_is_not_made(tmp_path, form):
    url = form.format(tmp_path / "runs.db")
    with pytest.raises(StoreError, match="there is no store"):
        open_store(url, existing=True)
    assert list(tmp_path.iterdir()) == []
    with open_store(url) as store:
        store.begin_run(RunInfo(name="r"))
    with open_store(url, existing=True) as store:
        assert [run.name for run in store.runs()] == ["r"]
        assert not store.read_only
