"""What `calipers view` does: open the store, take a port, print the address, and serve until a signal comes."""

import os
import webbrowser
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import click

from calipers.cli.exits import PASSED, USAGE
from calipers.cli.message import CommandError, note
from calipers.cli.stored_runs import store_address
from calipers.stores.default_store import DEFAULT
from calipers.viewer.serving import load_server
from calipers.viewer.viewed_store import ViewedStore


@dataclass(frozen=True, kw_only=True)
class ViewOptions:
    """The options of `calipers view`; its help says what they mean."""

    store: str | None
    run: str | None
    port: int
    no_browser: bool
    read_only: bool


def view(options: ViewOptions) -> int:
    """Serve until a signal comes."""
    load_server()  # before anything is opened
    address = store_address(options.store)
    if address == DEFAULT and not Path(DEFAULT).exists():
        raise CommandError(
            f"there is no store {DEFAULT!r} in this folder: `calipers run` makes one; `calipers view STORE` shows another",
            USAGE,
        )
    viewed = ViewedStore(address, read_only=options.read_only)
    path = "" if options.run is None else f"/runs/{quote(viewed.find_run(options.run).id)}"
    server = load_server().ViewerServer(viewed, port=options.port)
    note(f"Showing {viewed.url} at")
    click.echo(f"{server.url}{path}")
    note("Ctrl-C ends it")
    if not options.no_browser and "DISPLAY" in os.environ:
        webbrowser.open(f"{server.url}{path}")
    server.run()
    viewed.close()
    return PASSED
