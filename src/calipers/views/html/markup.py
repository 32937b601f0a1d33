"""HTML made of elements: text becomes markup in one place, and is escaped there.

A plain string is always text. Only `Markup` is taken as it is, and only this module and its callers' own constants make
any. Text of others also passes through `visible`, so that control characters and bidirectional overrides are seen
instead of obeyed.
"""

import base64
import hashlib
from collections.abc import Iterable
from html import escape

from calipers.views.text import fit, visible

from .page_files import style_sheet

_VOID = frozenset({"circle", "line", "path", "polygon", "polyline", "rect"})
"""Elements without content, which SVG wants closed in their own tag."""


class Markup(str):
    """Text that is HTML already. Whatever is made from it by other means than this module is plain text again."""

    __slots__ = ()


Content = str | Markup
"""What an element may hold: text, or other elements."""


def element(tag: str, *children: Content, **attributes: str | float | bool | None) -> Markup:
    """One element.

    Args:
        tag: its name, written in the source, never data.
        children: its content; what is not `Markup` is escaped.
        attributes: by name, where `class_` means `class` and `aria_label` means `aria-label`; True gives the bare name,
            None and False leave it out.
    """
    opening = f"<{tag}{''.join(_attribute(name, value) for name, value in attributes.items())}"
    return Markup(f"{opening}/>" if tag in _VOID else f"{opening}>{join(children)}</{tag}>")


def join(parts: Iterable[Content], separator: Content = "") -> Markup:
    """Several parts as one, with a separator between them."""
    return Markup(text(separator).join(text(part) for part in parts))


def text(part: Content) -> Markup:
    """Text of others on one line, as markup that shows it; markup as it is."""
    return part if isinstance(part, Markup) else Markup(escape(visible(part)))


def lines(part: str) -> Markup:
    """Text of others that keeps its line breaks, for an element that shows them."""
    return Markup("\n".join(text(line.replace("\t", "    ")) for line in part.splitlines()))


def _attribute(name: str, value: str | float | bool | None) -> str:
    if value is None or value is False:
        return ""
    name = name.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    shown = f"{value:.6g}" if isinstance(value, float) else visible(str(value))
    return f' {name}="{escape(shown)}"'


# ---------------------------------------------------------------------- whole pages


_TITLE = 200


def static_page(title: str, *content: Content, brand: str) -> str:
    """The text of the file; the title may hold text of others, and the brand stands in the bar at the top."""
    style = style_sheet()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    page = element(
        "html",
        element(
            "head",
            Markup('<meta charset="utf-8">'),
            Markup(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
            Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
            Markup('<meta name="referrer" content="no-referrer">'),
            Markup('<meta name="color-scheme" content="light dark">'),
            Markup('<meta name="generator" content="Calipers">'),
            element("title", fit(title, _TITLE)),
            element("style", Markup(style)),
        ),
        element(
            "body",
            element("header", element("span", brand, class_="brand"), class_="bar"),
            element("main", *content),
        ),
        lang="en",
    )
    return f"<!doctype html>\n{page}\n"
