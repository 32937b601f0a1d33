import json

import pytest

from calipers import Case, Dataset
from calipers.report import Incomplete
from calipers.views.formats import read_report

JUDGES = """
    from dataclasses import dataclass
    from pathlib import Path
    from typing import Any

    import msgspec

    from calipers import Case, Dataset, Evaluator

    def small(output):
        return output < 2

    def loud(output):
        return str(output).isupper()

    def broken(output):
        raise RuntimeError("cannot judge")

    def no_judgement(output):
        return object()

    @dataclass
    class AtMost(Evaluator):
        limit: float = 3

        def evaluate(self, ctx):
            return ctx.output <= self.limit

    @dataclass
    class Needy(Evaluator):
        limit: float

        def evaluate(self, ctx):
            return True

    SEVERAL = [small, AtMost(1)]
    NUMBER = 3
    dataset = Dataset(name="numbers", cases=[Case(name="number 1", inputs=1)], evaluators=[small])
    bare = Dataset(name="numbers", cases=[])

    class Point(msgspec.Struct):
        x: int

    def on_axis(output):
        return output.x == 0
"""
CALLS = []


def same(inputs):
    CALLS.append(inputs)
    if inputs == "boom":
        raise ValueError("no number")
    return inputs


def positive(output):
    return output > 0


@pytest.fixture
def run(kept, write):
    """A run with three attempts, two of which finished and passed."""
    write("judges.py", JUDGES)
    write("cases.yaml", "cases: [{name: number 1, inputs: 1}]\nevaluators: [Equals: 1, MaxDuration: 5]\n")
    cases = [Case(name=f"number {each}", inputs=each) for each in (1, 2)]
    dataset = Dataset(name="numbers", cases=cases, evaluators=[positive])
    return dataset.evaluate_sync(same, store=kept, progress=False).reuse.run


@pytest.mark.parametrize(
    ("evaluators", "columns"),
    [
        (["judges.py:small"], ["small"]),
        (["judges:small"], ["small"]),
        (["judges.py:AtMost"], ["AtMost"]),
        (["judges.py:SEVERAL"], ["small", "AtMost"]),
        (["judges.py:dataset"], ["small"]),
        (["cases.yaml"], ["Equals", "MaxDuration"]),
        (["Equals: 1"], ["Equals"]),
        (["Equals: {value: 1}", "judges.py:small"], ["Equals", "small"]),
        (["MaxDuration: 5"], ["MaxDuration"]),
        (["EqualsExpected"], ["EqualsExpected"]),
    ],
)
def test_evaluators_are_named_in_many_ways_and_become_columns_of_the_run(
    calipers, kept, run, evaluators, columns
):
    CALLS.clear()
    done = calipers(
        "score",
        "latest",
        *(part for each in evaluators for part in ("--evaluators", each)),
        "--fail-under",
        "0",
    )
    assert done.exit_code == 0, done.output
    assert CALLS == [], "the task is not called"
    assert [each.name for each in kept.run(run).evaluators] == ["positive", *columns]
    assert f"Judged 2 attempts: {2 * len(columns)} new judgements\n" in done.stderr
    assert done.stderr.endswith(
        f"Kept in .calipers/runs.db: calipers show {run}, or calipers view --run {run}\n"
    )
    assert calipers("show", run).stdout == done.stdout


def test_evaluators_of_users_have_names_where_they_are_given(calipers, run):
    done = calipers("score", "latest", "--evaluators", "AtMost: 1", "--evaluator-type", "judges.py:AtMost")
    assert (done.exit_code, "AtMost" in done.stdout) == (1, True)


@pytest.mark.parametrize(
    ("args", "code", "told"),
    [
        (["--evaluators", "judges.py:AtMost"], 0, ""),
        (["--evaluators", "judges.py:small"], 1, "Failed: 1 of 2 cases did not pass"),
        (["--evaluators", "judges.py:small", "--fail-under", "small=0.5"], 0, ""),
        (
            ["--evaluators", "judges.py:small", "--fail-under", "small=0.6"],
            1,
            "small is 0.5, which is below 0.6",
        ),
        (["--evaluators", "judges.py:broken"], 3, "evaluator broken did not finish on 2 attempts"),
        (["--evaluators", "judges.py:no_judgement"], 3, "evaluator no_judgement did not finish"),
        (["--evaluators", "judges.py:smal"], 2, "did you mean 'small'?"),
        (["--evaluators", "judges.py:NUMBER"], 2, "--evaluators judges.py:NUMBER: 3 is not an evaluator"),
        (["--evaluators", "judges.py:Needy"], 2, "limit"),
        (["--evaluators", "judges.py:bare"], 2, "the dataset has no evaluators that judge every case"),
        (["--evaluators", "judges.py"], 2, "is a Python file: name what is in it, as judges.py:name"),
        (["--evaluators", "nowhere.yaml"], 2, "file not found: nowhere.yaml"),
        (["--evaluators", "Equal: 1"], 2, "did you mean 'Equals'?"),
        (["--evaluators", "polite"], 2, "your own is named as module:name or file.py:name"),
        (["--evaluators", "Equals: {valu: 1}"], 2, "--evaluators 'Equals: {valu: 1}': "),
        (["--evaluators", "[unfinished"], 2, "--evaluators '[unfinished': "),
        (["--evaluators", ""], 2, "--evaluators '' names no evaluator: give module:name"),
        (["--evaluators", " "], 2, "--evaluators ' ' names no evaluator"),
        (["--evaluators", "Contains:x"], 2, "did you mean 'Contains: x'?"),
        (["--evaluators", "nowhere:small"], 2, "module not found: nowhere"),
        (["--evaluators", "judges.py:small", "--out", "json:.calipers/runs.db"], 2, "would overwrite"),
        ([], 2, "there is nothing to do: give --evaluators, or --drop"),
        (["--replace", "--drop", "positive"], 2, "--replace needs --evaluators"),
        (["--drop", "positiv"], 2, "no evaluator 'positiv' to drop; there are: 'positive'"),
    ],
)
def test_the_exit_code_says_what_came_of_it(calipers, run, args, code, told):
    done = calipers("score", run, *args)
    assert (done.exit_code, told in done.stderr) == (code, True), done.output
    if code == 2:
        assert done.stdout == ""


