"""Models by their name or address."""

from functools import lru_cache

from .model import Model
from .remote_model import RemoteModel


@lru_cache(maxsize=256)  # a model remembers which parameters it was found to refuse
def named_model(name: str) -> Model:
    """The model of this name or address.

    Raises:
        InvalidOptionError: there is none.
    """
    return RemoteModel(name)
