"""`calipers label`: one key for each answer, blind, and nothing that was answered is lost."""

import csv
import json
import os
import re
import select
import sys
import time
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from calipers import Case, Dataset
from calipers.cli.actions.label import label
from calipers.cli.label_session import wrapped
from calipers.comparison.case_pairs import cases_of
from calipers.comparison.columns import Columns
from calipers.data.label_answers import choices, scale
from calipers.errors import InvalidOptionError
from calipers.exchange.label_file import export_labels, import_labels
from calipers.gate import HumanAgreement
from calipers.gate.human_labels import is_of_output, read_label_file, read_labels
from calipers.stores import HumanLabel, StoredAttempt
from calipers.stores.label_queue import first_seed, random_order
from calipers.testing import ScriptedKeys

QUESTION = "Is it polite?"


def kind(output):
    from calipers import EvaluationReason

    return EvaluationReason(value="please" in output, reason="VERDICT of the judge")


def talk(inputs):
    if inputs == "boom":
        raise ValueError("no answer")
    return f"answer to {inputs}, please" if inputs % 2 else f"answer to {inputs}"


@pytest.fixture
def run(kept):
    def make(count=6, repeat=1, task=talk, inputs=None, name="talk", **case):
        cases = [
            Case(
                name=f"case {number}", inputs=each, expected_output="EXPECTED", metadata={"m": "META"}, **case
            )
            for number, each in enumerate(inputs if inputs is not None else range(count))
        ]
        dataset = Dataset(name="talks", cases=cases, evaluators=[kind])
        done = dataset.evaluate_sync(task, name=name, store=kept, repeat=repeat, seed=1, progress=False)
        return done.reuse.run

    return make


