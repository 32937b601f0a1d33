"""What the commands do, under the same names; a command with little to do is whole in `calipers.cli.commands`."""
