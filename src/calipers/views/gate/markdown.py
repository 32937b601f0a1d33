"""A verdict as Markdown for a pull request or a job summary.

All text that others wrote, names of evaluators and runs among it, stands in code spans, where it means nothing to Markdown.
"""

from collections.abc import Iterator
from typing import Final

from calipers.gate.verdict import Finding, Outcome, Verdict
from calipers.views.markdown import LIMIT, code
from calipers.views.text import fit

from .terminal import facts_of

_MARKS: Final[dict[Outcome, str]] = {"PASS": "✅", "FAIL": "❌", "INCONCLUSIVE": "❔"}
_NEXT: Final[dict[Outcome, str]] = {
    "PASS": "Every rule passed.",
    "FAIL": "At least one rule failed.",
    "INCONCLUSIVE": "Nothing failed, and not everything could be decided: this is no pass.",
}
_NAME, _TEXT = 80, 400
"""Cells of a name, and of a sentence."""


def verdict_markdown(verdict: Verdict, *, limit: int = LIMIT) -> str:
    """The verdict as Markdown.

    Args:
        verdict: from `judge_run`.
        limit: characters it may have; rules are left out from the end, and the last line says how many.
    """
    top = "\n".join(_top(verdict)) + "\n"
    rows = [_row(finding) for finding in sorted(verdict.findings, key=_gravity)]
    notes = "".join(f"\n- {code(fit(note, _TEXT))}" for note in verdict.notes)
    bottom = f"\n{notes}\n" if notes else ""
    room = limit - len(top) - len(bottom) - 100
    kept: list[str] = []
    for row in rows:
        room -= len(row) + 1
        if room < 0:
            break
        kept.append(row)
    left = len(rows) - len(kept)
    more = f"\n*{left:,} more rules did not fit.*\n" if left else ""
    return top + "\n".join(kept) + "\n" + more + bottom


def _gravity(finding: Finding) -> int:
    return ("FAIL", "INCONCLUSIVE", "PASS").index(finding.outcome)


def _top(verdict: Verdict) -> Iterator[str]:
    against = "" if verdict.baseline is None else f" against {code(fit(verdict.baseline, _NAME))}"
    yield f"## {_MARKS[verdict.outcome]} {verdict.outcome}: {code(fit(verdict.run, _NAME))}{against}"
    yield ""
    yield f"**{_NEXT[verdict.outcome]}** {' · '.join(facts_of(verdict))}"
    yield ""
    yield "| | what | rule | found | next |"
    yield "|---|---|---|---|---|"


def _row(finding: Finding) -> str:
    cells = [
        f"{_MARKS[finding.outcome]} {finding.outcome}",
        code(fit(finding.subject, _NAME), table=True),
        _cell(finding.rule),
        _cell(finding.said),
        _cell(finding.advice or ""),
    ]
    return f"| {' | '.join(cells)} |"


def _cell(text: str) -> str:
    """A sentence; as code where it holds anything that Markdown could take for its own."""
    shown = fit(text, _TEXT)
    plain = all(character.isalnum() or character in " .,;:%+-()'/" for character in shown)
    return shown if plain else code(shown, table=True)
