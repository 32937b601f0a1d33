"""The pictures of the documentation are those of the table in `tools/pictures`: each is there, small, used, and described in words."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "pictures"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
SHOWN = re.compile(r"!\[([^\]]*)\]\(([^)\s]*pictures/[^)\s]+)\)|<(?:img|source)\b[^>]*>")
ATTRIBUTE = re.compile(r"\b(alt|src|srcset)=\"([^\"]*)\"")
MOST = 2_000_000
"""Bytes of all pictures: a checkout takes them along."""


def shown_in(page):
    """The pictures of a page: the file, and what is said of it. A `source` has the words of its `img`."""
    for found in SHOWN.finditer(page.read_text(encoding="utf-8")):
        if found[2]:
            yield (page.parent / found[2]).resolve(), found[1]
        else:
            given = dict(ATTRIBUTE.findall(found[0]))
            file = given.get("src") or given["srcset"]
            yield (page.parent / file).resolve(), given.get("alt") if "src" in given else None


@pytest.fixture(scope="module")
def taken():
    """The names in the table."""
    table = runpy.run_path(str(ROOT / "tools" / "pictures" / "table.py"))["PICTURES"]
    return [picture.name for picture in table]


@pytest.fixture(scope="module")
def shown():
    return [found for page in PAGES for found in shown_in(page)]


def test_each_picture_that_a_page_shows_is_one_of_the_table_and_no_other_is_kept(taken, shown):
    assert len(set(taken)) == len(taken)
    assert {file.relative_to(FOLDER).as_posix() for file, _ in shown} == {f"{name}.webp" for name in taken}
    assert {file.name for file in FOLDER.iterdir()} == {f"{name}.webp" for name in taken}


def test_each_picture_is_also_said_in_words(shown):
    said = [(file.name, text) for file, text in shown if text is not None]
    assert said
    assert [name for name, text in said if len(text.split()) < 6] == []


def test_all_pictures_together_are_small():
    assert sum(file.stat().st_size for file in FOLDER.iterdir()) <= MOST
