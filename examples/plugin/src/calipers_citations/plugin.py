"""What is offered to Calipers."""

from calipers.plugins import EvaluatorPlugin

from .evaluators import CitesSources, cites_only


class CitationsPlugin(EvaluatorPlugin):
    """Does an answer cite its sources?"""

    name = "citations"
    requires_calipers = ">=0.1,<1"
    # Dataset files call each of these by its own name, with parameters.
    evaluator_types = (CitesSources, cites_only)

    def create_evaluator(self, minimum: int = 1) -> CitesSources:
        """What `PluginManager.get_evaluators` gives, and what files call by the name of the plugin."""
        return CitesSources(minimum)
