"""Every picture of the documentation that shows a page of the viewer or of a report: of what, and how large."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

StoreName: TypeAlias = Literal["support as begun", "support", "desk"]
"""A store of `stores.STORES`."""


@dataclass(frozen=True)
class Picture:
    """One picture, `docs/pictures/NAME.webp`."""

    name: str
    store: StoreName
    """The store that it shows."""
    page: str
    """The address in the viewer."""
    size: tuple[int, int] = (1200, 800)
    """Of the window, in points. What reaches below it is cut off."""
    theme: Literal["light", "dark"] = "light"
    act: Callable[[Any], object] | None = None
    """What a reader does on the page before the picture is taken."""
    keys: tuple[str, ...] = ()
    """What is pressed then, one after the other."""
    part: str | None = None
    """The part of the page to show, as a selector; `None`: the window."""


def _click(*parts: str) -> Callable[[Any], None]:
    """Click these parts of a page, by their selectors."""

    def act(page: Any) -> None:
        for part in parts:
            page.locator(part).first.click()

    return act


def _begin_to_label(page: Any) -> None:
    page.locator("input[name=question]").fill("clear")
    page.get_by_text("Begin", exact=True).click()
    page.locator(".label-bar").wait_for()


def _name_oneself(page: Any) -> None:
    """Say who labels, where the page asks for it."""
    if page.locator("input[name=person]").count():
        page.locator("input[name=person]").fill("ann")
        page.get_by_text("Begin", exact=True).click()
    page.locator(".label-attempt").wait_for()


def _case(name: str, view: str | None = None) -> Callable[[Any], None]:
    """Go from a table of cases to one of them, and choose a view of it."""
    return _click(f'text="{name}"', *(() if view is None else (f'.views >> text="{view}"',)))


PICTURES: Final = (
    # the tutorial
    Picture("support-run", "support as begun", "/runs/v1", (1200, 830)),
    Picture(
        "support-case",
        "support as begun",
        "/runs/v1/cases?q=status:failed",
        (1200, 780),
        act=_case("return 1009", "Conversation"),
    ),
    Picture("support-compare", "support as begun", "/compare?a=v1&b=v2", (1200, 920)),
    Picture("support-flips", "support as begun", "/compare?a=v1&b=v2", (1200, 640), part="#flips"),
    Picture("support-label", "support as begun", "/label", (1200, 560), act=_begin_to_label),
    Picture("support-judge", "support", "/judges", (1200, 900)),
    Picture("support-runs", "support", "/", (1200, 330)),
    # the pages of the viewer, in README and how-tos
    Picture("desk-runs", "desk", "/", (1200, 640)),
    Picture("desk-trend", "desk", "/datasets/mail", (1200, 560)),
    Picture("desk-run", "desk", "/runs/nightly", (1200, 900)),
    Picture("desk-cases", "desk", "/runs/nightly/cases?q=status:failed+meta.language:pl", (1200, 520)),
    Picture(
        "desk-voice",
        "desk",
        "/runs/spoken%2C%20with%20noise/cases?q=status:failed",
        (1200, 700),
        act=_click("[role=row][data-row] a"),
    ),
    Picture(
        "desk-tree",
        "desk",
        "/runs/rollouts/cases",
        (1200, 640),
        theme="dark",
        act=_click("[role=row][data-row] a"),
    ),
    Picture(
        "desk-label",
        "desk",
        "/label?run=nightly&question=Is+it+urgent%3F&count=20&seed=1",
        (1200, 560),
        act=_name_oneself,
    ),
)
