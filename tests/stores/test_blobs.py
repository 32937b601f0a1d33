"""Large texts, kept once."""

import random
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calipers.errors import StoreError
from calipers.stores.blobs import LARGEST_INLINE, Blobs, PackedText, reference, restore


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


@given(
    st.binary(max_size=300), st.integers(1, 60_000), st.booleans(), st.floats(0, 1), st.integers(0, 3_000_000)
)
@settings(max_examples=30)
def test_a_packed_text_comes_in_pieces_and_from_any_place(
    begin: bytes, times: int, is_packed: bool, where: float, length: int
) -> None:
    whole = begin * times
    packed = PackedText(zlib.compress(whole, 1) if is_packed else whole, is_packed=is_packed)
    start = int(where * len(whole))
    assert packed.between(start, start + length) == whole[start : start + length], "before it was read"
    assert b"".join(packed.pieces()) == whole
    assert packed.between(start, start + length) == whole[start : start + length], "after"


def test_a_packed_text_that_was_cut_or_broken_is_damage() -> None:
    body = zlib.compress(random.Random(1).randbytes(3_000_000))
    for broken in (body[:1000], body[:-10], b"no such thing", body[:5000] + b"x" + body[5001:]):
        with pytest.raises(StoreError, match="run 'r1' in the store is damaged: a value cannot be read"):
            list(PackedText(broken, is_packed=True, run="r1").pieces())
