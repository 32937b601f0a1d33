"""Every example in the documentation runs, and prints what the page says it prints: `page_examples` says how."""

import re
from pathlib import Path

import pytest

from .page_examples import matches, run_page

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOK = ROOT / "docs" / "how-to" / "in-a-notebook.md"
"""A page whose blocks are cells: `test_notebook` runs it in a kernel."""
PAGES = sorted({ROOT / "README.md", *(ROOT / "docs").rglob("*.md")} - {NOTEBOOK})
LEFT_OUT = {
    "agno.md": "agno",
    "autogen.md": "autogen_agentchat",
    "crewai.md": "crewai",
    "google-adk.md": "google.adk",
    "strands.md": "strands",
}
"""Pages about a framework that the tests do not install, by its size or its requirements, and the module that shows that it is there."""


@pytest.mark.usefixtures("no_tracer_provider")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_examples_of_a_page_run_and_print_what_it_shows(page, tmp_path):
    if page.name in LEFT_OUT:
        pytest.importorskip(LEFT_OUT[page.name], reason="the framework of this page is not installed")
    run_page(page, tmp_path)


def test_a_shown_output_that_is_wrong_would_be_noticed():
    assert matches("took … s\ndone", "took 1.5 s\ndone\n")
    assert not matches("took … s\ndone", "took 1.5 s\nfailed\n")
    assert not matches("passed", "passed\npassed")


def test_every_page_is_in_the_navigation_and_every_entry_is_a_page():
    config = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = set(re.findall(r"[\w/-]+\.md", config.split("nav:")[1]))
    pages = {page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")}
    assert listed == pages


@pytest.mark.parametrize("page", ["README.md", "docs/index.md", "docs/how-to/keep-runs.md"])
@pytest.mark.parametrize("command", ["compare", "gate", "plan"])
def test_the_pages_where_readers_begin_lead_to_comparing_gating_and_planning(page, command):
    assert f"calipers {command}" in (ROOT / page).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("page", "link"),
    [
        ("README.md", "docs/explanation/compare-runs.md"),
        ("README.md", "docs/how-to/gate-a-release.md"),
        ("docs/index.md", "how-to/gate-a-release.md"),
        ("docs/tutorial.md", "explanation/compare-runs.md"),
        ("docs/tutorial.md", "how-to/gate-a-release.md"),
        ("docs/how-to/repeat-cases.md", "../commands/plan.md"),
        ("docs/explanation/error-bars.md", "../commands/compare.md"),
    ],
)
def test_a_page_that_raises_a_question_links_to_the_page_that_answers_it(page, link):
    assert f"]({link}" in (ROOT / page).read_text(encoding="utf-8")


def test_what_repeats_a_number_is_there():
    """The page of checked numbers names programs and tests; a renamed one would leave its reader with nothing to run."""
    text = (ROOT / "docs" / "explanation" / "checked-numbers.md").read_text(encoding="utf-8")
    named = re.findall(r"tests/[\w/]+\.py", text)
    programs = [f"benchmarks/{name}" for name in re.findall(r"(?<![\w/])\w+\.py", text)]
    assert named
    assert [path for path in {*named, *programs} if not (ROOT / path).is_file()] == []
