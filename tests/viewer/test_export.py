"""Every table can be had as a file: all of its rows, with the numbers of the page, and no cell that a spreadsheet would run."""

import csv
from io import StringIO

import pytest

from calipers import Case, Dataset
from calipers.evaluators import EqualsExpected
from calipers.stores import SqliteStore
from calipers.testing import ServedViewer

from .conftest import keep_run, until

FORMULA = '=HYPERLINK("http://evil.example")'


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    path = tmp_path_factory.mktemp("exported") / "runs.db"
    cases = [
        Case(
            name=f"{sign}case {n}",
            inputs=FORMULA,
            expected_output=n % 3 > 0,
            tags=["even" if n % 2 == 0 else "odd"],
            metadata={"lang": "de" if n < 6 else "fr"},
        )
        for n, sign in enumerate(["=", "+", "-", "@", "\t", "\r", "", "", "", "", "", ""])
    ]
    dataset = Dataset(name="hostile", cases=cases, evaluators=[EqualsExpected()])
    with SqliteStore(path) as store:
        for name, output in (("first", True), ("second", False)):
            dataset.evaluate_sync(
                lambda inputs, output=output: output, store=store, name=name, progress=False
            )
        keep_run(store, name="third", wrong=[1])
    with ServedViewer(path) as viewer:
        yield viewer


def table(viewer, query):
    answer = viewer.ask(f"export.csv?{query}")
    assert answer.status == 200, answer.text
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert answer.headers["content-disposition"].startswith("attachment; ")
    return list(csv.DictReader(StringIO(answer.text)))


def test_runs_have_their_rates_with_both_ends_of_the_interval(exported):
    until(lambda: exported.ask("runs").json()["rows"], lambda rows: all(row["rate"] for row in rows))
    rows = table(exported, "of=runs&sort=name")
    assert [row["name"] for row in rows] == ["first", "second", "third"]
    shown = {row["name"]: row for row in exported.ask("runs").json()["rows"]}
    for row in rows:
        rate = shown[row["name"]]["rate"]
        assert float(row["rate"]) == rate["value"]
        assert float(row["rate_low"]) == rate["interval"]["low"]
        assert row["cases"] == str(shown[row["name"]]["cases"])
    assert [row["name"] for row in table(exported, "of=runs&q=dataset:hostile")] == ["second", "first"]


def test_all_cases_that_meet_the_filter_are_there(exported):
    assert len(table(exported, "of=cases&run=first")) == 12
    failed = table(exported, "of=cases&run=first&q=status:failed&sort=-name")
    assert {row["mark"] for row in failed} == {"fail"}
    assert [row["name"].lstrip("'") for row in failed] == sorted(
        (row["name"].lstrip("'") for row in failed), reverse=True
    )
    assert {row["value.EqualsExpected"] for row in failed} == {"0.0"}
    assert (failed[0]["passed"], failed[0]["failed"]) == ("0", "1")


def test_no_cell_is_a_formula(exported):
    for query in ("of=cases&run=first", "of=groups&run=first", "of=flips&a=first&b=second", "of=runs"):
        for row in until(lambda query=query: ready(exported, query), bool):
            for cell in row.values():
                assert not cell.startswith(("=", "+", "@", "\t", "\r")), row
                assert not cell.startswith("-") or cell.removeprefix("-").replace(".", "").isdecimal()
    names = [row["name"] for row in table(exported, "of=cases&run=first")]
    assert names[0] == "'=case 0"


def ready(viewer, query):
    answer = viewer.ask(f"export.csv?{query}")
    return None if answer.status == 503 else list(csv.DictReader(StringIO(answer.text)))


def test_slices_groups_and_trends_are_those_of_the_page(exported):
    slices = table(exported, "of=slices&run=first&by=meta.lang")
    assert {row["value"] for row in slices} == {"de", "fr"}
    assert {row["cases"] for row in slices} == {"6"}
    assert {row["filter"] for row in slices} == {"meta.lang:de", "meta.lang:fr"}
    assert sum(int(row["cases"]) for row in table(exported, "of=groups&run=first")) == 4
    trend = table(exported, "of=trend&dataset=hostile")
    assert [row["name"] for row in trend] == ["first", "second"]


def test_a_comparison_has_its_differences_and_its_flips(exported):
    differences = until(lambda: ready(exported, "of=differences&a=first&b=second"), bool)
    by_name = {row["name"]: row for row in differences}
    assert by_name["EqualsExpected"]["mark"] in {"worse", "unclear"}
    assert float(by_name["EqualsExpected"]["difference"]) == pytest.approx(4 / 12 - 8 / 12)
    assert float(by_name["EqualsExpected"]["p"]) <= float(by_name["EqualsExpected"]["p adjusted"]) <= 1
    flips = table(exported, "of=flips&a=first&b=second")
    assert len(flips) == 12
    assert {row["evaluators"] for row in flips} == {"EqualsExpected"}
    assert {row["baseline_gave"] for row in flips} == {"true"}


def test_of_several_runs_the_one_that_is_looked_at_is_exported(exported):
    three = "a=first&b=third&c=second"
    differences = until(lambda: ready(exported, f"of=differences&{three}&candidate=2"), bool)
    by_name = {row["name"]: row for row in differences}
    assert float(by_name["EqualsExpected"]["difference"]) == pytest.approx(4 / 12 - 8 / 12)
    assert len(table(exported, f"of=flips&{three}&candidate=2")) == 12
    assert table(exported, f"of=flips&{three}") == []


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("", "of must be one of runs, cases"),
        ("of=secrets", "of must be one of"),
        ("of=runs&of=cases", "of must be one of"),
        ("of=cases", "needs the parameter 'run'"),
        ("of=cases&run=nothing", "no run 'nothing'"),
        ("of=runs&run=first", "no parameter 'run'"),
        ("of=cases&run=first&q=statu:x", "unknown field"),
        ("of=cases&run=first&sort=nonsense", "nonsense"),
        ("of=slices&run=first&by=nonsense", "nonsense"),
        ("of=flips&a=first&b=first", "name runs that differ"),
    ],
)
def test_what_cannot_be_exported_is_refused_before_anything_is_sent(exported, query, says):
    answer = exported.ask(f"export.csv?{query}")
    assert answer.status in {400, 404}
    assert says in answer.json()["error"]["message"]


def test_a_file_is_named_for_what_it_holds(exported):
    headers = exported.ask("export.csv?of=cases&run=first").headers
    assert headers["content-disposition"] == (
        "attachment; filename=\"first-cases.csv\"; filename*=UTF-8''first-cases.csv"
    )
    assert headers["content-security-policy"] == "default-src 'none'; sandbox"
