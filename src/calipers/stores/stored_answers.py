"""The answers of models that a store keeps, as the cache that `calipers.models.using_cache` takes.

A store that cannot be reached for a moment costs a question that is asked again, or an answer that is not kept; it does not cost an
answer that is there.
"""

from contextlib import suppress

from calipers.errors import StoreUnavailableError
from calipers.stores.store import Store


class StoredAnswers:
    """Keeps the answers of models in a store: `with using_cache(StoredAnswers(store)): …`."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def get(self, key: bytes, /) -> bytes | None:
        """The answer under a key; `None` if there is none."""
        with suppress(StoreUnavailableError):
            return self.store.model_answer(key)
        return None

    def put(self, key: bytes, answer: bytes, /) -> None:
        """Keep an answer under a key."""
        with suppress(StoreUnavailableError):
            self.store.keep_model_answer(key, answer)
