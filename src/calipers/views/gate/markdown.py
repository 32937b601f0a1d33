"""A verdict as Markdown for a pull request or a job summary.

All text that others wrote, names of evaluators and runs among it, stands in code spans, where it means nothing to Markdown.
Intervals are drawn with characters, since GitHub takes SVG out of comments and summaries.
"""

from collections.abc import Iterator
from typing import Final

from calipers.gate.verdict import Finding, Outcome, Verdict
from calipers.views.comparison.span_plot import text_plot
from calipers.views.markdown import LIMIT, code, code_block
from calipers.views.text import fit

from .statement import MEETS, MISSES, NEXT, WIDTH, by_gravity, facts_of, span_of

MARKS: Final[dict[Outcome, str]] = {"PASS": "✅", "FAIL": "❌", "WORSE": "🔻", "INCONCLUSIVE": "❔"}
"""For each outcome a mark."""
_NAME, _TEXT, _LABEL = 80, 400, 60
"""Cells of a name, of a sentence, and of what stands beside a drawn interval."""
_DRAWN = 40
"""Rules that are drawn."""


def verdict_markdown(verdict: Verdict, *, limit: int = LIMIT) -> str:
    """The verdict as Markdown.

    Args:
        verdict: from `judge_run`.
        limit: characters it may have; rules are left out from the end, and the last line says how many.
    """
    top = "\n".join(_top(verdict)) + "\n"
    rows = [_row(finding) for finding in by_gravity(verdict)]
    notes = "".join(f"\n- {code(fit(note, _TEXT))}" for note in verdict.notes)
    bottom = "".join(f"{line}\n" for line in _plots(verdict)) + (f"\n{notes}\n" if notes else "")
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


def _plots(verdict: Verdict) -> Iterator[str]:
    """The intervals that decide, in a block that keeps its columns."""
    from rich.cells import cell_len

    drawn = [
        (MARKS[finding.outcome], fit(f"{finding.subject}: {finding.rule}", _LABEL), text_plot(span, WIDTH))
        for finding in by_gravity(verdict)
        if (span := span_of(finding)) is not None
    ]
    if not drawn:
        return
    width = max(cell_len(label) for _, label, _ in drawn[:_DRAWN])
    half = WIDTH // 2
    yield ""
    yield from code_block(
        [
            f"   {' ' * width}  {MISSES:{half}} {MEETS:>{half}}",
            *(
                f"{mark} {label}{' ' * (width - cell_len(label))}  {plot}".rstrip()
                for mark, label, plot in drawn[:_DRAWN]
            ),
        ]
    )


def _top(verdict: Verdict) -> Iterator[str]:
    against = "" if verdict.baseline is None else f" against {code(fit(verdict.baseline, _NAME))}"
    yield f"## {MARKS[verdict.outcome]} {verdict.outcome}: {code(fit(verdict.run, _NAME))}{against}"
    yield ""
    yield f"**{NEXT[verdict.outcome]}** {' · '.join(facts_of(verdict))}"
    yield ""
    yield "| | what | rule | found | next |"
    yield "|---|---|---|---|---|"


def _row(finding: Finding) -> str:
    cells = [
        f"{MARKS[finding.outcome]} {finding.outcome}",
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
