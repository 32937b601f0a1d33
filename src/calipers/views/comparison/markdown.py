"""Comparisons as Markdown for a pull request or a job summary, within the 65,536 characters that GitHub allows.

Names of cases, evaluators and runs stand in code spans, where they mean nothing to Markdown. Intervals are drawn with
characters: readers of Markdown that show comments drop SVG.
"""

from collections.abc import Iterator, Sequence

from calipers.comparison.change import Change
from calipers.comparison.comparison import Comparison, check_comparisons, ranks
from calipers.stats.number_text import confidence_text, percent, plural
from calipers.views.markdown import LIMIT, code, code_block
from calipers.views.text import fit

from . import statement as say
from .span_plot import spans, text_plot
from .trace_words import flip_lines

_NAME, _NOTE, _GAVE = 80, 400, 120
"""Cells of a name, of a note, and of what an attempt gave."""
_ROWS = 60
"""Evaluators, and changed cases, that are listed for one candidate."""
_WIDTH = 31
"""Cells of a drawn interval."""


def comparisons_markdown(
    comparisons: Sequence[Comparison], *, max_flips: int | None = 20, limit: int = LIMIT
) -> str:
    """The comparisons as Markdown.

    Args:
        comparisons: from `compare_many`, or `[compare_reports(...)]`.
        max_flips: cases that flipped to list for each; `None` for all that fit.
        limit: characters it may have; whole lines are left out from the end, and the last line says so.
    """
    check_comparisons(comparisons)
    say.check_max_flips(max_flips)
    lines = [line for comparison in comparisons for line in _sections(comparison, max_flips)]
    if len(comparisons) > 1:
        table = _table("Pass rates", say.headlines(comparisons), comparisons[0].confidence)
        lines[:0] = [*_ranks(comparisons), *table]
    whole = "\n".join(lines).rstrip("\n") + "\n"
    if len(whole) <= limit:
        return whole
    end = "\n\n*The rest did not fit: `calipers compare` shows all of it.*\n"
    return whole[: limit - len(end)].rpartition("\n\n")[0] + end


def _ranks(comparisons: Sequence[Comparison]) -> Iterator[str]:
    if found := ranks(comparisons):
        yield "| Rank | Run |"
        yield "|---:|---|"
        for rank in found:
            yield f"| {rank.text} | {_code(rank.label, table=True)} |"
        yield ""


def _sections(comparison: Comparison, max_flips: int | None) -> Iterator[str]:
    yield f"## {_code(comparison.candidate.label)} against {_code(comparison.baseline.label)}"
    yield ""
    first, *others = say.lead(comparison, show=_code)
    yield f"**{say.LEAD_MARKS[comparison.conclusion.outcome][0]} {first}**"
    for line in others:
        yield ""
        yield line
    yield ""
    if comparison.pass_rate is not None and (p_values := say.p_values_text(comparison.pass_rate)):
        yield f"<sub>{p_values.replace('<', '&lt;')}</sub>"
        yield ""
    yield " · ".join(code(fit(fact, _NOTE)) for fact in say.summary_lines(comparison))
    yield ""
    for warning in _warnings(comparison):
        yield f"> **Note:** {code(fit(warning, _NOTE))}"
        yield ">"
    yield ""
    yield from _flips(comparison, max_flips)
    yield from _table("Evaluator", comparison.evaluators, comparison.confidence)
    yield from _table("Tag", comparison.slices, comparison.confidence)
    yield from _labels(comparison)
    yield from _table("Measure", comparison.measures, comparison.confidence)
    yield from _plots([*comparison.evaluators, *comparison.measures])
    yield f"<sub>{say.footnote(comparison)}</sub>"
    yield ""
    if (times := say.times_note(comparison, show=_code)) is not None:
        yield f"<sub>{times}</sub>"
        yield ""


