"""Take the pictures of the documentation: `make pictures`, or `python tools/pictures NAME ...` for some of them.

Every picture is of a store that is made anew from fixed seeds, in a browser whose clock stands still, so that the same source gives the same
pictures on the same machine. `table.py` has them all.
"""

import contextlib
import io
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright
from settled import NOW
from table import PICTURES, Picture

from calipers.testing import ServedViewer
from stores import ROOT, STORE, make_stores

FOLDER = ROOT / "docs" / "pictures"
OPTIONS = [
    "--disable-gpu",
    "--disable-background-networking",
    "--no-first-run",
    "--disable-font-subpixel-positioning",  # where a letter begins within a pixel is not the same each time
]
COLOURS = 128
"""Of a picture: with more of them it looks the same, and takes more room. An octree keeps the colours of small marks."""
SCALE = 2
"""Pixels a point, for screens that have as many."""
SETTLED = 0.15
"""Seconds in which a page that is done does not change."""


def main() -> None:
    """Take all pictures, or those that are named."""
    named = set(sys.argv[1:])
    wanted = [each for each in PICTURES if not named or each.name in named]
    if unknown := named - {each.name for each in wanted}:
        sys.exit(f"no such picture: {', '.join(sorted(unknown))}")
    os.environ["LOGNAME"] = "ann"  # who labels
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = os.environ.get("CALIPERS_CHROMIUM") or shutil.which("chromium")
        chromium = playwright.chromium.launch(executable_path=path, args=OPTIONS)
        stores = make_stores({each.store for each in wanted}, Path(folder))
        for name, place in stores.items():
            with contextlib.chdir(place), ServedViewer(str(STORE)) as viewer:
                for picture in wanted:
                    if picture.store == name:
                        take(picture, viewer, chromium)
        chromium.close()
    size = sum(file.stat().st_size for file in FOLDER.iterdir())
    print(f"{len(wanted)} pictures taken; all in {FOLDER.relative_to(ROOT)} have {size / 1e6:.2f} MB")


def take(picture: Picture, viewer: ServedViewer, chromium: Any) -> None:
    """Take one picture, and write it."""
    width, height = picture.size
    context = chromium.new_context(
        viewport={"width": width, "height": height},
        color_scheme=picture.theme,
        reduced_motion="reduce",
        locale="en",
        timezone_id="UTC",
        device_scale_factor=SCALE,
    )
    context.clock.set_fixed_time(NOW)
    page = context.new_page()
    page.goto(viewer.address(picture.page))
    page.locator("h1").first.wait_for()
    settled(page)
    if picture.act is not None:
        picture.act(page)
    for key in picture.keys:
        settled(page)
        page.keyboard.press(key)
    shot = Image.open(io.BytesIO(settled(page, picture.part))).convert("RGB")
    shot = shot.crop((0, 0, shot.width, min(shot.height, SCALE * height)))
    target = FOLDER / f"{picture.name}.webp"
    few = shot.quantize(COLOURS, method=Image.Quantize.FASTOCTREE)
    few.convert("RGB").save(target, lossless=True)
    print(f"{target.relative_to(ROOT)}: {target.stat().st_size / 1000:.0f} kB")
    context.close()


def settled(page: Any, part: str | None = None) -> bytes:
    """A shot of the page, or of a part of it, once it does not change any more."""
    end = time.monotonic() + 10
    before = b""
    while True:
        shot: bytes = page.screenshot() if part is None else page.locator(part).first.screenshot()
        if shot == before:
            return shot
        if time.monotonic() > end:
            raise TimeoutError(f"the page keeps changing: {page.url}")
        before = shot
        time.sleep(SETTLED)


if __name__ == "__main__":
    main()
