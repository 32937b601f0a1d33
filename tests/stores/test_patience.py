"""A store that cannot be reached for a moment costs a moment, and not the run."""

import pytest

from calipers import Case, Dataset
from calipers.errors import StoreError, StoreUnavailableError
from calipers.stores import MemoryStore
from calipers.stores.store import patiently


def failing(*errors):
    left = list(errors)

    def call():
        if left:
            raise left.pop(0)
        return "done"

    return call


def test_what_is_unavailable_is_tried_again():
    assert patiently(failing(StoreUnavailableError("away"), StoreUnavailableError("away"))) == "done"


@pytest.mark.parametrize("error", [StoreError("no"), ValueError("no")], ids=repr)
def test_what_waiting_does_not_heal_is_not_tried_again(error):
    with pytest.raises(type(error), match="no"):
        patiently(failing(error))


def test_patience_ends():
    with pytest.raises(StoreUnavailableError, match="away"):
        patiently(failing(*[StoreUnavailableError("away")] * 9), patience=0.15)


class Shaky(MemoryStore):
    """A store that is away whenever something is asked of it for the first time."""

    def __init__(self):
        super().__init__()
        self.asked = set()

    def _first(self, what):
        if what not in self.asked:
            self.asked.add(what)
            raise StoreUnavailableError("away")

    def find(self, keys, **options):
        self._first("find")
        return super().find(keys, **options)

    def judged_at(self, run, positions):
        self._first("judged_at")
        yield from super().judged_at(run, positions)

    def remove_attempts(self, *args, **options):
        self._first("remove_attempts")
        super().remove_attempts(*args, **options)

    def finish_run(self, *args, **options):
        self._first("finish_run")
        return super().finish_run(*args, **options)


def same(inputs):
    return inputs


def test_a_run_goes_on_whatever_it_asks_of_a_store_that_is_away_for_a_moment():
    def run(inputs, **options):
        dataset = Dataset(name="d", cases=[Case(name=x, inputs=x) for x in inputs])
        return dataset.evaluate_sync(same, store=store, progress=False, **options)

    same.version = "1"
    with Shaky() as store:
        first = run("abc", reuse=True).reuse
        again = run("ab", resume=first.run).reuse
        assert store.asked == {"find", "judged_at", "remove_attempts", "finish_run"}
        assert (again.attempts_reused, again.attempts_made) == (2, 0)
        assert (store.run(first.run).status, store.run(first.run).attempts) == ("finished", 2)
