"""A verdict as people see it: whatever text is in it stays text, and nothing is lost but by saying so."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.gate.verdict import Finding, Verdict
from calipers.stats import Interval
from calipers.views.comparison.span_plot import text_plot
from calipers.views.gate.files import verdict_json, write_verdict
from calipers.views.gate.html import verdict_html
from calipers.views.gate.markdown import verdict_markdown
from calipers.views.gate.statement import WIDTH, span_of
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
    outside = re.sub(r"^(`{3,})text\n.*?^\1$|``.*?``(?!`)", "", markdown, flags=re.DOTALL | re.MULTILINE)
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


# ---------------------------------------------------------------------- intervals drawn against their limits


def held(low, value, high, limit, *, above=True, outcome="PASS"):
    return Finding(
        subject="accuracy",
        rule="a rule",
        outcome=outcome,
        said="so it is",
        value=value,
        limit=limit,
        above=above,
        interval=Interval(low, high, 0.95, "t"),
    )


def judged(*findings):
    return Verdict(
        outcome="PASS", findings=findings, run="new", cases=9, confidence=0.95, correction="holm", notes=()
    )


@pytest.mark.parametrize(
    ("finding", "drawn"),
    [
        (held(0.7, 0.8, 1.0, 0.5), "               │     ├──●─────┤"),
        (held(0.0, 0.2, 0.3, 0.5), "├─────●──┤     │"),
        (held(0.0, 0.2, 0.3, 0.5, above=False), "               │     ├──●─────┤"),
        (held(0.4, 0.5, 0.6, 0.5), "├──────────────●──────────────┤"),
        (held(0.501, 0.8, 1.0, 0.5), "               │├───────●─────┤"),
        (held(0.5, 0.5, 0.5, 0.5), "               ●"),
    ],
)
def test_an_interval_lies_beside_its_limit_with_the_good_side_to_the_right(finding, drawn):
    for text in (verdict_text(judged(finding)), verdict_markdown(judged(finding))):
        (line,) = [line for line in text.splitlines() if "●" in line]
        found = line.partition("misses ")[2] or line.partition("a rule  ")[2]
        assert found.removesuffix("meets").rstrip() == drawn.rstrip()


@given(*[st.floats(-10, 10)] * 3, st.booleans())
def test_no_drawn_end_crosses_a_limit_that_the_interval_does_not(low, high, limit, above):
    low, high = sorted((low, high))
    span = span_of(held(low, (low + high) / 2, high, limit, above=above))
    good, bad = (low > limit, high < limit) if above else (high < limit, low > limit)
    plot = text_plot(span, WIDTH)
    half = WIDTH // 2
    assert (not plot[: half + 1].strip(" │")) == good
    assert (not plot[half:].strip(" │")) == bad


def test_what_no_interval_decides_is_not_drawn():
    counted = Finding(
        subject="run", rule="at least 1 case", outcome="PASS", said="9 cases", value=9.0, limit=1.0
    )
    for text in (
        verdict_text(judged(counted)),
        verdict_markdown(judged(counted)),
        verdict_html(judged(counted)),
    ):
        assert "misses │" not in text
        assert "●" not in text
        assert "<svg" not in text
    assert "●" not in verdict_text(judged(held(0.1, 0.2, 0.3, 0.5)), width=40), "a narrow page has no room"
    huge = held(-1e308, 0.0, 1e308, 1e308)
    assert span_of(huge) is None


def test_a_page_has_every_rule_with_its_interval_as_svg(tmp_path):
    write_verdict(verdict(HOSTILE, n=3, baseline="old", notes=(HOSTILE,)), tmp_path / "gate.html")
    page = (tmp_path / "gate.html").read_text(encoding="utf-8")
    assert page.count("<svg") == page.count('class="glyph-dot"') == 3
    assert "<img" not in page
    assert "<script" not in page
    assert "&lt;img" in page
    assert 'aria-label="at least 80 %: 61.5 %' in page


def test_a_pull_request_gets_no_svg():
    assert "<svg" not in verdict_markdown(verdict())
