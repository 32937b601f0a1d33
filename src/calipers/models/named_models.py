"""Models by their name or address."""

from .model import Model
from .remote_model import RemoteModel


def named_model(name: str) -> Model:
    """The model of this name or address.

    Raises:
        InvalidOptionError: there is none.
    """
    return RemoteModel(name)
