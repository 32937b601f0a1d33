"""Models made of functions and of models of other libraries."""

from typing import Any

from calipers.errors import InvalidOptionError

from .model import Model


def adapted_model(given: Any) -> Model:
    """The model that is behind a function or an object."""
    raise InvalidOptionError(f"there is no model in {given!r:.200}")
