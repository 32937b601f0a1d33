"""The list of runs: pages, orders, filters, and counts that come by themselves."""

from datetime import UTC, datetime, timedelta

import pytest

from calipers.stores import MemoryStore, SqliteStore, open_store
from calipers.stores.run_info import Owner, RunInfo
from calipers.testing import ServedViewer
from calipers.viewer.cursor import Cursor
from calipers.viewer.refusal import Refusal
from calipers.viewer.run_answer import run_answer
from calipers.viewer.run_counter import RunCounter
from calipers.viewer.run_filter import RUN_FIELDS, RunFilter
from calipers.viewer.run_list import SORTS, RunList, runs_answer, sorted_rows
from calipers.viewer.run_rows import run_row
from calipers.viewer.viewed_store import ViewedStore

from .conftest import keep_run, until


def counted(viewed, **options):
    """The answer when all runs have been counted."""
    return until(
        lambda: runs_answer(viewed, **options), lambda found: all(row.cases is not None for row in found.rows)
    )


@pytest.fixture(scope="module")
def viewed():
    with MemoryStore() as store:
        keep_run(store, name="first", cases=4)
        keep_run(store, name="second", cases=8, wrong=[1, 2])
        keep_run(store, name="third", cases=6, wrong=[0, 1, 2, 3, 4, 5], dataset="other")
        found = ViewedStore(store)
        yield found
        found.close()


def names(answer):
    return [row.name for row in answer.rows]


def test_the_newest_run_comes_first_with_what_was_counted(viewed):
    answer = counted(viewed)
    assert names(answer) == ["third", "second", "first"]
    assert (answer.total, answer.next, answer.datasets) == (3, None, ["doubling", "other"])
    third, second, first = answer.rows
    assert (first.cases, first.attempts, first.rate.value) == (4, 4, 1.0)
    assert second.rate.value == pytest.approx(6 / 8)
    assert second.rate.interval.low < 6 / 8 < second.rate.interval.high
    assert third.dataset == "other"
    assert first.state == "finished"
    assert first.evaluators == ["EqualsExpected"]
    assert first.commit is None or len(first.commit) == 40


def test_a_run_that_was_never_counted_is_listed_at_once_without_a_rate(tmp_path):
    with SqliteStore(tmp_path / "runs.db") as store:
        run = keep_run(store)
        viewed = ViewedStore(tmp_path / "runs.db", read_only=True)
        rows = RunList().rows(viewed)
        assert [(row.id, row.rate, row.cases) for row in rows] == [(run, None, None)]
        assert counted(viewed).rows[0].cases == 4
        assert store.run(run).totals is None, "a viewer that only reads keeps the counts to itself"
        viewed.close()


def test_the_list_and_the_page_of_a_run_say_how_long_it_took_as_its_report_does(viewed):
    for row in runs_answer(viewed).rows:
        with viewed.reading() as store:
            report = store.report(row.id, keep="none")
        assert row.seconds == run_answer(viewed, row.id).run.seconds == report.duration


def test_a_run_whose_process_is_gone_took_until_its_last_sign_of_life():
    began = datetime(2026, 4, 1, 9, tzinfo=UTC)
    info = RunInfo(
        name="killed",
        status="running",
        started_at=began.isoformat(),
        heartbeat=(began + timedelta(seconds=7)).isoformat(),
        owner=Owner(pid=1, host="another machine"),
    )
    row = run_row(info)
    assert (row.state, row.seconds) == ("abandoned", 7.0)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_what_was_counted_is_kept_with_the_run(tmp_path, kind, request):
    url = str(tmp_path / "runs.db") if kind == "sqlite" else request.getfixturevalue("postgresql_url")
    with open_store(url) as store:
        run = keep_run(store)
        viewed = ViewedStore(url)
        counted(viewed)
        until(lambda: store.run(run).totals, bool)
        viewed.close()


def test_a_run_that_changed_is_read_again_and_one_that_was_deleted_is_gone(tmp_path):
    with SqliteStore(tmp_path / "runs.db") as store:
        first = keep_run(store)
        viewed = ViewedStore(tmp_path / "runs.db")
        assert runs_answer(viewed).total == 1
        second = keep_run(store)
        assert [row.id for row in runs_answer(viewed).rows] == [second, first]
        store.delete_run(first)
        assert [row.id for row in runs_answer(viewed).rows] == [second]
        viewed.close()


@pytest.mark.parametrize("sort", [*SORTS, *(f"-{name}" for name in SORTS)])
def test_every_order_puts_what_is_not_known_last(viewed, sort):
    rows = counted(viewed, sort=sort).rows
    value = SORTS[sort.removeprefix("-")]
    found = [value(row) for row in rows]
    known = [each for each in found if each is not None]
    assert known == sorted(known, reverse=sort.startswith("-"))
    assert found == [*known, *[None] * (len(found) - len(known))]


def test_equal_runs_stay_the_newest_first(viewed):
    rows = counted(viewed).rows
    assert [row.name for row in sorted_rows(rows, "repeat" if "repeat" in SORTS else "state")] == names(
        counted(viewed)
    )


def test_an_unknown_order_is_refused_with_the_nearest(viewed):
    with pytest.raises(Refusal, match="did you mean 'rate'"):
        runs_answer(viewed, sort="-rat")


@pytest.mark.parametrize("limit", [0, -1, 501])
def test_a_page_has_a_size(viewed, limit):
    with pytest.raises(Refusal, match="limit"):
        runs_answer(viewed, limit=limit)


def test_pages_give_every_run_once(viewed):
    for sort in ("", "rate", "-cost"):
        seen, after = [], ""
        while True:
            page = runs_answer(viewed, sort=sort, after=after, limit=1)
            seen += names(page)
            if page.next is None:
                break
            after = page.next
        assert sorted(seen) == ["first", "second", "third"]


