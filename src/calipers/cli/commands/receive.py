"""`calipers receive`: traces of agents as they are exported."""

from typing import Any

import click

from calipers.cli.app import Command
from calipers.cli.completers import complete_files
from calipers.cli.options import (
    Seconds,
    allow_module_option,
    at_once_options,
    redact_option,
    store_option,
    types_options,
)

EXAMPLES = """
# an agent in any language sends its spans here: OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318
calipers receive
# judge each trace when it is complete
calipers receive --evaluators 'ToolCallCount: {maximum: 3}' --evaluators judges.py:polite
# from other machines, which need the token
calipers receive --host 0.0.0.0 --token "$TOKEN" --name production
"""


@click.command(cls=Command, examples=EXAMPLES)
@click.option(
    "--port",
    metavar="PORT",
    type=click.IntRange(0, 65535),
    default=4318,
    show_default=True,
    help="Where to listen; 0 for any that is free.",
)
@click.option(
    "--host",
    metavar="ADDRESS",
    default="127.0.0.1",
    show_default=True,
    help="The address to listen on. One that other machines reach needs --token.",
)
@click.option(
    "--token",
    metavar="TOKEN",
    envvar="CALIPERS_RECEIVE_TOKEN",
    help="What a sender must have, as authorization: Bearer TOKEN. CALIPERS_RECEIVE_TOKEN does the same.",
)
@click.option("--name", metavar="NAME", help="What to call the run. Default: traces.")
@click.option(
    "--evaluators",
    "--evaluator",
    "evaluators",
    metavar="WHICH",
    multiple=True,
    shell_complete=complete_files,
    help="What judges each trace as it arrives, as calipers score names it: module:name, file.py:name, a dataset file, or a "
    "built-in one such as 'Contains: Paris'. Repeatable.",
)
@click.option(
    "--wait",
    metavar="SECONDS",
    type=Seconds(),
    default=3.0,
    show_default=True,
    help="How long nothing must come for a trace, after its root span, for it to be complete; without a root, ten times as long.",
)
@click.option(
    "--max-body",
    metavar="MB",
    type=click.IntRange(min=1),
    default=64,
    show_default=True,
    help="The largest request that is taken, unzipped.",
)
@click.option(
    "--max-rate",
    metavar="SPANS",
    type=click.IntRange(min=1),
    help="Spans that are taken in a second; a sender of more is told to try again. Default: as many as there is room for.",
)
@allow_module_option
@types_options
@at_once_options
@store_option
@redact_option
def command(**options: Any) -> int:
    """Receive the traces of agents over OTLP/HTTP, and keep each as an attempt of a run, judged when it is complete.

    POST /v1/traces and /v1/logs take protobuf and JSON, also with gzip. What was acknowledged is on disk: if the process is
    killed, the next calipers receive on the same store goes on with it. Ctrl-C keeps what has arrived and says what it was.

    Exit codes: 0 ended by Ctrl-C or SIGTERM, and all is kept, 2 wrong usage, or the port is taken, 3 the store could not be
    written, or judging had to end early.
    """
    from calipers.cli.actions.receive import ReceiveOptions, receive

    return receive(ReceiveOptions(**options))
