"""Models by their name or address."""

from calipers.errors import InvalidOptionError

from .model import Model


def named_model(name: str) -> Model:
    """The model of this name or address."""
    raise InvalidOptionError(f"no model is called {name!r}")
