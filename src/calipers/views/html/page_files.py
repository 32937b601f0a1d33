"""The files of which a report's page is made, and how it comes to look like the page of `calipers view`: both read three of them.

The two could share more: the viewer's components, built once more as a script that each report carries. But a report is also written where the
viewer was never built, its summaries have to be read without a script, and its data would have to be the viewer's answers. So it keeps its
own small script and its own HTML, and only what would be a second truth is shared. `page/looks.css` says which colour means
what, in light and dark, `page/shapes.json` how each mark and each interval is drawn, and `page/words.json` what tables that both have are called. The viewer builds them
into its page. A test compares what the two draw.
"""

import json
from functools import cache
from importlib.resources import files
from typing import Any, Literal, TypeAlias

MarkName: TypeAlias = Literal["pass", "partial", "fail", "error", "skip"]
"""What came of something, as a shape."""


@cache
def page_file(name: str) -> str:
    """The text of a file of the page."""
    # A browser reads every line break as \n before it computes a hash, and so do we.
    return (
        files("calipers.views.html").joinpath("page", name).read_text(encoding="utf-8").replace("\r\n", "\n")
    )


def style_sheet() -> str:
    """What the report looks like: what it shares with the viewer, then its own."""
    return page_file("looks.css") + page_file("report.css")


@cache
def shapes() -> dict[str, Any]:
    """The marks as elements, their words, and the measures of a drawn interval."""
    found: dict[str, Any] = json.loads(page_file("shapes.json"))
    return found


@cache
def words() -> dict[str, dict[str, str]]:
    """What slices and groups of failures are called, by the table."""
    found: dict[str, dict[str, str]] = json.loads(page_file("words.json"))
    return found
