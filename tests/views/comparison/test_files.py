import json
import re
from html.parser import HTMLParser

import pytest

from calipers.comparison import Comparison
from calipers.errors import InvalidOptionError
from calipers.views import comparison as ways_to_show
from calipers.views.comparison.files import FORMATS, comparison_target, comparisons_json, write_comparisons
from calipers.views.comparison.html import comparisons_html
from calipers.views.comparison.markdown import comparisons_markdown


class Tags(HTMLParser):
    """Counts the elements of a page, and checks that each is closed."""

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_written_whole(comparisons, tmp_path, name):
    write_comparisons(comparisons, f"{name}:{tmp_path / 'x'}")
    assert (tmp_path / "x").read_text(encoding="utf-8") == FORMATS[name](comparisons)


def test_the_suffix_tells_the_format_and_others_are_refused(tmp_path):
    assert comparison_target(tmp_path / "x.md").format == "markdown"
    with pytest.raises(
        InvalidOptionError, match="a comparison is written as json, markdown, html, text, and not as junit"
    ):
        comparison_target("x.xml")
    with pytest.raises(InvalidOptionError, match=r"FORMAT is one of json, markdown, html, text$"):
        comparison_target("x.pdf")
    with pytest.raises(InvalidOptionError, match=r"known are json, markdown, html, text$"):
        comparison_target("-")


def test_json_has_the_words_and_reads_back(comparisons):
    data = json.loads(comparisons_json(comparisons))
    assert data["calipers_comparisons"] == 1
    assert [Comparison.from_dict(each) for each in data["comparisons"]] == comparisons
    assert data["comparisons"][0]["evaluators"][0]["words"].startswith("better by ")
    assert data["comparisons"][0]["measures"][0]["words"].startswith("longer by ")
    assert "words" in data["comparisons"][0]["pass_rate"]
    words = [flip["words"][0] for flip in data["comparisons"][0]["flips"] if flip["trace"] is not None]
    assert words
    assert all(each.startswith("parts at step 1: ") for each in words)


@pytest.mark.parametrize("name", ["html", "markdown", "text"])
def test_each_format_tells_where_the_traces_of_a_flip_part_and_why_it_flipped(comparisons, name):
    shown = " ".join(FORMATS[name](comparisons).split())
    assert "parts at step 1: " in shown
    assert "ok now: " in shown


def test_html_is_well_formed_runs_nothing_and_shows_hostile_names_as_text(comparisons):
    page = comparisons_html(comparisons)
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    assert not [tag for tag, _ in tags.seen if tag in {"script", "img", "a", "link"}]
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    policy = next(attrs for _, attrs in tags.seen if "http-equiv" in attrs)["content"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")


def test_html_draws_every_difference_and_says_it_in_words(comparisons):
    tags = Tags()
    tags.feed(comparisons_html(comparisons[:1]))
    drawn = [attrs["aria-label"] for tag, attrs in tags.seen if tag == "svg"]
    found = comparisons[0]
    assert len(drawn) == 1 + len(found.evaluators) + len(found.measures)
    assert any(words.startswith("better by ") for words in drawn)


def test_markdown_keeps_names_from_being_markup(comparisons):
    text = comparisons_markdown(comparisons)
    outside = re.sub(
        r"(`+)[^\n]+?\1", "", re.sub(r"^```text\n.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    )
    assert "<script>" not in outside
    assert "@team" not in outside
    rows = [line for line in text.splitlines() if line.startswith("| ") and "points" in line]
    assert rows
    assert all(line.count(" | ") == 7 for line in rows)
    assert text.startswith("| Rank | Run |")
    assert "| Pass rates |" in text
    assert "●" in text


def test_markdown_that_is_too_long_is_cut_and_says_so(comparisons):
    text = comparisons_markdown(comparisons * 20, limit=5000)
    assert len(text) <= 5000
    assert text.endswith("*The rest did not fit: `calipers compare` shows all of it.*\n")


def test_the_ways_to_show_a_comparison_are_imported_from_one_place():
    assert {"print_comparisons", "sentence", "write_comparisons"} <= set(dir(ways_to_show))
    for name in dir(ways_to_show):
        assert callable(getattr(ways_to_show, name))