def _warnings(comparison: Comparison) -> Iterator[str]:
    yield from say.notes(comparison)
    for cases in say.differing_cases(comparison):
        yield from (f"{name}: {differs}" for name, differs in cases[:_ROWS])


def _table(header: str, changes: Sequence[Change], confidence: float) -> Iterator[str]:
    if not changes:
        return
    yield f"| {header} | baseline | candidate | difference | {confidence_text(confidence)} interval | p | adjusted | in words |"
    yield "|---|---:|---:|---:|---|---:|---:|---|"
    for change in changes[:_ROWS]:
        value, ends = say.difference_text(change)
        cells = [
            _code(change.name, table=True),
            say.value_text(change, change.baseline),
            say.value_text(change, change.candidate),
            value,
            ends,
            say.p_text(change.p_value).replace("<", "&lt;"),
            say.p_text(change.adjusted_p).replace("<", "&lt;"),
            f"{say.MARKS[change.outcome][0]} {say.sentence(change)}",
        ]
        yield f"| {' | '.join(cells)} |"
    if len(changes) > _ROWS:
        yield ""
        yield f"… and {len(changes) - _ROWS:,} more"
    yield ""
    for change in changes[:_ROWS]:
        for extra in (change.warning, say.lost_text(change)):
            if extra:
                yield f"- {_code(change.name)}: {code(fit(extra, _NOTE))}"
    yield ""


def _plots(changes: Sequence[Change]) -> Iterator[str]:
    """The intervals as text, in a block that keeps its columns."""
    if not changes:
        return
    width = max(len(fit(change.name, 40)) for change in changes[:_ROWS])
    title = " " * width + "  " + "worse".ljust(_WIDTH // 2) + " " + "better".rjust(_WIDTH // 2)
    drawn = [
        f"{fit(change.name, 40):{width}}  {text_plot(span, _WIDTH)}"
        for change, span in zip(changes[:_ROWS], spans(changes[:_ROWS]), strict=True)
        if span is not None
    ]
    if not drawn:
        return
    yield from code_block([title, *drawn])
    yield ""


def _labels(comparison: Comparison) -> Iterator[str]:
    for change in comparison.labels[:_ROWS]:
        yield f"{_code(change.name)}: {say.label_text(change)}"
        yield ""
        yield "| baseline | candidate | cases |"
        yield "|---|---|---:|"
        for move in change.moves[:_ROWS]:
            yield f"| {_code(move.baseline, table=True)} | {_code(move.candidate, table=True)} | {move.cases:,} |"
        yield ""
        if change.warning:
            yield f"- {_code(change.name)}: {code(fit(change.warning, _NOTE))}"
            yield ""


def _flips(comparison: Comparison, most: int | None) -> Iterator[str]:
    flips = comparison.flips
    if not flips:
        return
    shown = flips if most is None else flips[:most]
    yield "<details>"
    yield f"<summary>Flipped: {say.flip_counts(flips)}</summary>"
    yield ""
    if shown:
        yield "| case | | passed | by luck | evaluators | before | now | why | trace |"
        yield "|---|---|---|---:|---|---|---|---|---|"
        for flip, lines in zip(shown, flip_lines(shown), strict=True):
            cells = [
                _code(flip.case, table=True),
                flip.way,
                say.flip_text(flip),
                percent(flip.noise) if flip.basis == "attempts" else "",
                _code(say.named(flip.evaluators), table=True) if flip.evaluators else "",
                *(
                    "<br>".join(code(fit(said, _GAVE), table=True) for each, said in lines if each == word)
                    for word in ("before", "now", "why", "trace")
                ),
            ]
            yield f"| {' | '.join(cells)} |"
        yield ""
    if len(shown) < len(flips):
        yield f"… and {plural(len(flips) - len(shown), 'more case')}"
        yield ""
    for note in say.flip_notes(comparison):
        yield note
        yield ""
    yield "</details>"
    yield ""


def _code(text: str, *, table: bool = False) -> str:
    return code(fit(text, _NAME), table=table)