def test_what_was_judged_already_is_not_judged_again(calipers, run):
    args = ["score", run, "--evaluators", "judges.py:AtMost", "--quiet"]
    assert calipers(*args).exit_code == 0
    done = calipers(*args[:-1], "--json")
    kept = json.loads(done.stdout)["evaluations"][0]["kept"]
    assert (kept["run"], kept["cells_computed"], kept["cells_reused"]) == (run, 0, 2)


def test_an_evaluator_takes_the_place_of_another_or_is_dropped(calipers, kept, run, write):
    write("better.py", "def small(output):\n    return output < 9\n")
    assert calipers("score", run, "--evaluators", "judges.py:small").exit_code == 1
    done = calipers("score", run, "--evaluators", "better.py:small", "--replace")
    assert (done.exit_code, kept.run(run).columns) == (0, ["positive", "small"])
    done = calipers("score", run, "--drop", "small")
    assert done.exit_code == 0
    assert (
        done.stderr
        == f"Left out from now on: small\nKept in .calipers/runs.db: calipers show {run}, or calipers view --run {run}\n"
    )
    assert "small" not in done.stdout
    listed = json.loads(calipers("runs", "--json").stdout)
    assert listed[0]["evaluators"] == ["positive"]


def test_the_report_can_be_written_whole(calipers, run, folder):
    done = calipers("score", run, "--evaluators", "judges.py:AtMost", "--out", "json:{name}.json", "-q")
    assert (done.exit_code, done.output) == (0, "")
    assert len(read_report(folder / "same.json").cases) == 2


def test_a_run_that_is_not_complete_is_an_error_and_no_interruption(calipers, kept, run):
    kept.remove_attempts(run, [1])
    report = kept.report(run)
    report.incomplete = Incomplete("interrupted", "interrupted by Ctrl-C after 1 of 2 attempts", by="Ctrl-C")
    kept.finish_run(run, status="interrupted", report=report)
    done = calipers("score", run, "--evaluators", "judges.py:AtMost")
    assert done.exit_code == 3
    assert "the run is incomplete: interrupted by Ctrl-C" in done.stderr
    assert "Go on with it" not in done.stderr


def test_objects_are_made_again_where_their_type_is_named(calipers, kept, run, folder):
    from calipers.cli.address import load_object

    point = load_object("judges.py:Point")
    dataset = Dataset(name="points", cases=[Case(name="p", inputs=0)])
    dataset.evaluate_sync(lambda inputs: point(inputs), store=kept, progress=False)
    args = ["score", "latest", "--evaluators", "judges.py:on_axis"]
    assert calipers(*args, "--output-type", "judges.py:Point").exit_code == 0
    assert "judged by plain data" not in calipers(*args, "--output-type", "judges.py:Point").stderr


def test_a_run_or_a_store_that_is_not_there_is_wrong_usage(calipers, run, folder):
    assert calipers("score", "nix", "--evaluators", "judges.py:small").exit_code == 2
    done = calipers("score", "latest", "--evaluators", "judges.py:small", "--store", "typo.db")
    assert (done.exit_code, "there is no store 'typo.db'" in done.stderr) == (2, True)
    assert not (folder / "typo.db").exists()


def test_a_command_that_was_interrupted_is_given_again(calipers, kept, run, write):
    write(
        "slowly.py",
        """
        import signal
        from pathlib import Path

        async def stopped(output):
            try:
                Path("stopped").touch(exist_ok=output != 1)
            except FileExistsError:
                return True
            if output == 1:
                signal.raise_signal(signal.SIGINT)
            return True
        """,
    )
    args = ["score", run, "--evaluators", "slowly.py:stopped", "--max-concurrency", "1"]
    done = calipers(*args)
    assert done.exit_code == 130
    assert "Give the same command again to go on with it" in done.stderr
    assert calipers(*args).exit_code == 0
    assert len(list(kept.cells(run, evaluator=1))) == 2
