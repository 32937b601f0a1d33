"""Every command and option is on its page, in the words of its help, and the pages name nothing else."""

import re
from pathlib import Path

import click
import pytest

from calipers.cli import exits
from calipers.cli.actions.init import FILES
from calipers.cli.app import COMMANDS, app
from calipers.views.formats import FORMATS

DOCS = Path(__file__).resolve().parents[2] / "docs" / "commands"
HELP = "Show this message and exit."


def every_command():
    """Each command by its full name, and those that are commands of another."""
    for name in COMMANDS:
        command = app.get_command(None, name)
        yield name, command
        for inner, each in getattr(command, "commands", {}).items():
            yield f"{name} {inner}", each


ALL = dict(every_command())


def page(name):
    """The page of a command, which is also that of the commands inside of it."""
    return (DOCS / f"{name.partition(' ')[0]}.md").read_text(encoding="utf-8")


def options(command):
    return [param for param in command.params if isinstance(param, click.Option)]


def table(command):
    """The table of options, as a page has to have it."""
    lines = ["| option | meaning |", "|---|---|"]
    for option in options(command):
        names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
        value = "" if option.is_flag else f" `{option.make_metavar(click.Context(command))}`"
        default = f" Default: {option.default}." if option.show_default else ""
        lines.append(f"| {names}{value} | {option.help}{default} |")
    return "\n".join(lines)


@pytest.mark.parametrize("name", ALL)
def test_the_page_of_a_command_has_its_table_of_options(name):
    expected = table(ALL[name])
    assert expected in page(name), f"the page of {name} should hold\n\n{expected}"


def test_the_overview_has_the_commands_the_options_and_the_exit_codes():
    text = page("index")
    for name, line in COMMANDS.items():
        assert f"| [`calipers {name}`]({name}.md) | {line} |" in text
    assert table(app) in text
    codes = [int(code) for code in re.findall(r"^\| (\d+) \| \w", text, re.MULTILINE)]
    assert codes == sorted(exits.WORDS)


def test_there_is_a_page_for_every_command_and_no_other():
    assert {path.stem for path in DOCS.glob("*.md")} == {"index", *COMMANDS}


@pytest.mark.parametrize("name", ["index", *COMMANDS])
def test_no_page_names_an_option_that_no_command_has(name):
    known = {"--help", "--version"}
    for command in (app, *ALL.values()):
        known.update(opt for option in options(command) for opt in (*option.opts, *option.secondary_opts))
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", page(name))) <= known


@pytest.mark.parametrize("name", ALL)
def test_the_examples_of_the_help_use_options_that_exist(name):
    command = ALL[name]
    inner = getattr(command, "commands", {}).values()
    known = {opt for each in (command, *inner) for option in options(each) for opt in option.opts}
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", command.examples)) <= known


@pytest.mark.parametrize(("name", "option"), [("run", "--out"), ("show", "--to"), ("voice run", "--out")])
def test_the_help_names_every_format_of_report_files(name, option):
    (found,) = [each for each in options(ALL[name]) if option in each.opts]
    assert all(re.search(rf"\b{each}\b", found.help) for each in FORMATS)


def test_the_page_of_init_names_every_file_it_writes():
    assert all(f"`{name}`" in page("init") for name in FILES)


def test_the_page_of_completion_and_the_completer_know_the_same_formats():
    from calipers.cli.completers import FORMATS as OFFERED

    assert list(OFFERED) == list(FORMATS)
    for name, suffix in OFFERED.items():
        assert not FORMATS[name].suffixes or f".{suffix}" in FORMATS[name].suffixes
