import json
from collections import Counter
from pathlib import Path

import pytest

from calipers import Case, Dataset, LLMCall, ToolCall, Trace, Turn, set_eval_attribute
from calipers.data.attempt import increment_eval_metric
from calipers.views.formats import read_report, write_report


def answer(inputs):
    if inputs == "boom":
        raise ValueError("out of \x1b[31mreach")
    increment_eval_metric("tokens", 7)
    set_eval_attribute("route", {"name": "short"})
    return {"answer": inputs, "lines": "one\ntwo"}


def graded(output, expected_output):
    return {"tone": "calm", "right": output["answer"] == expected_output, "score": 0.25}


def judge(inputs):
    if inputs == "odd":
        raise RuntimeError("cannot judge")
    return {}


def next_number(inputs, seen=Counter()):  # noqa: B006 - so that repeats differ
    seen[inputs] += 1
    return seen[inputs]


def even(output):
    return output % 2 == 0


@pytest.fixture
def report(folder):
    cases = [
        Case(name="good", inputs="a", expected_output="a", metadata={"topic": "letters"}, cluster="c1"),
        Case(name="bad", inputs="b\nB", expected_output="c"),
        Case(name="odd", inputs="odd", expected_output=None),
        Case(name="boom", inputs="boom"),
    ]
    made = Dataset(name="letters", cases=cases, evaluators=[graded, judge]).evaluate_sync(
        answer, progress=False, seed=1
    )
    write_report(made, "report.json")
    return made


def test_a_saved_report_is_shown_as_it_was(calipers, report, capsys):
    report.print(width=80)
    printed = capsys.readouterr().out
    done = calipers("show", "report.json", env={"COLUMNS": "80"})
    assert done.exit_code == 0
    assert done.stdout == printed


def test_the_attempts_to_list_can_be_chosen(calipers, report):
    assert "boom  " in calipers("show", "report.json").stdout
    assert "good  " in calipers("show", "report.json", "--include-cases", "all").stdout
    assert "boom  " not in calipers("show", "report.json", "--include-cases", "none").stdout
    assert "raise ValueError" in calipers("show", "report.json", "--tracebacks").stdout


@pytest.mark.parametrize(
    ("filters", "names"),
    [
        (["status:errored"], ["boom"]),
        (["eval.right:failed"], ["bad", "odd"]),
        (["-status:passed"], ["bad", "odd", "boom"]),
        (["-status:passed", "reach"], ["boom"]),
        (["meta.topic:letters"], ["good"]),
        (["status:unjudged"], []),
    ],
)
def test_a_filter_lists_the_attempts_that_meet_it(calipers, report, filters, names):
    asked = [word for each in filters for word in ("--filter", each)]
    done = calipers("show", "report.json", *asked)
    assert done.exit_code == 0
    title, *rest = done.stdout.splitlines()
    assert [line.split()[1] for line in rest if line[:1] in "✓✗·" and line[:1]] == names
    if names:
        assert title.startswith(f"{len(names)} attempt")
        assert title.endswith(" ".join(filters))
    else:
        assert title == "No attempt meets status:unjudged"


def test_of_many_that_meet_a_filter_the_first_cases_are_listed(calipers, kept):
    dataset = Dataset(cases=[Case(name=f"n{n}", inputs=n) for n in range(5)], evaluators=[even])
    dataset.evaluate_sync(next_number, store=kept, repeat=2, progress=False)
    done = calipers("show", "latest", "--filter", "is:flaky status:failed", "--max-cases", "2")
    title, *rest = done.stdout.splitlines()
    assert title == "5 attempts at 5 cases met is:flaky status:failed"
    assert [line for line in rest if line.startswith("✗")][1].startswith("✗ n1 [")
    assert rest[-1] == "… and 3 more (--max-cases 0 shows all)"
    assert "finished" in done.stderr


def test_one_case_is_shown_with_all_that_is_known_of_it(calipers, report):
    shown = calipers("show", "report.json", "--case", "good").stdout
    for line in (
        "good: passed",
        "    cluster c1",
        "    a",
        '      "answer": "a",',
        "    tone: calm",
        "    right: passed",
        "    score: 0.25",
        "    judge: ",
        "    tokens: 7",
        '        "name": "short"',
        '      "topic": "letters"',
    ):
        assert line in shown, line


