"""Running the examples of a page of the documentation.

Python blocks of a page run in order and share their names, as a reader who types them in would have it. A block that
is followed by one marked `text title="Output"` must print exactly that. A block marked `python title="NAME.py"` or
`yaml title="NAME.yaml"` (or `toml`) is also written to a file of that name, so that a `console` block can run it, and other blocks import it: each
`$ ` line of such a block runs in a shell, and the lines after it are its output. Numbers that differ from run to run (durations) are written as `…` in
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

from openai import AsyncOpenAI

from calipers.cli.app import app
from calipers.process.loop import run_sync
from calipers.stores.run_info import process_token

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
    _forget_modules(folder)
    path = list(sys.path)
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
            _forget_modules(folder)
        return code, _read(out), "" if together else _read(err)


def _forget_modules(folder):
    """What was imported from the folder may have been written anew since. Its clients would have ended with their process."""
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(f"{folder}{os.sep}"):
            del sys.modules[name]
            for value in vars(module).values():
                if isinstance(value, AsyncOpenAI):
                    run_sync(value.close)


def _read(file):
    file.flush()
    file.seek(0)
    return file.read()


def run_page(page, folder):
    """Run the examples of a page in a folder, and check what they print."""
    module = types.ModuleType("docs_example")
    found = list(blocks(page))
    with _as_a_reader(folder, module):
        for number, (info, text) in enumerate(found):
            language = info.split(" ")[0] if info else ""
            if language == "console":
                run_console(text, folder)
            if title_of(info) and title_of(info).endswith((".py", ".yaml", ".toml")):
                path = folder / title_of(info)
                path.parent.mkdir(exist_ok=True)
                path.write_text(text, encoding="utf-8")
            if language != "python":
                continue
            printed = run_python(text, module, page)
            following, shown = found[number + 1] if number + 1 < len(found) else ("", "")
            if following == 'text title="Output"':
                assert matches(shown, printed), f"block {number} printed\n{printed}\nnot\n{shown}"


@contextlib.contextmanager
def _as_a_reader(folder, module):
    """In the folder, with a terminal of 80 columns; at the end, all is as before."""
    path, environment, before = list(sys.path), dict(os.environ), sys.modules.get(module.__name__)
    os.environ["COLUMNS"] = "80"
    sys.path.insert(0, str(folder))
    sys.modules[module.__name__] = module
    try:
        with contextlib.chdir(folder):
            yield
    finally:
        sys.path[:] = path
        os.environ.clear()
        os.environ.update(environment)
        _forget_modules(folder)
        del sys.modules[module.__name__]
        if before is not None:
            sys.modules[module.__name__] = before
