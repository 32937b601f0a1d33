"""A plugin for Calipers: evaluators of the sources that an answer cites, and a view that lists them."""

from .evaluators import CitesSources, cites_only
from .plugin import CitationsPlugin
from .view import source_list

__all__ = ["CitationsPlugin", "CitesSources", "cites_only", "source_list"]
