"""Texts as vectors, so that closeness of meaning can be measured: `embed(texts)` and `similarity(a, b)`.

The model is wordllama's: a vector of 256 numbers for each token, averaged over the text. It comes with the package,
needs no network and no graphics card, and takes well under a millisecond a sentence. It knows words, not their order:
"man bites dog" and "dog bites man" are the same to it, and a "not" changes little. It was trained on English text.

The model is loaded once in a process, when it is first needed. Many threads may use it at a time.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

from calipers.errors import MissingExtraError

NEAR = 0.65
"""The least cosine of two texts that say nearly the same: paraphrases of a sentence have 0.7 and more, other answers to it 0.3 and less."""
_ROUNDING = 1e-5
"""By how much the cosine of equal vectors may lie below 1, in single precision."""
_PIECE = 10_000
"""Characters that are embedded at once. All tokens of a piece are in memory as vectors, a kilobyte each."""

_loading = Lock()


def embed(texts: Sequence[str]) -> list[list[float]]:
    """A vector for each text. A text of nothing but white space has the vector of zeros.

    Raises:
        MissingExtraError: wordllama is not installed.
    """
    if isinstance(texts, str):
        raise TypeError(f"embed takes a list of texts, got the text {texts!r:.100}")
    with _loading:
        model = _model()
    return [_vector(model, text) for text in texts]


def similarity(a: str, b: str) -> float:
    """How close two texts are in meaning: 1 for equal texts, about 0 for unrelated ones, hardly ever below.

    Raises:
        MissingExtraError: wordllama is not installed.
    """
    return 1.0 if a == b else cosine_similarity(*embed([a, b]))


def cosine_similarity(a: Sequence[float], b: Sequence[float]) -> float:
    """The cosine of the angle between two vectors, from -1 to 1; 0 where one of them is all zeros.

    Raises:
        ValueError: they are empty, have different lengths, or hold something else than finite numbers.
    """
    if len(a) != len(b) or len(a) == 0:
        raise ValueError(f"two vectors of the same length are needed, got lengths {len(a)} and {len(b)}")
    left, right = _scaled(a), _scaled(b)
    # One root of the product, not a product of roots: so a vector's similarity to itself is exactly 1.
    size = math.sqrt(_product(left, left) * _product(right, right))
    return max(-1.0, min(1.0, _product(left, right) / size)) if size else 0.0


def groups_of(vectors: Sequence[Sequence[float]], near: float = NEAR) -> list[list[int]]:
    """The places of vectors that are near each other, the largest group first; what is near no other is in none.

    A group is made around the vector that most others are near to; then around the one that most of the rest are near to, and so on. That one is
    the first of its group. All are compared with all, which takes memory: a byte for each pair.

    Args:
        vectors: of the same length. A vector of zeros is near nothing.
        near: the least cosine to the vector in the middle of a group.
    """
    import numpy as np

    if not vectors:
        return []
    rows = np.asarray(vectors, np.float32).reshape(len(vectors), -1)
    sizes = np.linalg.norm(rows, axis=1, keepdims=True)
    rows = np.divide(rows, sizes, out=np.zeros_like(rows), where=sizes > 0)
    is_near = rows @ rows.T >= near - _ROUNDING
    counts = is_near.sum(axis=1)
    found: list[list[int]] = []
    while len(counts) and counts.max() > 1:
        middle = int(counts.argmax())
        members = np.flatnonzero(is_near[middle])
        found.append([middle, *(place for place in members.tolist() if place != middle)])
        counts -= is_near[:, members].sum(axis=1)
        is_near[:, members] = False
        is_near[members] = False
        counts[members] = 0
    return found


def _product(left: list[float], right: list[float]) -> float:
    return math.fsum(x * y for x, y in zip(left, right, strict=True))


def _scaled(vector: Sequence[float]) -> list[float]:
    """The same direction, in numbers whose squares neither overflow nor vanish."""
    numbers = [float(number) for number in vector]
    for number in numbers:
        if not math.isfinite(number):
            raise ValueError(f"a vector must hold finite numbers, got {number!r}")
    largest = max(map(abs, numbers))
    return [number / largest for number in numbers] if largest else numbers


def _vector(model: Any, text: str) -> list[float]:
    """The vector of a text, the mean over its pieces, so that a text of megabytes does not fill the memory."""
    # No tokenizer takes half a surrogate pair.
    said = text.strip().encode("utf-8", "replace").decode("utf-8")
    pieces = [said[start : start + _PIECE] for start in range(0, max(len(said), 1), _PIECE)]
    # One by one: in a batch, every text would be padded to the longest.
    total: Any = sum(model.embed(piece)[0].astype(float) * len(piece) for piece in pieces)
    return (total / max(len(said), 1)).tolist()  # type: ignore[no-any-return]


@lru_cache(maxsize=1)
def _model() -> Any:
    try:
        import wordllama  # type: ignore[import-untyped]  # it has no annotations that checkers read
    except ImportError as error:
        raise MissingExtraError.of("an embedding of text", "embeddings") from error
    # The weights are in the package; without these options it would look for its tokenizer on the network.
    folder = Path(wordllama.__file__).parent
    return wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
