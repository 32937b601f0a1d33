"""Every page looks as it did, on desktop and phone, in light and dark, and the same over PostgreSQL as over SQLite; and by keys alone both are used alike.

What SQLite and PostgreSQL show is compared point by point, in one browser. What was kept is compared by its ink: `looks.py` says why. After a change that is meant,
`KEEP_LOOKS=1 python -m pytest -n 0 tests/viewer/test_looks.py` keeps the pages as they are now: look at the pictures that git shows as changed.
"""

import contextlib
import os
import time

import pytest

from calipers.stores import SqliteStore, copy_store, open_store
from calipers.testing import ServedViewer

from .conftest import in_thread, settled
from .looks import KEPT, LOOKS, differing, ink, keep_maps, kept_maps, moved
from .walk import NOW, PAGES, PERSON, keep_walked

IS_KEEPING = "KEEP_LOOKS" in os.environ
MOST_MOVED = 0.15
"""Of the ink. What is gone moves a fourth of it or more."""
MOST_MOVED_BY_FONT = 0.5
"""The same, where the fonts are not those of the maps that are kept: other breaks of lines move all that is below."""
FONT = "() => { const pen = document.createElement('canvas').getContext('2d'); pen.font = '100px ' + getComputedStyle(document.body).fontFamily; return Math.round(pen.measureText('Calipers 0123').width) }"
"""How wide a word is: a browser with other fonts gives another number."""
MOST_DIFFERING = 0.0005
"""Of the points, between two stores."""
SAME_EVERYWHERE = """() => {
  for (const each of document.querySelectorAll(".shell-store, .connection")) each.style.visibility = "hidden";
  document.activeElement?.blur();
}"""
"""The name of the store, and whether its stream of news is open yet, are no part of a look."""


@pytest.fixture(scope="module")
def walked_folder(tmp_path_factory):
    """Where the sounds of the runs are, for both stores."""
    folder = tmp_path_factory.mktemp("looks")
    with contextlib.chdir(folder):
        yield folder


@pytest.fixture(scope="module")
def over_sqlite(walked_folder):
    def keep():
        with SqliteStore(walked_folder / "runs.db") as store:
            keep_walked(store, walked_folder)

    in_thread(keep)
    with ServedViewer(walked_folder / "runs.db") as served:
        yield served


@pytest.fixture(scope="module")
def over_postgresql(walked_folder, over_sqlite, postgres):
    url = f"{postgres.url}?schema=looks"

    def keep():  # with the times that were measured once
        with open_store(walked_folder / "runs.db") as source, open_store(url) as store:
            copy_store(source, store)

    in_thread(keep)
    with ServedViewer(url) as served:
        yield served


@pytest.fixture
def opened(visit):
    """Opens windows of viewers at the moment of the walk, each with the person who labels."""

    def window(served):
        page = visit(served, "/label")
        page.watch.allowed.append("404")
        page.context.clock.set_fixed_time(NOW)
        page.evaluate("name => localStorage.setItem('calipers:person', name)", PERSON)
        page.url_of = served.url
        return page

    return window


def go(page, name):
    page.goto(page.url_of + PAGES[name].path)
    page.locator(PAGES[name].ready).first.wait_for()
    settled(page)
    PAGES[name].do(page)


def shot(page, look):
    page.set_viewport_size({"width": look.width, "height": look.height})
    page.emulate_media(color_scheme=look.scheme)
    settled(page)
    page.evaluate(SAME_EVERYWHERE)
    return page.screenshot(animations="disabled")


def shots(pages, name, look, is_right):
    """Screenshots of some pages, again until they are right or twenty seconds are over.

    What is drawn may follow what is there by a moment; and on a busy machine a deadline leaves something out, until the page is asked anew.
    """
    end = time.monotonic() + 20
    while not is_right(found := [shot(page, look) for page in pages]) and time.monotonic() < end:
        pages[0].wait_for_timeout(200)
        if not is_right(found := [shot(page, look) for page in pages]):
            for page in pages:
                go(page, name)
    return found


def kept_or_now(name, page):
    """The maps of a page that are kept, and how much may have moved; the maps of now where the pages are to be kept."""
    font = KEPT / "font.txt"
    if IS_KEEPING:
        page.wait_for_timeout(500)
        keep_maps(name, [ink(shot(page, look)) for look in LOOKS])
        font.write_text(f"{page.evaluate(FONT)}\n", encoding="utf-8")
    is_same = page.evaluate(FONT) == int(font.read_text(encoding="utf-8"))
    return kept_maps(name), MOST_MOVED if is_same else MOST_MOVED_BY_FONT


PARTS = 3
OVER_BOTH = LOOKS[0], LOOKS[3]
"""Looks that are compared between the stores: both sizes and both schemes are among them."""


@pytest.mark.parametrize("part", range(PARTS))
def test_each_page_looks_as_it_did_and_the_same_over_both_stores(opened, over_sqlite, over_postgresql, part):
    pages = [opened(over_sqlite), opened(over_postgresql)]
    for name in list(PAGES)[part::PARTS]:
        for page in pages:
            go(page, name)
        maps, most = kept_or_now(name, pages[0])
        for look, kept in zip(LOOKS, maps, strict=True):
            both = pages if look in OVER_BOTH else pages[:1]

            def is_same(found):
                return differing(found[0], found[-1]) <= MOST_DIFFERING

            def is_as_kept(found, kept=kept, most=most):
                return moved(kept, ink(found[0])) <= most

            found = shots(both, name, look, lambda found: is_same(found) and is_as_kept(found))
            assert is_same(found), f"{name}, {look.name}: not the same over PostgreSQL"
            assert is_as_kept(found), f"{name}, {look.name}: compare with {KEPT}"


WRONG = {
    "a section is gone": ".section { display: none }",
    "a table is narrow": "table { width: 40% !important; white-space: normal !important }",
    "one thing lies over another": ".section { margin-top: -120px !important }",
    "the colours of dark are those of light": ":root { --page: #101010 !important; --text: #0f0f0f !important; --quiet: #0f0f0f !important }",
}


def test_what_is_wrong_with_a_look_is_seen(opened, over_sqlite):
    page = opened(over_sqlite)
    go(page, "run")
    page.wait_for_timeout(300)
    kept = ink(shot(page, LOOKS[0]))
    for rule in ("", *WRONG.values()):
        page.evaluate(
            "rule => { const sheet = new CSSStyleSheet(); sheet.replaceSync(rule); document.adoptedStyleSheets = [sheet]; }",
            rule,
        )
        assert (moved(kept, ink(shot(page, LOOKS[0]))) > MOST_MOVED) is (rule != ""), rule