def test_a_page_goes_on_after_its_last_row_even_if_that_is_gone():
    ids = ["e", "d", "c", "b", "a"]
    cursor = Cursor.read(Cursor(2, "d").text())
    assert cursor.place_in(ids) == 2
    assert cursor.place_in(["f", *ids]) == 3, "a new run shifts nothing"
    assert cursor.place_in(["e", "c", "b", "a"]) == 1
    assert cursor.place_in([]) == 0


@pytest.mark.parametrize("text", ["x", "AAAA", "é", "W10", "WyJ4IiwxXQ"])
def test_what_is_no_cursor_is_refused(viewed, text):
    with pytest.raises(Refusal, match="is not a place in this list"):
        runs_answer(viewed, after=text)


@pytest.mark.parametrize(
    ("q", "expected"),
    [
        ("", ["third", "second", "first"]),
        ("SECO", ["second"]),
        ('"third"', ["third"]),
        ("name:first", ["first"]),
        ("name:f*", ["first"]),
        ("-name:first", ["third", "second"]),
        ("dataset:doubling rate<1", ["second"]),
        ("dataset:(other OR doubling)", ["third", "second", "first"]),
        ("rate>=0.75", ["second", "first"]),
        ("cases>4 -failures>0", ["third", "second"]),
        ("state:finished", ["third", "second", "first"]),
        ("state:running", []),
        ("cost>0", []),
        ("-cost>0", []),
        ("time>2026-01-01", ["third", "second", "first"]),
        ("time<2026-01-01", []),
        ("evaluator:EqualsExpected attempts:8", ["second"]),
        ("gate:pass", []),
    ],
)
def test_a_filter_finds_runs(viewed, q, expected):
    counted(viewed)
    answer = runs_answer(viewed, q=q)
    assert names(answer) == expected
    assert answer.total == len(expected)


@pytest.mark.parametrize(
    ("q", "at", "says"),
    [
        ("rate>x", 0, "no number"),
        ("name:a stat:running", 7, "did you mean 'state'"),
        ("state:runing", 0, "did you mean 'running'"),
        ("tag:refund", 0, "unknown field 'tag'"),
        ('"open', 0, "not closed"),
    ],
)
def test_what_is_no_filter_is_refused_with_its_place(viewer, q, at, says):
    from urllib.parse import quote

    answer = viewer.ask(f"runs?q={quote(q)}")
    assert answer.status == 400
    error = answer.json()["error"]
    assert (error["code"], error["at"]) == ("bad_filter", at)
    assert says in error["message"]


def test_every_field_of_a_run_can_be_read_of_any_row(viewed):
    for row in counted(viewed).rows:
        for field in RUN_FIELDS.values():
            found = field.read(row)
            assert found is None or isinstance(found, list)
    assert [placed.term.field for placed in RunFilter.read("a name:b").terms] == ["text", "name"]


def test_the_verdict_of_a_gate_belongs_to_a_run_until_it_grows(tmp_path):
    from calipers.gate.looks import Look

    with MemoryStore() as store:
        run = keep_run(store)
        look = Look(run=run, attempts=4, number=1, outcome="FAIL")
        store.add_look("question", look, after=0)
        viewed = ViewedStore(store)
        (row,) = runs_answer(viewed).rows
        assert (row.gate.outcome, row.gate.decided) == ("FAIL", True)
        info = store.run(run)
        info.attempts = 5
        assert run_row(info, look=look).gate is None
        assert names(runs_answer(viewed, q="gate:fail")) == ["run"]
        viewed.close()


def test_the_page_of_a_run_has_the_verdict_of_its_gate_too():
    from calipers.gate.looks import Look
    from calipers.viewer.run_answer import run_answer

    with MemoryStore() as store:
        run = keep_run(store)
        store.add_look("question", Look(run=run, attempts=4, number=1, outcome="FAIL"), after=0)
        viewed = ViewedStore(store)
        assert run_answer(viewed, run).run.gate == runs_answer(viewed).rows[0].gate
        viewed.close()


def test_a_shard_says_which_part_it_is():
    from calipers.report.shard import Shard

    with MemoryStore() as store:
        keep_run(store, shard=Shard(2, 3), seed=0)
        keep_run(store, name="whole")
        viewed = ViewedStore(store)
        assert [row.shard for row in runs_answer(viewed).rows] == [None, "2/3"]
        viewed.close()


def test_a_run_that_its_gate_ended_early_says_so():
    from calipers.gate import Policy, Rules, StopWhenDecided

    with MemoryStore() as store:
        policy = Policy(pass_rate=Rules(at_least=0.5))
        run = keep_run(store, cases=200, stop_when=StopWhenDecided(policy))
        viewed = ViewedStore(store)
        (row,) = runs_answer(viewed).rows
        assert row.attempts < 200
        assert (row.gate.outcome, row.gate.decided) == ("PASS", True)
        assert store.run(run).parameters["stop_when"] == "StopWhenDecided"
        viewed.close()


def test_counting_ends_with_the_viewer(tmp_path):
    with SqliteStore(tmp_path / "runs.db") as store:
        keep_run(store, cases=500)
    viewed = ViewedStore(tmp_path / "runs.db")
    runs_answer(viewed)
    counter = viewed.kept(RunCounter)
    viewed.close()
    assert counter._thread is None


def test_two_viewers_show_one_store(store_path):
    with ServedViewer(store_path) as one, ServedViewer(store_path) as other:
        for viewer in (one, other):
            assert [row["name"] for row in viewer.ask("runs").json()["rows"]] == ["second", "first"]
        cookie = one.headers["Cookie"]
        assert other.ask("runs", headers={"Cookie": cookie}).status == 401
