"""The viewer from Python: `serve` runs one, `make_app` gives an application for a server of your own.

What they need comes with the extra `view`, and loads when they are called.
"""

import os
from collections.abc import Sequence
from contextlib import closing
from importlib import import_module
from typing import Any

from calipers.errors import InvalidOptionError, MissingExtraError
from calipers.stores.store import Store

from .viewed_store import ViewedStore


def serve(
    store: str | os.PathLike[str] | Store,
    *,
    run: str | None = None,
    host: str = "127.0.0.1",
    port: int | None = None,
    password: str | None = None,
    trusted_hosts: Sequence[str] = (),
    read_only: bool = False,
) -> None:
    """Show the runs of a store in a browser, until Ctrl-C. The address is printed; it opens once.

    Args:
        store: its URL or path, or an open store.
        run: to show first: its id, the beginning of one, its name, or `latest`.
        host: the address to listen on. One that other machines reach needs a password.
        port: to listen on; 0 for any that is free. Default: 8400 or, if that is taken, any that is free.
        password: that lets people in, besides the address.
        trusted_hosts: further names of this server, by which browsers reach it.
        read_only: allow no labels, and write nothing.

    Raises:
        InvalidOptionError: the port is taken, or the address lacks a password or a trusted host.
        MissingExtraError: the extra `view` is not installed.
        StoreError: the store cannot be opened, or has no such run.
    """
    server_module = load_server()
    with closing(ViewedStore(store, read_only=read_only)) as viewed:
        path = "/" if run is None else f"/runs/{viewed.find_run(run).id}"
        server = server_module.ViewerServer(
            viewed, host=host, port=port, password=password, trusted_hosts=trusted_hosts
        )
        if server.without_page is not None:
            print(server.without_page, flush=True)  # noqa: T201 - as below
        print(f"{server.address(path)}  (Ctrl-C ends it)", flush=True)  # noqa: T201 - that is what it is for
        server.run()


def make_app(
    store: str | os.PathLike[str] | Store, *, hosts: Sequence[str], password: str, read_only: bool = False
) -> Any:
    """The viewer as an ASGI application, for a server of your own: `uvicorn.run(make_app(...), port=8400)`.

    Args:
        store: its URL or path, or an open store.
        hosts: what browsers have in their address, with the port unless it is that of the scheme: `localhost:8400`, `evals.example.com`.
            Anything else is refused.
        password: that lets people in.
        read_only: allow no labels, and write nothing.

    Raises:
        InvalidOptionError: no hosts, an invalid one, or a password of fewer than eight characters.
        MissingExtraError: the extra `view` is not installed.
        StoreError: the store cannot be opened.
    """
    if not hosts or isinstance(hosts, str):
        raise InvalidOptionError(f"hosts must be a list such as ['localhost:8400'], got {hosts!r}")
    app: Any = load_server().app_of(ViewedStore(store, read_only=read_only), hosts=hosts, password=password)
    return app


def load_server() -> Any:
    """The module of the server.

    Raises:
        MissingExtraError: what it needs is not installed.
    """
    try:
        return import_module("calipers.viewer.server")
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("calipers"):
            raise
        raise MissingExtraError.of("The viewer", "view") from error
