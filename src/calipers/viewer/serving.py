"""The viewer as a program starts it, for which the extra `view` has to be installed."""

from importlib import import_module
from typing import Any

from calipers.errors import MissingExtraError


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
