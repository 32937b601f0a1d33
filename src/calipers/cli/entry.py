"""The first that `calipers` runs: it loads the rest, so that a Ctrl-C meanwhile is one line and no traceback.

Whatever this module needs is loaded before that, so it needs nothing.
"""

import sys


def main() -> None:
    """Run the command line of this process, and end it."""
    try:
        from calipers.cli.app import app

        app.main()
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted.\n")
        sys.exit(130)
