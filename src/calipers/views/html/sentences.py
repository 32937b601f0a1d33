"""The sentences of the terminal view as markup: one report says the same thing in the same words wherever it is read."""

from typing import TYPE_CHECKING

from calipers.views.page import Page

from .markup import Markup, element, join

if TYPE_CHECKING:
    from rich.text import Text

WIDE = Page(width=2000)
"""A page on which a sentence has room on one line."""


def parts(line: "Text") -> list[tuple[str, str]]:
    """The parts of a line, each with its style; empty for none."""
    found: list[tuple[str, str]] = []
    at = 0
    for span in line.spans:
        found += [(line.plain[at : span.start], ""), (line.plain[span.start : span.end], str(span.style))]
        at = span.end
    found.append((line.plain[at:], ""))
    return [(text, style) for text, style in found if text]


def sentence(line: "Text") -> Markup:
    """A line with its bold parts set off."""
    return join(element("strong", text) if "bold" in style else text for text, style in parts(line))
