"""One self-contained HTML file without scripts: the style of reports, and whatever content is put into it."""

import base64
import hashlib
from importlib.resources import files

from calipers.views.text import fit

from .markup import Content, Markup, element

_TITLE = 200


def static_page(title: str, *content: Content, brand: str) -> str:
    """The text of the file.

    Args:
        title: of the window; text of others may be in it.
        content: of the page.
        brand: what stands in the bar at the top.
    """
    style = files("calipers.views.html").joinpath("page", "report.css").read_text(encoding="utf-8")
    style = style.replace("\r\n", "\n")
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
