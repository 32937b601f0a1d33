"""What could come next on a command line: files, report formats, evaluators, runs.

Someone is waiting for the tab key: names come from lists, and nothing is imported to find them.
"""

from pathlib import Path

import click
from click.shell_completion import CompletionItem

from calipers import evaluators

FORMATS = {
    "json": "json",
    "jsonl": "jsonl",
    "csv": "csv",
    "markdown": "md",
    "junit": "xml",
    "html": "html",
    "text": "txt",
    "github": "txt",
}
"""Formats of report files and how they usually end: those of `calipers.views.formats`, as a test makes sure."""

EXPORTS = ("parquet", "jsonl", "csv", "otlp")
"""Formats of exported runs."""


def complete_files(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Any file; the shell knows best."""
    del ctx, param
    return [CompletionItem(incomplete, type="file")]


def complete_export(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The formats of exported runs, with a usual name."""
    del ctx, param
    return [CompletionItem(f"{name}:run.{name}") for name in EXPORTS if name.startswith(incomplete)]


def complete_out(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """`FORMAT:PATH`: the formats with a usual name, then the files there are."""
    del ctx, param
    usual = [f"{name}:report.{suffix}" for name, suffix in FORMATS.items()]
    word, colon, path = incomplete.partition(":")
    if not colon:
        return [CompletionItem(each) for each in usual if each.startswith(incomplete)]
    folder, _, start = path.rpartition("/")
    try:
        found = sorted(Path(folder or ".").glob(f"{start}*"))
    except (OSError, ValueError):
        found = []
    here = f"{word}:{folder}/" if folder else f"{word}:"
    files = [f"{here}{each.name}{'/' if each.is_dir() else ''}" for each in found]
    usual = [each for each in usual if each.startswith(incomplete) and each not in files]
    return [CompletionItem(each) for each in (*usual, *files)]


def complete_evaluator(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The built-in evaluators; as `NAME=` where a number follows."""
    del ctx
    end = "=" if param.name == "fail_under" else ""
    return [CompletionItem(name + end) for name in dir(evaluators) if name.startswith(incomplete)]


def complete_run(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The newest runs of the store that the command line names so far, each with what it is a run of."""
    del param
    from calipers.cli.stored_runs import run_ids

    found = run_ids(ctx.params.get("store"), incomplete)
    return [CompletionItem(name, help=about) for name, about in found.items()]


def complete_run_or_file(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Runs, or else files."""
    return complete_run(ctx, param, incomplete) or complete_files(ctx, param, incomplete)


def complete_case(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The cases of the run that the command line names."""
    del param
    from calipers.cli.stored_runs import names_in

    return [CompletionItem(name) for name in names_in(ctx.params, "case", incomplete)]


def complete_stored_evaluator(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The evaluators of the run that the command line names."""
    del param
    from calipers.cli.stored_runs import names_in

    return [CompletionItem(name) for name in names_in(ctx.params, "evaluator", incomplete)]
