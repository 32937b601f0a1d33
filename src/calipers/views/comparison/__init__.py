"""Ways to show a comparison: in words, in the terminal, as Markdown, HTML and JSON."""

from typing import TYPE_CHECKING

from calipers.late import late_names

if TYPE_CHECKING:
    from .files import write_comparisons
    from .html import comparisons_html
    from .json_file import comparisons_json
    from .markdown import comparisons_markdown
    from .terminal import comparisons_text, print_comparisons
    from .words import sentence

_HOMES = {
    "comparisons_html": ".html",
    "comparisons_json": ".json_file",
    "comparisons_markdown": ".markdown",
    "comparisons_text": ".terminal",
    "print_comparisons": ".terminal",
    "sentence": ".words",
    "write_comparisons": ".files",
}

__all__ = [
    "comparisons_html",
    "comparisons_json",
    "comparisons_markdown",
    "comparisons_text",
    "print_comparisons",
    "sentence",
    "write_comparisons",
]


if not TYPE_CHECKING:
    __getattr__, __dir__ = late_names(__name__, _HOMES, globals())