def test_what_the_agent_did_is_shown_turn_by_turn_and_whole(calipers, folder):
    trace = Trace(
        turns=[
            Turn(turn_type="user_message", content="To Oslo,\nplease"),
            Turn(llm_call=LLMCall(model="big\x1b[31m", input_tokens=12, output_tokens=3, latency_ms=1500)),
            Turn(tool_call=ToolCall("find", {"to": "OSL"}, output="x" * 5000, latency_ms=240)),
            Turn(tool_call=ToolCall("book", output="", success=False, error="no seats")),
            Turn(turn_type="agent_message", content="Sorry."),
        ]
    )
    cases = [Case(name="a", inputs=trace), Case(name="b", inputs=Trace())]
    write_report(Dataset(cases=cases).evaluate_sync(lambda inputs: inputs, progress=False), "report.json")
    shown = calipers("show", "report.json", "--case", "a").stdout
    assert shown.startswith("a: nothing was asserted\n")
    assert shown.split("What the agent did\n")[1].splitlines() == [
        "    user",
        "      said To Oslo,",
        "      please",
        r"    model big\x1b[31m, 12 tokens in, 3 out, 1.5 s",
        "    tool find, 240 ms",
        "      with {",
        '        "to": "OSL"',
        "      }",
        f"      gave {'x' * 5000}",
        "    tool book, FAILED",
        '      gave ""',
        "      error no seats",
        "    agent",
        "      said Sorry.",
    ]
    assert "    nothing that was recorded" in calipers("show", "report.json", "--case", "b").stdout


def test_several_cases_are_shown_in_the_order_they_are_asked_for(calipers, report):
    shown = calipers("show", "report.json", "--case", "odd", "--case", "good", "--case", "odd").stdout
    assert [shown.count(f"{name}: ") for name in ("odd", "good", "bad")] == [1, 1, 0]
    assert shown.index("odd: ") < shown.index("good: ")


def test_the_summary_of_a_run_is_told_from_a_report(calipers, write_eval, write):
    write_eval("def eval_it():\n    return numbers(1), task\n")
    write("summary.json", calipers("run", "--json").stdout)
    done = calipers("show", "summary.json")
    assert done.exit_code == 3
    assert (
        "the summary of `calipers run --json`: `calipers run --out json:PATH` writes the report"
        in done.stderr
    )


def test_a_value_of_several_lines_keeps_them_and_an_expectation_of_none_is_shown(calipers, report):
    assert "Inputs\n    b\n    B\n" in calipers("show", "report.json", "--case", "bad").stdout
    odd = calipers("show", "report.json", "--case", "odd").stdout
    assert "odd: error" in odd
    assert "Expected\n    null\n" in odd
    assert "Evaluator judge failed\n" in odd
    assert "RuntimeError: cannot judge" in odd


def test_a_task_that_failed_is_shown_with_its_traceback_and_cannot_colour_the_terminal(calipers, report):
    shown = calipers("show", "report.json", "--case", "boom").stdout
    assert "Task failed\n" in shown
    assert "raise ValueError" in shown
    assert "out of \\x1b[31mreach" in shown


def test_every_attempt_at_a_repeated_case_is_shown(calipers, folder):
    dataset = Dataset(cases=[Case(name="twice", inputs=1)], evaluators=[lambda output: True])
    write_report(dataset.evaluate_sync(abs, repeat=2, progress=False), "report.jsonl")
    shown = calipers("show", "report.jsonl", "--case", "twice").stdout
    assert "twice [1/2]: passed" in shown
    assert "twice [2/2]: passed" in shown
    assert "twice [2/2]" not in calipers("show", "report.jsonl", "--case", "twice [1/2]").stdout


@pytest.mark.parametrize(
    ("name", "hint"),
    [("godo", "did you mean 'good'?"), ("zzz", "there are 'good', 'bad', 'odd', 'boom'")],
)
def test_a_case_that_is_not_there_is_told_what_is(calipers, report, name, hint):
    done = calipers("show", "report.json", "--case", name)
    assert done.exit_code == 2
    assert f"no case of the report is called {name!r}; {hint}" in done.stderr


