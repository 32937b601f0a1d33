"""What is offered to Calipers."""

from collections.abc import Callable

from calipers import Report
from calipers.plugins import EvaluatorPlugin, ViewPlugin

from .evaluators import CitesSources, cites_only
from .view import source_list


class CitationsPlugin(EvaluatorPlugin, ViewPlugin):
    """Does an answer cite its sources?"""

    name = "citations"
    requires_calipers = ">=0.1,<1"
    # Dataset files call each of these by its own name, with parameters.
    evaluator_types = (CitesSources, cites_only)

    def create_evaluator(self, minimum: int = 1) -> CitesSources:
        """What `PluginManager.get_evaluators` gives, and what files call by the name of the plugin."""
        return CitesSources(minimum)

    def create_view(self) -> Callable[[Report], str]:
        """What `calipers run --out citations:PATH` writes."""
        return source_list
