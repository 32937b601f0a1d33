"""What is shown of a report. Like the evaluators, it knows nothing of plugins."""

from calipers import Report

from .evaluators import links_in


def source_list(report: Report) -> str:
    """All sources that the answers cite, with the cases that do."""
    cases: dict[str, list[str]] = {}
    for case in report.cases:
        for link in links_in(case.output):
            cases.setdefault(link, []).append(case.name)
    return "".join(f"- <{link}>: {', '.join(cases[link])}\n" for link in sorted(cases))
