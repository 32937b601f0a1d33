"""A plugin for Calipers: evaluators of the sources that an answer cites."""

from .evaluators import CitesSources, cites_only
from .plugin import CitationsPlugin

__all__ = ["CitationsPlugin", "CitesSources", "cites_only"]
