"""Large texts, kept once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import StoreError
from calipers.stores.blobs import LARGEST_INLINE, Blobs, reference, restore


@given(st.lists(st.text(max_size=20).map(lambda text: '"' + text * 100 + '"'), max_size=5))
def test_texts_come_back_and_equal_ones_are_kept_once(texts):
    blobs = Blobs()
    stored = [blobs.take(text) for text in texts]
    assert [restore(text, blobs.bodies) for text in stored] == texts
    assert len(blobs.bodies) == len({text for text in texts if len(text) > LARGEST_INLINE})
    assert all(len(text) <= LARGEST_INLINE for text in stored)


def test_a_text_that_is_gone_or_broken_is_damage():
    blobs = Blobs()
    stored = blobs.take("x" * 5000)
    with pytest.raises(StoreError, match="damaged: it lacks the value"):
        restore(stored, {})
    digest = reference(stored).hash
    with pytest.raises(StoreError, match=r"damaged: the value .* cannot be read"):
        restore(stored, {digest: b"broken"})
