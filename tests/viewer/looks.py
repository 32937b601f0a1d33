"""What a page looks like, as a small grey picture of where its ink is: a map of blocks, each the darker the more stands in it.

Letters are drawn a little differently by each version of a browser and with each font, so a picture that was kept could not be compared point by
point with one of another machine. A map of ink can: it holds where texts, lines, marks and charts are, and how dense, and hardly what letters look like.
What moves, goes missing or lies over something else moves ink, and everything below it.
"""

import io
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from PIL import Image

BLOCK: Final = 16
"""Points on a side of a block."""
FULL: Final = 48.0
"""Of 255: from how much contrast on average a block counts as full."""
KEPT: Final = Path(__file__).resolve().parent / "looks"
"""The maps that are kept, a picture for each page with its looks side by side."""


class Look(NamedTuple):
    """A way to look at a page."""

    name: str
    width: int
    height: int
    scheme: str


LOOKS: Final = (
    Look("desktop, light", 1280, 912, "light"),
    Look("desktop, dark", 1280, 912, "dark"),
    Look("phone, light", 384, 848, "light"),
    Look("phone, dark", 384, 848, "dark"),
)


def pixels(shot: bytes) -> Any:
    """A screenshot as numbers from 0 to 255: rows, columns, colours."""
    return np.asarray(Image.open(io.BytesIO(shot)).convert("RGB"), dtype=np.int16)


def differing(one: bytes, other: bytes) -> float:
    """The share of the points of two screenshots that are not of the same colour."""
    first, second = pixels(one), pixels(other)
    if first.shape != second.shape:
        return 1.0
    return float((np.abs(first - second).max(axis=2) > 8).mean())


def ink(shot: bytes) -> Any:
    """Where the ink of a screenshot is: a byte for each block."""
    grey = pixels(shot).mean(axis=2)
    ground = float(np.median(grey))
    rows, columns = grey.shape[0] // BLOCK, grey.shape[1] // BLOCK
    cut = np.abs(grey[: rows * BLOCK, : columns * BLOCK] - ground)
    blocks = cut.reshape(rows, BLOCK, columns, BLOCK).mean(axis=(1, 3))
    return (255 * np.minimum(blocks / FULL, 1)).astype(np.uint8)


def moved(kept: Any, found: Any) -> float:
    """How much of the ink is elsewhere, from 0 to 1. What moved by less than a block hardly counts."""
    if kept.shape != found.shape:
        return 1.0
    one, other = _soft(kept), _soft(found)
    return float(np.abs(one - other).sum() / max(float(np.maximum(one, other).sum()), 1.0))


def _soft(blocks: Any) -> Any:
    """The map with each block spread over those beside it, so that ink on an edge between two belongs to both."""
    padded = np.pad(blocks.astype(np.float64), 1, mode="edge")
    rows, columns = blocks.shape
    return sum(padded[y : y + rows, x : x + columns] for y in range(3) for x in range(3)) / 9


def kept_maps(page: str) -> list[Any]:
    """The maps of a page that are kept, one for each look."""
    sheet = np.asarray(Image.open(KEPT / f"{page}.png").convert("L"))
    found, left = [], 0
    for look in LOOKS:
        rows, columns = look.height // BLOCK, look.width // BLOCK
        found.append(sheet[:rows, left : left + columns])
        left += columns
    return found


def keep_maps(page: str, maps: list[Any]) -> None:
    """Keep the maps of a page in place of those that are there."""
    KEPT.mkdir(exist_ok=True)
    rows = max(each.shape[0] for each in maps)
    sheet = np.hstack([np.pad(each, ((0, rows - each.shape[0]), (0, 0))) for each in maps])
    few = np.round(sheet / 8.226) * 8.226  # thirty-two greys are enough, and small
    Image.fromarray(few.astype(np.uint8)).save(KEPT / f"{page}.png", optimize=True)
