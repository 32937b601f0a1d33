from hypothesis import given
from hypothesis import strategies as st

from calipers.views.page import Page


def facts(page: Page, items: list[str], head: str = "") -> list[str]:
    return [line.plain for line in page.facts(items, head=head)]


def test_facts_stand_side_by_side_and_none_is_broken():
    items = ["p50 1 s", "p90 2 s", "p99 30 s"]
    assert facts(Page(80), items, "Time  ") == ["Time  p50 1 s · p90 2 s · p99 30 s"]
    assert facts(Page(24), items, "Time  ") == ["Time  p50 1 s · p90 2 s", "      p99 30 s"]
    assert facts(Page(5), items) == items


@given(st.lists(st.text("abc ", min_size=1, max_size=9), min_size=1), st.integers(10, 60))
def test_every_fact_is_shown_once_and_fits(items: list[str], width: int):
    lines = facts(Page(width), items)
    assert " · ".join(lines) == " · ".join(items)
    assert max(map(len, lines)) <= width


def test_glyphs_follow_the_encoding():
    assert Page(80, "utf-8").glyph("✓", "+") == "✓"
    assert Page(80, "ascii").glyph("✓", "+") == "+"
    assert Page(80, "ascii").dot.isascii()
    assert Page(80, "ascii").ellipsis.isascii()
