import io
import re

import msgspec
import pytest
from rich.console import Console

from calipers.comparison import compare_many, compare_reports
from calipers.errors import InvalidOptionError
from calipers.views.comparison import comparisons_html, comparisons_markdown
from calipers.views.comparison.terminal import ComparisonView, comparisons_text, print_comparisons


def test_the_page_tells_everything_in_order(comparisons):
    text = comparisons_text(comparisons[:1], width=120)
    parts = [
        "new against old",
        "41 cases in both",
        "▲ Better",
        "Pass rate",
        "→ Take the candidate",
        "Note: 1 case has the same name and another content, and is left out",
        "  changed: another inputs",
        "Flipped: ",
        "  before ",
        "  now ",
        "Of cases that were attempted once",
        "Evaluator ",
        "▲ ok: better by ",
        "  Note: its evaluator did not finish on 0 attempts of the baseline and 1 of the candidate",
        "mood: ",
        "Measure ",
        "• task duration: longer by ",
        "▼ cost: costlier by ",
        "The unit is the case",
        "A task's time runs from its call to its end",
    ]
    places = [text.find(part) for part in parts]
    assert -1 not in places, parts[places.index(-1)]
    assert places == sorted(places)


def test_several_runs_begin_with_their_ranks_and_a_table_of_all_pairs(comparisons):
    several, one = comparisons_text(comparisons, width=120), comparisons_text(comparisons[:1], width=120)
    assert several.startswith("  Rank  Run\n     1  new\n2 to 3  old\n")
    assert "▲ new against old: better by " in several.partition("\nnew against old\n")[0]
    assert "hold for all 3 pairs together" in " ".join(several.split())
    assert one.startswith("new against old")


@pytest.mark.parametrize("width", [20, 60, 80, 120])
def test_no_line_is_wider_than_the_page_and_no_name_moves_the_cursor(comparisons, width):
    text = comparisons_text(comparisons, width=width)
    assert max(map(len, text.splitlines())) <= width
    assert "\x1b" not in text
    assert text.isprintable() or all(line.isprintable() for line in text.splitlines())


@pytest.mark.parametrize("show", [comparisons_text, comparisons_markdown, comparisons_html])
def test_an_arrow_means_better_or_worse_and_nothing_else(comparisons, show):
    text = show(comparisons[:1])
    assert comparisons[0].measures[0].outcome == "higher"
    assert [mark for mark in "▲▼" if re.search(rf"{mark} (task duration: )?longer", text)] == []
    assert re.search(r"• (task duration: )?longer by", text)


@pytest.mark.parametrize("show", [comparisons_text, comparisons_markdown, comparisons_html])
def test_cases_that_luck_explains_are_counted_as_moved(records, show):
    def report(name, *passes):
        attempts = [
            records.case(
                f"case {number} [{n + 1}/5]",
                records.result("ok", n < count),
                source_case_name=f"case {number}",
                inputs=number,
            )
            for number, count in enumerate(passes)
            for n in range(5)
        ]
        return records.report(*attempts, name=name, repeat=5)

    found = compare_reports(report("old", 2, 5, 3), report("new", 3, 0, 2), population="these-cases")
    text = show([found])
    assert "Flipped: 1 broken, 0 fixed, 2 moved" in text
    assert "it moved" in " ".join(text.split())
    assert found.conclusion.broken == 1
    assert {flip.case: (flip.baseline_passed, flip.way) for flip in found.flips} == {
        "case 0": (2, "moved"),
        "case 1": (5, "broken"),
        "case 2": (3, "moved"),
    }


def test_a_row_of_several_runs_shows_both_names_of_its_pair(records):
    cases = [records.case(f"case {number}", records.result("ok", number > 2)) for number in range(9)]
    for names in (["a", "b", "c"], [f"support (20261116-18044633{n}-8495e{n})" for n in range(3)]):
        found = compare_many([records.report(*cases, name=name) for name in names])
        rows = comparisons_text(found, width=80).partition("Pass rates")[2].splitlines()[1:4]
        for row, pair in zip(rows, found, strict=True):
            one, _, two = row.partition(" against ")
            assert one[-3:] == pair.candidate.label[-3:]
            assert two.split("  ")[0][-3:] == pair.baseline.label[-3:]


def test_flips_are_listed_as_far_as_asked(comparisons):
    flips = len(comparisons[0].flips)
    assert flips > 2
    assert f"… and {flips - 2} more" in comparisons_text(comparisons[:1], max_flips=2)
    assert "more: max_flips" not in comparisons_text(comparisons[:1], max_flips=None)
    with pytest.raises(InvalidOptionError, match="max_flips must be a whole number from 0"):
        comparisons_text(comparisons, max_flips=-1)


def test_an_encoding_that_knows_few_characters_gets_those(comparisons):
    file = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    Console(file=file, width=100).print(ComparisonView(tuple(comparisons), 5, ""))
    file.flush()
    assert b"[-" in file.buffer.getvalue()


def test_a_comparison_of_nothing_says_so(records):
    empty = records.report()
    assert "Nothing can be compared" in comparisons_text([compare_reports(empty, empty)])


def test_it_is_printed_without_trailing_blanks(comparisons, capsys):
    print_comparisons(comparisons[:1], width=100)
    lines = capsys.readouterr().out.splitlines()
    assert "new against old" in lines[0]
    assert lines == [line.rstrip() for line in lines]


@pytest.mark.parametrize("width", [20, 30, 45, 60, 80, 100, 140])
def test_the_p_value_that_decides_is_shown_at_every_width(comparisons, change, width):
    changes = [change(-0.02, 0.1, name=f"e{n}", p_value=n / 100, adjusted_p=n / 50) for n in (11, 12)]
    found = msgspec.structs.replace(comparisons[0], evaluators=tuple(changes), measures=())
    shown = " ".join(comparisons_text([found], width=width).split())
    for number in (0.22, 0.24):
        assert f"{number:.3g}" in shown
    in_rows = " adjusted " in shown.partition("e11")[0]
    assert in_rows is not ("p 0.11 (adjusted 0.22)" in shown)
