"""What `calipers view` does: open the store, take a port, print the address, and serve until a signal comes."""

import os
import sys
import threading
import webbrowser
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

import click

from calipers.cli.exits import PASSED, USAGE
from calipers.cli.message import CommandError, note
from calipers.cli.stored_runs import find_run, hooks_at, opening
from calipers.errors import InvalidOptionError
from calipers.viewer.running_viewer import running_viewers
from calipers.viewer.serving import load_server
from calipers.viewer.tokens import new_token
from calipers.viewer.viewed_store import ViewedStore

PASSWORD: Final = "CALIPERS_VIEW_PASSWORD"  # noqa: S105 - the name of a variable


@dataclass(frozen=True, kw_only=True)
class ViewOptions:
    """The options of `calipers view`; its help says what they mean."""

    store: str | None
    run: str | None
    port: int | None
    host: str
    trusted_host: Sequence[str]
    password: bool
    no_browser: bool
    url: bool
    read_only: bool


def view(options: ViewOptions) -> int:
    """Serve until a signal comes, or print the address of a viewer that runs."""
    if options.url:
        click.echo(_running(options))
        return PASSED
    server_module = load_server()  # before anything is opened
    password = _password(options)
    server_module.check_address(options.host, password, options.trusted_host)
    with closing(_opened(options)) as viewed:
        path = "/"
        if options.run is not None:
            with viewed.reading() as store:
                path = f"/runs/{quote(find_run(store, options.run).id)}"
        server = server_module.ViewerServer(
            viewed,
            host=options.host,
            port=options.port,
            password=password,
            trusted_hosts=options.trusted_host,
        )
        _tell(server, path, options)
        server.run()
    return PASSED


def _opened(options: ViewOptions) -> ViewedStore:
    with opening(options.store, way="calipers view STORE") as address:
        return ViewedStore(address, read_only=options.read_only, redact=hooks_at(()))


def _password(options: ViewOptions) -> str | None:
    """The password: never on the command line, which every user of a machine can read."""
    if options.password:
        given: str = click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
        return given
    return os.environ.get(PASSWORD)


def _tell(server: Any, path: str, options: ViewOptions) -> None:
    """Say where the viewer is, and open it."""
    if server.without_page is not None:
        note(server.without_page)
    note(
        f"Showing {server.viewed.url}{' for reading only' if server.viewed.read_only else ''}; Ctrl-C ends it"
    )
    click.echo(server.address(path))
    note("This address opens once; `calipers view --url` prints another")
    if "SSH_CONNECTION" in os.environ and options.host == "127.0.0.1":
        note(
            f"From your own machine: ssh -L {server.port}:127.0.0.1:{server.port} SERVER, then open the address there"
        )
    elif not options.no_browser and _has_browser():
        # One of its own, since other users of the machine can read what a browser is started with.
        opened = server.address(path)
        threading.Thread(target=webbrowser.open, args=(opened,), daemon=True).start()


def _has_browser() -> bool:
    """Whether there is a screen; without one, a browser would take over the terminal."""
    return sys.platform in {"win32", "darwin"} or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )


def _running(options: ViewOptions) -> str:
    """An address that opens a viewer that runs: the newest one, of the port or the store that was given."""
    found = running_viewers()
    if not found:
        raise CommandError("you have no viewer running on this machine: `calipers view` starts one", USAGE)
    if options.port is not None:
        found = [each for each in found if each.url.endswith(f":{options.port}")]
    if options.store is not None:
        with closing(_opened(options)) as viewed:
            found = [each for each in found if each.store == viewed.url]
    if not found:
        what = f"on port {options.port}" if options.port is not None else f"of {options.store!r}"
        raise InvalidOptionError(f"you have no viewer running {what}: leave that out for the newest one")
    path = "/" if options.run is None else f"/runs/{quote(options.run)}"
    return f"{found[-1].url}{path}?token={new_token(found[-1].secret)}"
