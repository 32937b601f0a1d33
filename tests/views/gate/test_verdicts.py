"""A verdict as people see it: whatever text is in it stays text, and nothing is lost but by saying so."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.gate.verdict import Finding, Verdict
from calipers.stats import Interval
from calipers.views.gate.files import verdict_json, write_verdict
from calipers.views.gate.markdown import verdict_markdown
from calipers.views.gate.terminal import print_verdict, verdict_text

HOSTILE = "a|b `c` <img src=x> @team \x1b[31m\n::error::x"


def verdict(subject="accuracy", n=1, **given):
    findings = tuple(
        Finding(
            subject=subject,
            rule="at least 80 %",
            outcome="FAIL",
            said="61.5 %, 95 % interval 57.5 to 65.3 %, on 600 cases",
            advice=f"mend it: {subject}",
            value=0.615,
            limit=0.8,
            interval=Interval(0.575, 0.653, 0.95, "wilson"),
            unit="rate",
            n=600,
        )
        for _ in range(n)
    )
    return Verdict(
        outcome="FAIL", findings=findings, run=subject, cases=600, confidence=0.95, correction="holm", **given
    )


def test_the_outcome_comes_first_then_each_rule_with_what_to_do():
    lines = verdict_text(verdict()).splitlines()
    assert lines[0] == "FAIL  accuracy"
    assert "✗ FAIL  accuracy: at least 80 %" in lines
    assert any("→ mend it" in line for line in lines)


@given(st.text())
def test_text_of_others_cannot_break_out(subject):
    shown = verdict_text(verdict(subject, notes=(subject,)))
    assert "\x1b" not in shown
    (row,) = [line for line in verdict_markdown(verdict(subject)).splitlines() if line.startswith("| ❌")]
    assert row.count(" | ") == 4


def test_hostile_text_stands_in_code():
    markdown = verdict_markdown(verdict(HOSTILE))
    outside = re.sub(r"``.*?``(?!`)", "", markdown)
    assert "<img" in markdown
    assert "<img" not in outside
    assert "@team" not in outside
    assert not any(line.startswith("::error") for line in markdown.splitlines())


def test_markdown_stays_within_its_limit_and_says_what_is_left_out():
    text = verdict_markdown(verdict(n=1000), limit=20_000)
    assert len(text) <= 20_000
    assert "more rules did not fit" in text


def test_it_prints_where_it_is_asked_to_and_writes_whole_files(tmp_path, capsys):
    print_verdict(verdict(), width=60)
    assert capsys.readouterr().out.startswith("FAIL")
    write_verdict(verdict(), f"json:{tmp_path / 'v.json'}")
    assert (tmp_path / "v.json").read_text() == verdict_json(verdict())


@pytest.mark.parametrize("width", [10, 30, 200])
def test_any_width_will_do(width):
    assert verdict_text(verdict(), width=width)
