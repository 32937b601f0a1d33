"""A claim about a whole report."""

from typing import Any


async def run_report_evaluators(report: Any, evaluators: Any, plan: Any) -> None:
    """Run them."""