def test_a_report_that_keeps_failures_only_says_so_when_a_case_is_missing(calipers, folder):
    dataset = Dataset(cases=[Case(name="fine", inputs=1)], evaluators=[lambda output: True])
    write_report(dataset.evaluate_sync(abs, keep="failed", progress=False), "report.json")
    assert "keeps only attempts that did not pass" in calipers("show", "report.json", "--case", "fine").stderr


def test_a_report_is_converted_to_other_formats(calipers, report, folder):
    done = calipers("show", "report.json", "--to", "page.html", "--to", "jsonl:lines")
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr == "Wrote page.html: open it in a browser\nWrote lines\n"
    assert read_report(folder / "lines").to_dict() == read_report(folder / "report.json").to_dict()
    again = calipers("show", "lines", "--to", "json:-")
    assert json.loads(again.stdout) == json.loads((folder / "report.json").read_text(encoding="utf-8"))


def test_lines_without_their_end_are_shown_as_incomplete(calipers, report, folder):
    write_report(report, "whole.jsonl")
    lines = (folder / "whole.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "cut.jsonl").write_bytes(b"".join(lines[:3]))
    done = calipers("show", "cut.jsonl")
    assert done.exit_code == 0
    assert "INCOMPLETE" in done.stdout


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["nowhere.json"], 2, "file not found: nowhere.json"),
        (["."], 2, "'.' is a folder: name a file"),
        (["other.json"], 3, "'other.json' cannot be shown: this is no stored report"),
        (["report.json", "--to", "jsn:x"], 2, "did you mean 'json'?"),
        (["report.json", "--to", "html:./report.json"], 2, "would overwrite the report: name another file"),
        (["report.json", "--to", "x.html", "--case", "good"], 2, "give one of them"),
        (["report.json", "--to", "x.html", "--filter", "good"], 2, "give one of them"),
        (["report.json", "--case", "good", "--filter", "good"], 2, "give one of them"),
        (["report.json", "--filter", "statsu:failed"], 2, "did you mean 'status'?"),
        (["report.json", "--filter", "is:new"], 2, "where two runs are compared"),
    ],
)
def test_what_cannot_be_shown_is_told(calipers, report, write, args, code, message):
    write("other.json", '{"no": "report"}')
    done = calipers("show", *args)
    assert (done.exit_code, done.stdout) == (code, "")
    assert message in done.stderr


# ---------------------------------------------------------------------- runs that are kept


@pytest.fixture
def stored(report, kept):
    """The report as a run, and a second run that takes most of it over."""
    cases = [
        Case(name="good", inputs="a", expected_output="a"),
        Case(name="bad", inputs="b", expected_output="c"),
    ]
    dataset = Dataset(name="letters", cases=cases, evaluators=[graded])
    first = dataset.evaluate_sync(answer, store=kept, progress=False, seed=1).reuse.run
    dataset.add_evaluator(judge)
    return first, dataset.evaluate_sync(
        answer, store=kept, progress=False, reuse=True, name="again"
    ).reuse.run


@pytest.mark.parametrize("name", ["latest", "again", "id", "beginning"])
def test_a_run_is_shown_by_any_of_its_names(calipers, stored, kept, name):
    run = stored[1]
    done = calipers("show", {"id": run, "beginning": run[:-2]}.get(name, name))
    assert done.exit_code == 0
    assert "again on letters" in done.stdout
    assert done.stderr == f"Run {run} in .calipers/runs.db, finished\n"


def test_one_case_of_a_run_says_where_it_comes_from(calipers, stored):
    first, second = stored
    shown = calipers("show", second, "--case", "good", "--case", "bad").stdout
    assert "good: passed" in shown
    assert "\n\nbad: failed" in shown
    assert f"    attempt: made in run {first}, and taken over\n" in shown
    assert f"    graded: judged in run {first}, and taken over\n" in shown
    assert f"    judge: judged in run {second}\n" in shown
    missing = calipers("show", second, "--case", "goood")
    assert (missing.exit_code, "did you mean 'good'?" in missing.stderr) == (2, True)


