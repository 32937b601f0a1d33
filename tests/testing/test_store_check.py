"""The check that authors run on their own stores finds what is wrong with them."""

import pytest

from calipers.stores import MemoryStore
from calipers.testing import ConformanceError, check_store


class Sound(MemoryStore):
    pass


class Forgetful(MemoryStore):
    def append(self, run, attempts=(), cells=(), **options):
        super().append(run, attempts, list(cells)[:-1], **options)


class Unordered(MemoryStore):
    def attempts(self, run, **options):
        return reversed(list(super().attempts(run, **options)))


class Trusting(MemoryStore):
    def find(self, keys, *, failed=False):
        return super().find(keys, failed=True)


class Raising(MemoryStore):
    def done(self, run):
        raise RuntimeError("oh")


def test_a_sound_store_passes_and_is_left_as_it_was():
    with Sound() as store:
        check_store(store)
        assert store.runs() == []


@pytest.mark.parametrize(
    ("kind", "rule"),
    [(Forgetful, "whole"), (Unordered, "pages"), (Trusting, "find"), (Raising, "whole")],
)
def test_a_store_that_breaks_a_promise_is_told_which(kind, rule):
    with (
        kind() as store,
        pytest.raises(ConformanceError, match=f"{kind.__name__} breaks the contract of a store") as error,
    ):
        check_store(store)
    assert rule in {finding.rule for finding in error.value.findings}
