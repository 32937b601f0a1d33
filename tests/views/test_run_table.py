"""Several runs in one table."""

import csv
import io
import shutil
import subprocess

import pytest

from calipers import Case, Dataset, increment_eval_metric
from calipers.errors import InvalidOptionError
from calipers.report import Incomplete
from calipers.views.run_table import (
    TABLE_FORMATS,
    run_table,
    table_csv,
    table_latex,
    table_markdown,
    table_target,
    write_table,
)

HOSTILE = r"[x] \input{/etc/passwd} & 100% _#$ {a}~^ <b> `c` | $$" + "\n\x1b[31m"


def even(output):
    return output % 2 == 0


def task(inputs):
    increment_eval_metric("cost_usd", 0.25)
    increment_eval_metric("tokens", inputs)
    if inputs == 3:
        raise TimeoutError("late")
    return inputs


def ran(name="model a", inputs=range(8), evaluators=(even,), **options):
    cases = [Case(name=f"c{n}", inputs=n) for n in inputs]
    return Dataset(name="numbers", cases=cases, evaluators=[*evaluators]).evaluate_sync(
        task, name=name, progress=False, seed=0, **options
    )


@pytest.fixture(scope="module")
def reports():
    return [ran(repeat=2), ran("model b", range(0, 8, 2), repeat=2)]


def rows(text):
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


def test_each_number_is_that_of_the_report(reports):
    table = run_table(reports)
    for report, row in zip(reports, table.rows, strict=True):
        assert row.pass_rate == report.pass_rate()
        assert (row.pass_at_k, row.pass_hat_k) == (report.pass_at_k(2), report.pass_hat_k(2))
        assert row.metrics == {"cost_usd": report.metrics()["cost_usd"]}
        assert (row.time, row.time_interval) == (report.durations().p50, report.durations().p50_interval)
    assert (table.k, table.metrics) == (2, ("cost_usd",))
    assert table.rows[0].without == reports[0].infrastructure().without
    assert table.rows[1].without is None


def test_markdown_shows_the_numbers_with_their_intervals_and_what_to_know(reports):
    head, line, first, second, *notes = table_markdown(run_table(reports)).splitlines()
    assert head == "| Run | Cases | Pass rate | Answered | pass@2 | pass^2 | cost_usd | Time |"
    assert line.count("---") == head.count("|") - 1
    assert first.startswith("| model a | 8 x 2 | 50.0 % [21.5, 78.5] | 57.1 % [25.0, 84.2] | 50.0 % ")
    assert second.startswith("| model b | 4 x 2 | 100.0 % ")
    text = "\n".join(notes)
    assert "calipers compare says which runs differ" in text
    assert "leaves them out" in text
    assert "not all over the same cases" in text


def test_csv_has_every_number_and_each_end(reports):
    first, second = rows(table_csv(run_table(reports, metrics=["tokens", "cost_usd"], confidence=0.9)))
    rate = reports[0].pass_rate(confidence=0.9)
    ends = (rate.value, rate.interval.low, rate.interval.high)
    assert tuple(float(first[f"pass_rate{end}"]) for end in ("", "_low", "_high")) == ends
    assert (first["run_name"], first["dataset"], first["cases"], first["attempts"]) == (
        "model a",
        "numbers",
        "8",
        "16",
    )
    assert (first["infrastructure"], second["infrastructure"], second["answered"]) == ("2", "0", "")
    assert float(second["metrics.tokens"]) == 4, "an attempt that counted none has none"
    assert first["k"] == "2"


def test_columns_that_no_run_has_are_left_out():
    bare = run_table([ran(inputs=(1, 2), evaluators=())], metrics=[])
    assert table_markdown(bare).splitlines()[0] == "| Run | Cases | Pass rate | Time |"
    assert "| model a | 2 | - | " in table_markdown(bare)
    assert "-- &" in table_latex(bare)


def test_where_cases_have_too_few_attempts_there_is_no_pass_at_k(reports):
    table = run_table([*reports, ran()], k=2)
    assert table.rows[2].pass_at_k is None
    assert "pass@2 needs 2 attempts at every case." in table.notes()
    assert run_table([*reports, ran()]).k is None, "not all runs repeat their cases"


def test_a_reader_of_the_paper_sees_what_the_intervals_are(reports):
    latex = table_latex(run_table(reports))
    *_, notes, end = latex.splitlines()
    assert notes.startswith(
        r"  \multicolumn{8}{p{0.95\linewidth}}{\footnotesize [low, high] is a 95 \% interval"
    )
    assert end == r"\end{tabular}"
    assert r"& 8 $\times$ 2 &" in latex
    assert not any(line.startswith("%") for line in latex.splitlines())


def test_names_of_runs_are_data_in_every_format(reports):
    table = run_table(reports, labels=[HOSTILE, "=1+1"])
    latex = table_latex(table)
    assert r"\input" not in latex
    assert r"\textbackslash{}input\{/etc/passwd\}" in latex
    assert "  {[x]" in latex, "a bracket after a line break would be its option"
    assert all("\x1b" not in draw(table) for draw in TABLE_FORMATS.values())
    head, _, *lines = table_markdown(table).splitlines()[:4]
    assert [line.count(" | ") for line in (head, *lines)] == [7, 7, 7]
    assert rows(table_csv(table))[1]["label"] == "'=1+1"


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="there is no LaTeX on this machine")
def test_latex_takes_the_table(reports, tmp_path):
    write_table(run_table(reports, labels=[HOSTILE, "b"]), tmp_path / "table.tex")
    page = r"\documentclass{article}\usepackage{booktabs,textcomp}\begin{document}\input{table.tex}\end{document}"
    (tmp_path / "page.tex").write_text(page, encoding="utf-8")
    subprocess.run(["pdflatex", "-halt-on-error", "page.tex"], cwd=tmp_path, check=True, capture_output=True)


def test_a_run_that_ended_early_is_named(reports):
    early = ran()
    early.incomplete = Incomplete("interrupted", "interrupted by Ctrl-C after 3 of 8 attempts")
    assert "model a is incomplete: interrupted by Ctrl-C after 3 of 8 attempts" in run_table([early]).notes()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"metrics": ["nope"]}, "no run has a metric 'nope'; there are 'cost_usd', 'tokens'"),
        ({"labels": ["one"]}, "every report needs its label"),
        ({"k": 0}, "k must be a whole number"),
    ],
)
def test_wrong_options_are_refused(reports, options, problem):
    with pytest.raises(InvalidOptionError, match=problem):
        run_table(reports, **options)


def test_no_reports_make_no_table():
    with pytest.raises(InvalidOptionError, match="one report or more"):
        run_table([])


def test_a_report_of_failures_has_a_row_unless_pass_at_k_is_asked():
    some = ran(keep="failed")
    assert run_table([some]).rows[0].pass_rate == ran().pass_rate()
    with pytest.raises(InvalidOptionError, match="need every attempt"):
        run_table([some], k=1)


@pytest.mark.parametrize(
    ("target", "found"),
    [
        ("latex", ("latex", "-")),
        ("csv:-", ("csv", "-")),
        ("markdown:a.txt", ("markdown", "a.txt")),
        ("a.tex", ("latex", "a.tex")),
        ("a.MD", ("markdown", "a.MD")),
    ],
)
def test_a_target_names_its_format(target, found):
    assert tuple(table_target(target)) == found


@pytest.mark.parametrize("target", ["html", "a.json", "-", "latex:"])
def test_other_targets_are_refused(target):
    with pytest.raises(InvalidOptionError, match="a table of runs is written as markdown, latex, csv"):
        table_target(target)