def test_a_run_is_written_in_every_format(calipers, stored, kept, folder):
    done = calipers("show", "latest", "--to", "page.html", "--to", "run.json", "--to", "csv:-")
    assert done.exit_code == 0
    assert len(done.stdout.splitlines()) == 3
    assert read_report(folder / "run.json").to_dict() == kept.report(stored[1]).to_dict()


def test_a_run_that_did_not_finish_says_how_to_go_on(calipers, stored, kept):
    kept.finish_run(stored[1], status="interrupted")
    told = calipers("show", "latest").stderr
    assert f"Run {stored[1]} in .calipers/runs.db, interrupted\n" in told
    assert f"add --resume {stored[1]} to the command that began it" in told


def test_files_come_first_and_the_store_can_be_asked_for(calipers, stored, write, folder):
    write("again", (folder / "report.json").read_text(encoding="utf-8"))
    assert "answer on letters" in calipers("show", "again").stdout
    assert "again on letters" in calipers("show", "again", "--store", ".calipers/runs.db").stdout


def test_a_long_run_is_read_as_far_as_it_did_not_pass(stored, kept):
    from calipers.cli.stored_runs import MOST_IN_MEMORY, report_of

    info = kept.run("latest")
    assert len(report_of(kept, info, whole=False).cases) == 2
    info.attempts = MOST_IN_MEMORY + 1
    report = report_of(kept, info, whole=False)
    assert ([case.name for case in report.cases], report.counts().attempts) == (["bad"], 2)
    assert len(report_of(kept, info, whole=True).cases) == 2


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["agian"], "has no run 'agian'; did you mean 'again'?"),
        (["2"], "is the beginning of several runs"),
        (["latest", "--to", "html:.calipers/runs.db"], "would overwrite the report"),
        ([""], "has no run ''"),
    ],
)
def test_a_run_that_cannot_be_shown_is_told(calipers, stored, args, told):
    done = calipers("show", *args)
    assert (done.exit_code, done.stdout) == (2, ""), done.output
    assert told in done.stderr


def test_without_a_store_a_name_may_have_been_a_file(calipers, folder):
    done = calipers("show", "latest")
    assert (done.exit_code, list(folder.iterdir())) == (2, [])
    assert "file not found: latest, and there is no store '.calipers/runs.db' here" in done.stderr


def test_a_run_whose_name_looks_like_a_path_is_shown_with_its_store_and_told_without(calipers, kept):
    data = Dataset(name="d", cases=[Case(inputs=1)], evaluators=[lambda output: True])
    data.evaluate_sync(lambda inputs: inputs, name="gpt/v2", store=kept, progress=False)
    done = calipers("show", "gpt/v2")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "file not found: gpt/v2. To show a run of that name, give --store URL" in done.stderr
    assert calipers("show", "gpt/v2", "--store", ".calipers/runs.db").exit_code == 0


def test_labels_of_people_correct_a_judge(calipers, report, write):
    write("labels.csv", "case,human\ngood,true\nbad,true\n")
    shown = calipers("show", "report.json", "--include-cases", "none", "--labels", "right=labels.csv").stdout
    assert "right, corrected by people" in shown
    assert "2 labels" in shown
    calipers("show", "report.json", "--labels", "right=labels.csv", "--to", "json:again.json")
    assert read_report("again.json").analyses[-1].agreement == 0.5
    calipers("show", "report.json", "--labels", "right=labels.csv", "--to", "html:again.html")
    assert "right, corrected by people" in Path("again.html").read_text(encoding="utf-8")
    calipers("show", "report.json", "--labels", "right=labels.csv", "--to", "markdown:again.md")
    assert "corrected" in Path("again.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("given", "code", "message"),
    [
        ("right", 2, "written JUDGE=FILE"),
        ("right=no.csv", 2, "file not found: no.csv"),
        ("left=labels.csv", 2, "no one column 'left'"),
        ("right=labels.csv", 3, "the run has no case 'nope'"),
    ],
)
def test_labels_that_cannot_correct_are_told(calipers, report, write, given, code, message):
    write("labels.csv", "case,human\nnope,true\n")
    done = calipers("show", "report.json", "--labels", given)
    assert done.exit_code == code
    assert message in done.stderr