@pytest.fixture
def press(folder, monkeypatch):
    """Label the latest run with these keys."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "40")

    def press(*keys, **options):
        given = {"run": "latest", "question": QUESTION, "person": "ann", "seed": 3, **options}
        return label(keys=ScriptedKeys(keys), **given)

    return press


def said(kept, **which):
    return [(each.position, each.value) for each in kept.labels(**which)]


def test_one_key_each_in_an_order_that_follows_from_the_seed(kept, run, press, capsys):
    which = run()
    assert press(*"ynynyn") == 0
    order = random_order(list(kept.attempts(which)), 3)
    labels = sorted(kept.labels(), key=lambda each: each.at)
    assert [each.position for each in labels] == order != sorted(order)
    assert [each.value for each in labels] == [True, False] * 3
    assert {(each.seed, each.probability, each.person, each.run) for each in labels} == {
        (3, None, "ann", which)
    }
    assert all(each.about for each in labels)
    shown = capsys.readouterr()
    assert "1 of 6  case " in shown.out
    assert "6 of 6  case " in shown.out
    assert "y yes   n no" in shown.out
    assert "c note   s skip   u undo   q quit" in shown.out
    assert shown.err == f"6 labels by ann to {QUESTION!r}, none left\n"


def test_it_is_blind(kept, run, press, capsys):
    which = run()
    kept.add_labels(
        [
            HumanLabel(
                run=which,
                position=n,
                case=f"case {n}",
                question=QUESTION,
                person="bob",
                value=True,
                at="",
                note="BOB",
            )
            for n in range(6)
        ]
    )
    press(*"yyy")
    shown = capsys.readouterr().out
    for hidden in ("VERDICT", "kind", "passed", "BOB", "bob", "META", "%"):
        assert hidden not in shown, hidden
    assert "Expected\n    EXPECTED" in shown
    press(*"yyy", hide_expected=True)
    assert "EXPECTED" not in capsys.readouterr().out
    press("y", question="another", show_metadata=True)
    assert 'Metadata\n    {\n      "m": "META"' in capsys.readouterr().out


def test_it_goes_on_where_it_was_and_keeps_what_was_answered_when_interrupted(kept, run, press, capsys):
    run()
    with pytest.raises(KeyboardInterrupt):
        press("y", "n", KeyboardInterrupt())
    assert len(kept.labels()) == 2
    assert "2 labels by ann to 'Is it polite?', 4 of 6 attempts left" in capsys.readouterr().err
    press(*"yyq", seed=None)
    shown = capsys.readouterr().out
    assert "3 of 6" in shown
    assert "1 of 6" not in shown
    press(*"yyyy", seed=None)
    assert len(kept.labels()) == 6
    assert {each.seed for each in kept.labels()} == {3}, "the order of the first session"
    press(*"n")
    assert "Nothing is left to label" in capsys.readouterr().err


def test_undo_skip_and_notes(kept, run, press, capsys):
    which = run()
    order = random_order(list(kept.attempts(which)), 3)
    press("u", "y", "u", "n", "s", "c", *"rude?", "backspace", "enter", "y", "c", *"gone", "escape", "n", "q")
    labels = sorted(kept.labels(), key=lambda each: each.at)
    assert [(each.position, each.value, each.note) for each in labels] == [
        (order[0], False, ""),
        (order[2], True, "rude"),
        (order[3], False, ""),
    ]
    assert "3 labels by ann to 'Is it polite?', 1 skipped, 3 of 6 attempts left" in capsys.readouterr().err
    press("u", "y", seed=None)
    assert dict(said(kept))[order[3]] is True, "an answer of an earlier session can be taken back"
    press(*"yyy", seed=None)
    assert len(kept.labels()) == 6, "what was skipped comes again"


def test_several_people_see_the_same_attempts_first(kept, run, press):
    run()
    press(*"yy")
    press(*"nnnnnn", person="bob", seed=None)
    assert Counter(each.person for each in kept.labels()) == {"ann": 2, "bob": 6}
    assert {each.seed for each in kept.labels()} == {3}
    first = sorted(kept.labels(person="bob"), key=lambda each: each.at)[:2]
    assert {each.position for each in first} == {each.position for each in kept.labels(person="ann")}


def test_people_who_begin_at_once_have_one_order(kept, run, press):
    which = run()
    order = random_order(list(kept.attempts(which)), first_seed(which, QUESTION))
    press(*"yyy", seed=None)
    assert [each.position for each in sorted(kept.labels(), key=lambda each: each.at)] == order[:3]
    assert first_seed(which, QUESTION) != first_seed(which, "another")


@pytest.mark.parametrize(
    ("options", "keys", "values"),
    [
        ({"scale": "1-5"}, "6a15", [1, 5]),
        ({"scale": "1-10"}, "01", [10, 1]),
        ({"scale": "0-3"}, "03", [0, 3]),
        ({"choices": "good, bad,not sure"}, "13", ["good", "not sure"]),
    ],
)
def test_answers_may_be_numbers_or_words(kept, run, press, capsys, options, keys, values):
    run()
    press(*keys, **options)
    labels = sorted(kept.labels(), key=lambda each: each.at)
    assert [each.value for each in labels] == values
    with pytest.raises(
        InvalidOptionError, match=r"was answered by .* before, which is none of these answers"
    ):
        press("y")


@pytest.mark.parametrize("given", ["", "5", "5-1", "1-1", "0-10", "a-b", "-1-5", "1-99999999999"])
def test_a_scale_that_is_none_is_refused(given):
    with pytest.raises(InvalidOptionError, match=f"a scale must .*got {given!r}"):
        scale(given)


@pytest.mark.parametrize("given", ["", "good", "good,good", "a,,b", ",".join("abcdefghij")])
def test_choices_that_are_none_are_refused(given):
    with pytest.raises(InvalidOptionError, match="choices must"):
        choices(given)


def test_what_a_model_wrote_cannot_reach_the_terminal(kept, run, press, capsys):
    run(1, task=lambda _: "\x1b[2J[bold]x[/bold]\u202e\r\x07 {evil}")
    press("c", *"\x1b\u202e", "enter", "y")
    shown = capsys.readouterr().out
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", shown)
    assert r"\x1b[2J[bold]x[/bold]\u202e" in shown


@pytest.mark.parametrize("columns", [12, 30, 200])
def test_a_long_output_is_shown_page_by_page_in_any_terminal(kept, run, press, capsys, monkeypatch, columns):
    run(1, task=lambda _: "\n".join(f"line {number} 漢字 of a long answer" for number in range(40)))
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("LINES", "20")
    press(*" " * 30, "y")
    shown = capsys.readouterr().out
    from rich.cells import cell_len

    assert all(cell_len(line) <= columns for line in shown.splitlines())
    for number in (0, 20, 39):
        assert f"line {number}" in shown
    assert len(kept.labels()) == 1


def test_pages_turn_back_and_stop_at_both_ends(kept, run, press, capsys, monkeypatch):
    run(1, task=lambda _: "\n".join(map(str, range(30))))
    monkeypatch.setenv("LINES", "20")
    press("b", "pagedown", "up", " ", *" " * 9, "y")
    pages = re.findall(r"page (\d) of (\d)", capsys.readouterr().out)
    last = pages[-1][1]
    assert [page for page, _ in pages[:5]] == ["1", "1", "2", "1", "2"]
    assert pages[-1][0] == last


def test_a_line_stays_indented_where_it_wraps():
    assert wrapped("    one two three", 12) == ["   one two", "   three"]
    assert wrapped("", 10) == [""]
    assert wrapped("漢字漢字", 4) == ["漢字", "漢字"]


def test_a_task_that_failed_and_a_changed_output_are_labelled_too(calipers, kept, run, press, capsys):
    which = run(inputs=[1, "boom"])
    press(*"nn")
    assert "Task failed\n    ValueError: no answer" in capsys.readouterr().out
    assert len(kept.labels()) == 2
    again = Dataset(
        name="talks",
        cases=[Case(name="case 0", inputs=1), Case(name="case 1", inputs="boom")],
        evaluators=[kind],
    ).evaluate_sync(lambda _: "other", name="other", store=kept, progress=False)
    changed = next(kept.attempts(again.reuse.run))
    kept.append(which, [changed])
    done = calipers("label", which, "--agreement")
    assert "1 label left out: of outputs that the run no longer has" in done.stderr
    rows = csv.DictReader(calipers("label", which, "--export", "-").stdout.splitlines())
    assert [row["output"] for row in rows] == ["", ""], "neither the failed nor the changed one"
    press(*"y", run=which)
    assert (0, True) in said(kept, run=which), "of another output, it is asked again"


def test_all_cases_come_before_a_second_attempt_at_any():
    attempts = [
        StoredAttempt(
            position=n,
            name=f"{n // 3} [{n % 3 + 1}/3]",
            source_case_name=str(n // 3),
            facts="",
            given="",
            output="",
        )
        for n in range(30)
    ]
    orders = [random_order(attempts, seed) for seed in range(200)]
    for order in orders:
        assert sorted(order) == list(range(30))
        for start in (0, 10, 20):
            assert len({position // 3 for position in order[start : start + 10]}) == 10
    first = Counter(order[0] for order in orders)
    assert len(first) > 25, "any attempt may be the first"


def test_some_only_at_random_or_by_what_tells_most_of_a_judge(kept, run, press, capsys):
    run(40)
    press(*"y" * 40, next=10)
    assert [each.probability for each in kept.labels()] == [0.25] * 10
    assert "1 of 10" in capsys.readouterr().out
    press(*"y" * 40, next=6, judge="kind", seed=None)
    new = [each for each in kept.labels() if each.probability != 0.25]
    press("u", "n", seed=None)
    assert len([each for each in kept.labels() if each.probability is None]) == 0, (
        "taken back, it stays drawn"
    )
    new = [each for each in kept.labels() if each.probability != 0.25]
    assert len(new) == 6
    assert all(0 < each.probability <= 1 for each in new)
    with pytest.raises(InvalidOptionError, match="no one column 'other'"):
        press(next=6, judge="other")


def test_a_seed_stands_for_one_draw(kept, run, press):
    """Labels are put together by their draw: two draws with one seed would have cases of one stratum with two chances."""
    run(40)
    press(*"y" * 10, next=10)
    press(*"y" * 10, next=10, person="bob")
    assert Counter(each.position for each in kept.labels()).most_common(1)[0][1] == 2, "the same draw, by two"
    for options in ({}, {"judge": "kind"}):
        with pytest.raises(InvalidOptionError, match="the seed 3 was used for an earlier draw"):
            press("y", next=10, **options)
    assert press(*"y" * 10, next=10, seed=4, judge="kind") == 0


def test_a_label_of_an_output_that_is_gone_does_not_keep_its_case_from_being_drawn(kept, run, press):
    which = run(6)
    gone = [
        HumanLabel(run=which, position=0, case="case 0", question=QUESTION, person="ann", value=True, at="")
    ]
    kept.add_labels([msgspec.structs.replace(each, about="another output") for each in gone])
    assert press(*"y" * 6, next=6, judge="kind") == 0
    assert {each.position for each in kept.labels() if each.probability is not None} == set(range(6))


def test_a_question_with_the_name_of_a_judge_is_about_that_judge(kept, run, press):
    run(40)
    press(*"y" * 40, next=6, question="kind", judge="kind", seed=5)
    press(*"y" * 40, next=6, question="kind", person="bob", seed=6)
    drawn = {
        who: [(each.position, each.probability) for each in kept.labels(person=who)] for who in ("ann", "bob")
    }
    for each in kept.labels(person="bob"):
        kept.remove_label(each.run, each.position, question="kind", person="bob")
    press(*"y" * 40, next=6, question="kind", judge="kind", person="bob", seed=6)
    assert [(each.position, each.probability) for each in kept.labels(person="bob")] == drawn["bob"]
    assert not {position for position, _ in drawn["ann"]} & {position for position, _ in drawn["bob"]}


def test_a_second_person_is_shown_first_what_was_drawn_for_the_first(kept, run, press):
    run(40)
    press(*"y" * 40, next=6, question="kind", seed=5)
    press(*"nunnnnnnnn", question="kind", person="bob", seed=None)
    drawn = {each.position: (each.probability, each.seed) for each in kept.labels(person="ann")}
    second = sorted(kept.labels(person="bob"), key=lambda each: each.at)
    assert {each.position: (each.probability, each.seed) for each in second[:6]} == drawn
    assert [each.probability for each in second[6:]] == [None, None]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ([], "--question says what to ask"),
        (["--question", "a\tb"], "--question must be one line"),
        (["--question", "q", "--as", ""], "--as must be a text"),
        (["--question", "q", "--scale", "1-5", "--choices", "a,b"], "either on a scale or among choices"),
        (["--question", "q", "--judge", "kind"], "--judge is for --next"),
        (["--question", "q", "--blank"], "--blank is for --export"),
        (["--export", "a.csv", "--agreement"], "three things"),
        (["--export", "a.txt"], "ends in .csv or .jsonl"),
        (["--import", "no.csv"], "file not found: no.csv"),
        (["--agreement", "--question", "other"], "no one was asked 'other' about the run"),
        (["--question", "q"], "labelling needs a terminal"),
    ],
)
def test_wrong_usage_says_the_way_out(calipers, run, args, said):
    run()
    done = calipers("label", "latest", *args)
    assert done.exit_code == 2, done.output
    assert said in done.stderr
    if "terminal" in said:
        assert "--import FILE.csv" in done.stderr


def test_labels_go_to_a_file_and_come_back(calipers, kept, run, press, tmp_path):
    which = run(task=lambda number: {"=cmd": number} if number % 2 else f"=1+{number}\r\n\x1b")
    press("c", *"=note", "enter", *"ynynyn")
    press(*"nnn", person="bob", question="right?")
    before = kept.labels()
    for name in ("labels.csv", "labels.jsonl"):
        done = calipers("label", "latest", "--export", name)
        assert f"Wrote {name}, 9 lines" in done.stderr
        for one in before:
            kept.remove_label(which, one.position, question=one.question, person=one.person)
        done = calipers("label", "latest", "--import", name)
        assert done.exit_code == 0, done.stderr
        assert "Kept 9 labels\n" in done.stderr
        after = kept.labels()
        assert after == before
        if name == "labels.csv":  # a spreadsheet must not compute it
            assert "'=note" in Path(name).read_text()
    done = calipers("label", "latest", "--import", "labels.jsonl")
    assert "Kept 9 labels, 9 of them in place of earlier ones" in done.stderr
    one = calipers("label", "latest", "--export", "-", "--question", "right?", "--as", "bob").stdout
    assert len(list(csv.DictReader(one.splitlines()))) == 3


def test_control_characters_in_names_and_outputs_do_not_keep_a_table_from_coming_back(kept, tmp_path):
    odd = ["a\r\nb", "\x1b[31mred", "nul\x00", "c\nd", "c\rd", "=1+1", "\x85x"]
    dataset = Dataset(name="odd", cases=[Case(name=each, inputs=each) for each in odd], evaluators=[kind])
    report = dataset.evaluate_sync(str, name="odd", store=kept, progress=False)
    run = report.reuse.run
    said = [
        HumanLabel(
            run=run, position=place, case=name, question="q", person="ann", value=True, at="2026-01-01"
        )
        for place, name in enumerate(odd)
    ]
    kept.add_labels(said)
    path = str(tmp_path / "labels.csv")
    (info,) = [each for each in kept.runs() if each.id == run]
    export_labels(kept, info, path, kept.labels(run=run))
    assert import_labels(kept, info, path).replaced == len(odd)
    lines, _ = read_label_file(Path(path), "human")
    assert all(is_of_output(line.output, case) for line, case in zip(lines, report.cases, strict=True))
    wanted = HumanAgreement(labels=path, human="human", share=0.5)
    found = read_labels(wanted, "kind", Columns(cases_of(report)), None)
    assert len(found.by_case) == len(odd)


def test_a_sheet_is_filled_in_elsewhere(calipers, kept, run, press, folder):
    run(10)
    press(*"yy")
    done = calipers(
        "label",
        "latest",
        "--question",
        QUESTION,
        "--as",
        "ann",
        "--blank",
        "--export",
        "sheet.csv",
        "--next",
        "4",
    )
    assert "Wrote sheet.csv, 4 lines" in done.stderr
    rows = list(csv.DictReader(Path("sheet.csv").read_text().splitlines()))
    assert {row["human"] for row in rows} == {""}
    assert {row["probability"] for row in rows} == {"0.5"}
    for row, said in zip(rows, ("yes", "FALSE", "", "no"), strict=True):
        row["human"] = said
    with Path("sheet.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    done = calipers("label", "latest", "--import", "sheet.csv")
    assert "Kept 3 labels, 1 line without a label left out" in done.stderr
    drawn = [each for each in kept.labels() if each.probability]
    assert Counter(each.value for each in drawn) == {True: 1, False: 2}


def test_a_file_of_labels_of_a_policy_can_be_imported(calipers, kept, run, write):
    run()
    write("old.csv", "Case;Human\ncase 1;good\ncase 2; 4.5\ncase 3;\n")
    done = calipers("label", "latest", "--import", "old.csv", "--question", "q", "--as", "ann")
    assert "Kept 2 labels, 1 line without a label left out" in done.stderr
    assert said(kept) == [(1, "good"), (2, "4.5")]
    write("pairs.csv", "judge,case,human\ntrue,case 1,false\n")
    assert "names no case" in calipers("label", "latest", "--import", "pairs.csv", "--question", "q").stderr


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("case,human\nno such,1", "line 2: the run has no case 'no such'"),
        ("case,attempt,human\ncase 1,2,1", "line 2: the run has no attempt 2 at 'case 1'"),
        ("case,human,output\ncase 1,1,something else", "has another output in this run"),
        ("case,human,about\ncase 1,1,abc", "has another output in this run"),
        ("case,human,run\ncase 1,1,other", "has another output in this run"),
        ("case,human\ncase 1,1\ncase 1,0", "line 3: 'ann' answers 'q' about case 'case 1' twice"),
        ("judge,human\n1,1", "names no case"),
        (
            "case,human,probability\ncase 1,1,often",
            "line 2: expected a probability above 0 and up to 1, got 'often'",
        ),
        ("case,human,seed\ncase 1,1,x", "line 2: seed must be a whole number, got 'x'"),
        ("case,human,person\ncase 1,1,a\tb", "person must be one line"),
    ],
)
def test_a_file_that_does_not_fit_the_run_is_refused_whole(calipers, kept, run, write, text, problem):
    run()
    write("labels.csv", "")
    (write("labels.csv", "")).write_text(text)
    done = calipers("label", "latest", "--import", "labels.csv", "--question", "q", "--as", "ann")
    assert done.exit_code == 3
    assert problem in done.stderr
    assert kept.labels() == []


def test_lines_that_do_not_say_what_or_who_need_options(calipers, run, write):
    run()
    write("labels.csv", "case,human\ncase 1,1\n")
    done = calipers("label", "latest", "--import", "labels.csv", "--as", "ann")
    assert "does not say which question it answers: add a column, or --question" in done.stderr
    done = calipers("label", "latest", "--import", "labels.csv", "--question", "q")
    assert "does not say who said it: add a column, or --as" in done.stderr


def test_people_who_differ_are_told_where(calipers, kept, run, press):
    run(12)
    press(*"yyynnnyyynnn")
    press(*"yyynnnyyynny", person="bob")
    done = calipers("label", "latest", "--agreement").stdout
    assert "Is it polite?: 24 labels by ann, bob" in done
    assert re.search(r"all: 12 cases, the same on 92 %, Krippendorff's alpha 0\.8\d  \[.*, 1\.00\]", done)
    assert re.search(r"ann and bob: 12 cases, the same on 92 %, kappa 0\.8\d  \[", done)
    assert re.search(r"They differ on 1 attempt:\n  case \d+: ann no, bob yes", done)
    press("y", question="alone?")
    done = calipers("label", "latest", "--agreement").stdout
    assert "alone?: 1 label by ann\n  no attempt has labels of two people" in done


def test_labels_correct_a_judge_by_the_name_of_their_question(calipers, kept, run, press):
    run(30)
    press(*"yn" * 15)
    shown = calipers("show", "latest", "--include-cases", "none", "--labels", f"kind={QUESTION}").stdout
    again = calipers(
        "show", "latest", "--include-cases", "none", "--labels", f"kind=question:{QUESTION}"
    ).stdout
    assert "kind, " in shown
    assert "30 labels" in shown
    assert shown == again
    assert "Passed 15 of 30" in shown
    policy = {"evaluators": {"kind": {"agreement": {"question": QUESTION, "share": 0.99}}}}
    Path("gate.json").write_text(json.dumps(policy))
    done = calipers("gate", "latest", "--policy", "gate.json")
    assert "agreement with people at least 99 %" in done.stdout
    assert done.exit_code == 1


def test_answers_that_no_judge_gives_do_not_keep_a_report_from_being_shown(calipers, kept, run, press):
    run(6)
    press(*"123123", question="kind", choices="good,bad,unsure")
    shown = calipers("show", "latest", "--include-cases", "none")
    assert shown.exit_code == 0, shown.stderr
    assert "not corrected: the label 'unsure' is neither yes nor no" in " ".join(shown.stdout.split())


def test_a_run_without_attempts_has_nothing_to_label(calipers, run):
    run(0)
    done = calipers("label", "latest", "--question", "q")
    assert done.exit_code == 4
    assert "has no attempts to label" in done.stderr


# ---------------------------------------------------------------------- a real terminal


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals on Windows")
def test_a_real_terminal_hands_out_keys_at_once_and_is_left_as_it_was(kept, run, folder):
    import pty
    import subprocess
    import termios

    run(5)
    ours, theirs = pty.openpty()
    before = termios.tcgetattr(theirs)
    command = [sys.executable, "-m", "calipers", "label", "latest", "--question", QUESTION, "--as", "ann"]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80", "LINES": "30"}
    with subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, start_new_session=True
    ) as started:

        def wait_for(text, seen=b""):
            ends = time.monotonic() + 60
            while text not in seen and time.monotonic() < ends:
                if select.select([ours], [], [], 1)[0]:
                    seen += os.read(ours, 65536)
            assert text in seen, seen
            return seen

        wait_for(b"1 of 5")
        os.write(ours, b"yn\x1b[B")  # typed ahead, and a key that gives no character
        wait_for(b"3 of 5")
        os.write(ours, b"c" + "schön ü".encode() + b"\r")
        wait_for("note: schön ü".encode())
        os.write(ours, b"y")
        wait_for(b"4 of 5")
        started.send_signal(2)
        seen = wait_for(b"Interrupted.")
        assert started.wait() == 130
    assert b"3 labels by ann" in seen
    assert termios.tcgetattr(theirs) == before
    os.close(ours)
    os.close(theirs)
    labels = sorted(kept.labels(), key=lambda each: each.at)
    assert [(each.value, each.note) for each in labels] == [(True, ""), (False, ""), (True, "schön ü")]
