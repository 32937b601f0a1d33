"""`Cascade`: cheap checks first, a judge where they do not decide, and an expensive judge on a random part of the rest.

For each attempt:

1. The *cheap* checks are asked, and earlier results of the attempt are looked at (`after`). By default an attempt that fails one of them has failed;
   `decides` says whether a pass decides, too. A check that does not apply decides nothing.
2. Where none decides, the *judge* is asked. Without one, an attempt that passed all checks has passed.
3. The *expensive* judge is asked about a random part: of the attempts that the judge judged, the `share`; of those that the checks decided, the share
   `audit`. Where it was asked, its word counts.

The draw is made by the content of the case, the repeat and `seed`, before anyone has judged: the same attempt is drawn in every run with that seed, so that runs can be
compared on the same part, and a run that is resumed goes on with the same draw.

**What the expensive judge would have said of everything.** The share of attempts that pass is a mixture of three judges, and says what none of them says. Each result keeps what
the cheaper judges said, and the probability with which the attempt was drawn; from these the report has the unbiased estimate (`calipers.stats.two_phase_mean`)
with its interval. Attempts that the checks decided and that could never be drawn (`audit=0`) are taken at the checks' word, and the report says how many.

Every part gives one pass or fail. A part that fails is a failure of the whole: there is no verdict. Where the judge is needed and does not apply, the
whole is skipped; an expensive judge that was drawn has to apply.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Literal, NamedTuple, TypeAlias, get_args

import msgspec

from calipers.comparison.case_pairs import case_content
from calipers.data.argument_checks import check_choice, check_share, check_texts, check_whole_number
from calipers.data.context import EvaluatorContext
from calipers.data.evaluator import Evaluator, EvaluatorLike, make_ready
from calipers.data.evaluator_output import EvaluatorOutput, Judgement, read_parts
from calipers.data.evaluator_styles import as_evaluator, checked_evaluators
from calipers.data.result import EvaluationReason, Skipped
from calipers.errors import InvalidOptionError, InvalidOutputError
from calipers.identity.fingerprint import raw_digest
from calipers.report.analysis import Cell, TableResult
from calipers.report.report import Report
from calipers.stats import Estimate, two_phase_mean
from calipers.stats.number_text import plural

from .jury import VOTE
from .pairwise import COLUMNS, estimate_row

Decides: TypeAlias = Literal["fail", "pass", "both"]
"""Which answer of a cheap check decides."""
Stage: TypeAlias = Literal["cheap", "judge", "expensive"]
"""Whose word counts."""

CASCADE: Final = "cascade"
"""The key of what the stages said, in the metadata of a result."""
_FEW: Final = 10
"""Attempts below which an estimate is rough."""
_ALL_PASSED: Final = "all cheap checks passed, and there is no judge"


class _Said(NamedTuple):
    passed: bool
    reason: str


class _Steps(msgspec.Struct, frozen=True):
    """What the stages said of one attempt, as a result keeps it."""

    stage: Stage
    """Whose word counts."""
    cheaper: bool
    """What the checks or the judge say."""
    expensive: bool | None
    """What the expensive judge says; `None` if it was not asked."""
    probability: float
    """With which it was to be asked; 0: it could not be."""


@dataclass
class Cascade(Evaluator):
    """Cheap checks, a judge and an expensive judge, each asked only where it is needed: pass or fail."""

    cheap: Sequence[EvaluatorLike] = ()
    """Checks that cost nothing; each gives one pass or fail."""
    judge: EvaluatorLike | None = field(default=None, kw_only=True)
    """Asked where the checks do not decide; `None`: what passed them has passed."""
    expensive: EvaluatorLike | None = field(default=None, kw_only=True)
    """Asked about a random part; `None`: never."""
    share: float = field(default=0.1, kw_only=True)
    """The share of the attempts that the checks did not decide that the expensive judge sees, above 0."""
    audit: float = field(default=0.0, kw_only=True)
    """The share of the attempts that the checks decided that it sees; 0: those are taken at the checks' word."""
    after: Sequence[str] = field(default=(), kw_only=True)
    """Names of results that earlier evaluators of the attempt gave: they count as cheap checks that are not asked again."""
    decides: Decides = field(default="fail", kw_only=True)
    """Which answer of a check decides: its failure, its pass, or both."""
    seed: int = field(default=0, kw_only=True)
    """Draws the random part; another seed draws another."""
    evaluation_name: str | None = field(default=None, kw_only=True)
    """What the result is called; `None` for the class's name."""

    is_judge: ClassVar = True

    def __post_init__(self) -> None:
        checked_evaluators(self.cheap)
        check_texts("after", self.after)
        check_share("share", self.share, or_zero=False)
        check_share("audit", self.audit)
        check_choice("decides", self.decides, get_args(Decides))
        check_whole_number("seed", self.seed)
        for part in self._parts():
            as_evaluator(part)
        if self.judge is None and self.expensive is None:
            raise InvalidOptionError(
                "a Cascade needs a judge or an expensive judge: cheap checks alone are evaluators"
            )
        if not (self.cheap or self.after or self.judge is not None):
            raise InvalidOptionError("a Cascade needs cheap checks or a judge before the expensive one")

    def get_evaluator_version(self) -> str | None:
        """The versions of its parts."""
        found = [as_evaluator(part) for part in self._parts()]
        told = [(each.get_default_evaluation_name(), each.get_evaluator_version()) for each in found]
        return "; ".join(f"{name}: {version}" for name, version in told if version is not None) or None

    async def before_run(self) -> None:
        """See that every part can be asked."""
        for part in self._parts():
            await make_ready(part)

    async def evaluate(self, ctx: EvaluatorContext) -> EvaluatorOutput:
        """Pass or fail, by the last stage that was asked."""
        decided = await self._decided(ctx)
        stage: Stage = "cheap"
        said = decided
        if said is None and self.judge is not None:
            stage, found = "judge", await _asked(self.judge, ctx)
            if isinstance(found, Skipped):
                return found
            said = found
        if said is None:
            said = _Said(passed=True, reason=_ALL_PASSED)
        cheaper = said
        probability = 0.0 if self.expensive is None else self.audit if decided is not None else self.share
        asked = self.expensive is not None and self._draw(ctx) < probability
        if asked:
            assert self.expensive is not None
            stage, found = "expensive", await _asked(self.expensive, ctx)
            if isinstance(found, Skipped):  # to leave it out would be to choose what is estimated
                raise InvalidOutputError(
                    f"the expensive judge was to decide, and does not apply: {found.reason:.300}"
                )
            said = found
        steps = _Steps(stage, cheaper.passed, said.passed if asked else None, probability)
        told = {"cheap": "by a check", "judge": "by the judge", "expensive": "by the expensive judge"}[stage]
        reason = f"{told}: {said.reason}" if said.reason else told
        return EvaluationReason(said.passed, reason, {CASCADE: msgspec.to_builtins(steps)})

    async def _decided(self, ctx: EvaluatorContext) -> _Said | None:
        """What the checks say; `None` if they do not decide."""
        wanted = {"fail": (False,), "pass": (True,), "both": (False, True)}[self.decides]
        if self.after:
            earlier = ctx.results
            for name in self.after:
                value = earlier[name].value if name in earlier else None
                if isinstance(value, bool) and value in wanted:
                    return _Said(value, f"{name}: {earlier[name].reason}" if earlier[name].reason else name)
        for part in self.cheap:
            check = as_evaluator(part)
            found = _decision(read_parts(await check.evaluate_async(ctx)), check)
            if found is not None and found.passed in wanted:
                name = check.get_default_evaluation_name()
                return found._replace(reason=f"{name}: {found.reason}" if found.reason else name)
        return None

    def _draw(self, ctx: EvaluatorContext) -> float:
        """A number from 0 to 1, by the case, the repeat and the seed."""
        content, has_content = case_content(ctx)
        known = b"".join(content) if has_content else (ctx.name or "").encode()
        made = raw_digest(b"%d %d " % (self.seed, ctx.repeat_index or 0) + known)
        return int.from_bytes(made[:7], "big") / 2**56

    def _parts(self) -> list[EvaluatorLike]:
        return [*self.cheap, *(part for part in (self.judge, self.expensive) if part is not None)]

    def analyse_report(self, report: Report, name: str) -> TableResult | None:
        """What the expensive judge would have said of everything, with its interval; `None` if nothing was judged."""
        steps: list[_Steps] = []
        clusters: list[str] = []
        for case in report.cases:
            for result in case.results:
                if result.evaluator == name and result.metadata and CASCADE in result.metadata:
                    steps.append(msgspec.convert(result.metadata[CASCADE], _Steps))
                    clusters.append(case.cluster or case.source_case_name or case.name)
        if not steps:
            return None
        failed = sum(failure.name == name for case in report.cases for failure in case.evaluator_failures)
        return _table(name, steps, clusters, failed, estimated=self.expensive is not None)


