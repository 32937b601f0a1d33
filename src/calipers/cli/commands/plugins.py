"""`calipers plugins`: which plugins there are, and what failed."""

from typing import Any

import click

from calipers.cli.app import Command

EXAMPLES = """
# those of installed packages
calipers plugins
# those in a folder, too
calipers plugins --directory ./plugins
# where in its code did a plugin fail?
calipers plugins --debug
# for machines
calipers plugins --json
"""


@click.command(cls=Command, examples=EXAMPLES)
@click.option(
    "--directory",
    metavar="PATH",
    multiple=True,
    help="A folder whose files *.py hold plugins. Repeatable.",
)
@click.option("--json", is_flag=True, help="Print everything as JSON.")
def command(**options: Any) -> int:
    """List the plugins of installed packages, with what they provide and where they come from.

    A package offers plugins as entry points of the group calipers.plugins. They are imported to be listed. What cannot
    be loaded is listed with the reason, and the others are loaded all the same.

    Exit codes: 0 all is well, 2 wrong usage, 3 a plugin could not be loaded.
    """
    from calipers.cli.actions.plugins import show_plugins

    return show_plugins(**options)
