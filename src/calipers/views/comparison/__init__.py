"""Ways to show a comparison: in words, in the terminal, as Markdown, HTML and JSON."""

from calipers.process.lazy_exports import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__, globals())