async def _asked(part: EvaluatorLike, ctx: EvaluatorContext) -> _Said | Skipped:
    """What a judge says, or that it does not apply.

    Raises:
        InvalidOutputError: it gives no one pass or fail.
    """
    judge = as_evaluator(part)
    found = read_parts(await judge.evaluate_async(ctx))
    return _decision(found, judge) or Skipped("; ".join(each.reason or "" for each in found))


def _decision(parts: Sequence[Any], part: Evaluator) -> _Said | None:
    """The one pass or fail that a part gives, a jury's vote; `None` if it does not apply.

    Raises:
        InvalidOutputError: there is no such result, or there are several.
    """
    values = [each for each in parts if isinstance(each, Judgement)]
    if not values:
        return None
    found = [each for each in values if isinstance(each.value, bool)]
    votes = [each for each in found if each.key == VOTE]
    chosen = votes if len(votes) == 1 else found
    if len(chosen) != 1:
        told = ", ".join(repr(each.value) for each in values)
        raise InvalidOutputError(
            f"each part of a Cascade gives one pass or fail, got {told:.200} from {part.get_default_evaluation_name()}"
        )
    return _Said(bool(chosen[0].value), chosen[0].reason or "")


def _table(
    name: str, steps: Sequence[_Steps], clusters: Sequence[str], failed: int, *, estimated: bool
) -> TableResult:
    """What the cheaper judges say, what the expensive one would, and who decided how often."""
    found = two_phase_mean(
        [float(each.cheaper) for each in steps],
        # What could never be drawn is taken at the word of the cheaper judges.
        [each.cheaper if each.probability == 0 else each.expensive for each in steps],
        [each.probability or 1.0 for each in steps],
        clusters=clusters,
    )
    counts = Counter(each.stage for each in steps)
    rows: list[list[Cell]] = []
    if found is not None:
        rows.append(estimate_row("cheap checks and judge alone", found.cheap, plural(found.n, "attempt")))
    if found is not None and estimated:
        whole = Estimate(found.value, found.interval, found.n, found.n)
        on = f"it saw {counts['expensive']:,} of {found.n:,}"
        rows.append(estimate_row("expensive judge, of everything", whole, on))
    by = f"{counts['cheap']:,} by checks, {counts['judge']:,} by the judge, {counts['expensive']:,} by the expensive judge"
    rows.append(["decided", None, None, None, by])
    told = _of_the_draw(steps, counts["expensive"], known=found is not None) if estimated else []
    if failed:
        told.append(f"left out: {plural(failed, 'attempt')} without a verdict, since a part failed")
    return TableResult(title=name, note="; ".join(told) or None, columns=COLUMNS, rows=rows)


def _of_the_draw(steps: Sequence[_Steps], asked: int, *, known: bool) -> list[str]:
    """What a reader of the estimate must know."""
    if not known:
        return [
            "no attempt was drawn for the expensive judge, so nothing is known of what it would say: raise share"
        ]
    told = []
    trusted = sum(each.probability == 0 for each in steps)
    if trusted:
        told.append(
            f"{plural(trusted, 'attempt')} that the checks decided could not be drawn and are taken at their word: audit=0.1 lets the "
            "expensive judge see a tenth of them"
        )
    if asked < _FEW:
        told.append(f"the interval is rough, since the expensive judge saw {plural(asked, 'attempt')}")
    return told
