"""Every example in the documentation runs, and prints what the page says it prints.

Python blocks of a page run in order and share their names, as a reader who types them in would have it. A block that
is followed by one marked `text title="Output"` must print exactly that. A block marked `python title="NAME.py"` or
`yaml title="NAME.yaml"` (or `toml`) is also written to a file of that name, so that a `console` block can run it: each `$ ` line of such
a block runs in a shell, and the lines after it are its output. Numbers that differ from run to run (durations) are written as `…` in
the page, which stands for any text within its line.
"""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
import types
from pathlib import Path

import pytest

from calipers.cli.app import app
from calipers.stores.run_info import process_token

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
WITHOUT_PLUGINS = "-p no:hypothesispytest -p no:anyio -p no:langsmith_plugin"
FENCE = re.compile(r"^([ \t]*)```([^\n`]*)\n(.*?)^\1```[ \t]*$", re.DOTALL | re.MULTILINE)


def blocks(page):
    """The fenced blocks of a page: (info, text), dedented."""
    for indent, info, text in FENCE.findall(page.read_text(encoding="utf-8")):
        yield info.strip(), re.sub(rf"^{indent}", "", text, flags=re.MULTILINE)


def title_of(info):
    found = re.search(r'title="([^"]+)"', info)
    return found[1] if found else None


def matches(shown, printed):
    """Whether the printed text is the shown one, where `…` in a line stands for any text."""
    pattern = "\n".join(
        ".*".join(re.escape(part) for part in line.rstrip().split("…"))
        for line in shown.strip("\n").split("\n")
    )
    text = "\n".join(line.rstrip() for line in printed.strip("\n").split("\n"))
    return re.fullmatch(pattern, text) is not None


def run_python(text, module, page):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(text, str(page), "exec", dont_inherit=True), module.__dict__)
    return printed.getvalue()


CALIPERS = re.compile(
    r"""calipers (?P<words>(?:[^|&;<>$`*?~\\#'"]|'[^']*'|"[^"$`\\]*")*?)
        (?P<both>\s2>&1)? (?P<nowhere>\s>\s?/dev/null)? \s* (?:(?P<then>\||;|&&) \s* (?P<rest>.*))? $""",
    re.VERBOSE,
)
"""A command that begins with `calipers`, up to what a shell has to do with its outcome."""


def run_console(text, folder):
    """Check each command of a console block against the output shown below it."""
    for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n?)*)", text, re.MULTILINE):
        printed, problems = run_command(command, folder)
        assert matches(shown, printed), f"$ {command}\nprinted\n{printed}{problems}\nnot\n{shown}"


def run_command(command, folder, before=0):
    """What a command writes to its two streams. `calipers` runs in this process: Python need not start again for each of them.

    The rest of the line is the shell's work, which is told how the command before ended.
    """
    parts = CALIPERS.fullmatch(command)
    if parts is None:
        done = run_in_a_shell(f"(exit {before}); {command}" if before else command, folder)
        return done.stdout, done.stderr
    code, printed, problems = run_here(
        parts["words"], folder, together=bool(parts["both"]) and not parts["nowhere"]
    )
    if parts["nowhere"]:
        # `2>&1 >/dev/null` leaves what was meant for the other stream.
        printed, problems = (problems, "") if parts["both"] else ("", problems)
    if parts["then"] == "|":
        done = run_in_a_shell(parts["rest"], folder, input=printed)
        return done.stdout, problems + done.stderr
    if parts["then"] == ";" or (parts["then"] == "&&" and code == 0):
        further = run_command(parts["rest"], folder, before=code)
        return printed + further[0], problems + further[1]
    return printed, problems


def run_in_a_shell(command, folder, **options):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    # A reader need not have the plugins that these tests are run with, and they take long to load.
    env = os.environ | {"PATH": path, "COLUMNS": "80", "PYTEST_ADDOPTS": WITHOUT_PLUGINS}
    return subprocess.run(
        command, shell=True, cwd=folder, capture_output=True, text=True, env=env, timeout=120, **options
    )


def run_here(words, folder, *, together=False):
    """Run `calipers` in this process, which forgets what was imported from the folder: its exit code, and what it wrote."""
    path, modules = list(sys.path), set(sys.modules)
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8") as out,
        tempfile.TemporaryFile("w+", encoding="utf-8") as err,
    ):
        if together:  # two streams of one file, as a shell has it
            os.dup2(out.fileno(), err.fileno())
        try:
            process_token.cache_clear()  # to a store, each command is a process of its own
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                app.main(shlex.split(words))
        except SystemExit as ended:
            code = ended.code
        finally:
            sys.path[:] = path
            for name in set(sys.modules) - modules:
                if str(getattr(sys.modules[name], "__file__", None)).startswith(str(folder)):
                    del sys.modules[name]
        return code, _read(out), "" if together else _read(err)


def _read(file):
    file.flush()
    file.seek(0)
    return file.read()


@pytest.mark.usefixtures("no_tracer_provider")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_examples_of_a_page_run_and_print_what_it_shows(page, tmp_path, monkeypatch):
    if page.name in LEFT_OUT:
        pytest.importorskip(LEFT_OUT[page.name], reason="the framework of this page is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    module = types.ModuleType("docs_example")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    found = list(blocks(page))
    for number, (info, text) in enumerate(found):
        language = info.split(" ")[0] if info else ""
        if language == "console":
            run_console(text, tmp_path)
        if title_of(info) and title_of(info).endswith((".py", ".yaml", ".toml")):
            path = tmp_path / title_of(info)
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        if language != "python":
            continue
        printed = run_python(text, module, page)
        following, shown = found[number + 1] if number + 1 < len(found) else ("", "")
        if following == 'text title="Output"':
            assert matches(shown, printed), f"block {number} printed\n{printed}\nnot\n{shown}"


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
