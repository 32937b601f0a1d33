"""`calipers completion`: the script that makes a shell complete commands, options, files and names."""

import click
from click.shell_completion import get_completion_class

from calipers.cli.app import Command
from calipers.cli.message import CommandError

EXAMPLES = """
# bash: in ~/.bashrc
eval "$(calipers completion bash)"
# zsh: in ~/.zshrc
eval "$(calipers completion zsh)"
# fish
calipers completion fish > ~/.config/fish/completions/calipers.fish
"""


@click.command(cls=Command, examples=EXAMPLES)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the script that makes a shell complete calipers commands. Bash needs version 4.4 or later."""
    kind = get_completion_class(shell)
    if kind is None:
        raise CommandError(f"this version of click knows no completion for {shell}")
    root = click.get_current_context().find_root().command
    click.echo(kind(root, {}, "calipers", "_CALIPERS_COMPLETE").source())
