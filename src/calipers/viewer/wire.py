"""What the viewer's server tells the browser: every answer of its API, as data.

One struct is one answer or a part of one. The TypeScript types of the page are made of these (`tools/viewer_types.py`), so both sides mean
the same. Structs of other modules, such as `Estimate` or `Comparison`, travel as they are.

`None` says "not known" or "not there", never 0. Text of others travels as it is: the page shows it as text, never as markup.
Addresses: all calls start with `/api/v1`. The docstring of each answer names its call.
"""

from typing import Any, Literal, TypeAlias

import msgspec

from calipers.comparison.flips import FlippedAssertion
from calipers.report.passport import Standing
from calipers.stats.estimate import Estimate
from calipers.stats.interval import Interval
from calipers.views.line import Tone

Mark: TypeAlias = Literal["pass", "partial", "fail", "error", "skip"]
"""What came of something, as a shape: an attempt or a result that passed, partly passed, failed, did not finish, or was not judged."""
RunState: TypeAlias = Literal["running", "finished", "interrupted", "failed", "abandoned"]


class _Wire(msgspec.Struct, frozen=True):
    """A part of an answer."""


class Problem(_Wire, kw_only=True, frozen=True):
    """Why a call was refused: the body of every answer of status 400 or more, as `{"error": …}`."""

    code: str
    """For programs: `not_found`, `bad_filter`, `forbidden`, `gone`, `conflict`, `read_only`, `busy`, `store`."""
    message: str
    """For people: what happened, and what to do."""
    at: int | None = None
    """Where in a filter, in characters from 0."""
    etag: str | None = None
    """Of a conflict: what is there now, to be sent to write over it."""


class ProblemAnswer(_Wire, kw_only=True, frozen=True):
    """The answer to a call that was refused."""

    error: Problem


# ---------------------------------------------------------------------- text and numbers


class WirePart(_Wire, kw_only=True, frozen=True):
    """Part of a sentence."""

    text: str
    tone: Tone = "plain"


WireLine: TypeAlias = list[WirePart]


class Money(_Wire, kw_only=True, frozen=True):
    """US dollars, as far as they are known."""

    dollars: float
    at_least: bool = False
    """Whether some calls have no known price."""
    text: str
    """`$1.20`, `at least $0.31`."""


class ShownValue(_Wire, kw_only=True, frozen=True):
    """A value of a case: an input, an output, an expectation.

    A string is `text`. Anything else is JSON text made on the server, since a browser would change large numbers. What is longer than 64 kB
    is cut, and `href` has the whole.
    """

    kind: Literal["text", "json", "missing"]
    text: str = ""
    length: int = 0
    """Of the whole, in characters."""
    href: str | None = None
    """Where the whole can be downloaded; `None` if `text` is the whole."""
    talk: "Talk | None" = None
    """The value as a conversation, if it is a list of messages."""


# ---------------------------------------------------------------------- the session


class SessionAnswer(_Wire, kw_only=True, frozen=True):
    """`GET /session`: what this server serves, and to whom."""

    version: str
    """Of Calipers."""
    store: str
    """Where the runs are, without a password."""
    read_only: bool
    csrf: str
    """To be sent with every write, as the header `x-calipers-csrf`."""
    person: str | None
    """Who labels, unless the page says otherwise; the login name, if it is known."""
    runs: int
    has_embeddings: bool
    """Whether outputs can be grouped by what they mean."""


# ---------------------------------------------------------------------- runs


class GateState(_Wire, kw_only=True, frozen=True):
    """What a gate made of a run, or makes of it so far."""

    policy: str
    outcome: str
    """`PASS`, `FAIL`, `WORSE`, `INCONCLUSIVE`, or `undecided` while the run may still change it."""
    decided: bool


class RunRow(_Wire, kw_only=True, frozen=True):
    """A run in a list."""

    id: str
    name: str
    dataset: str | None = None
    state: RunState
    started_at: str
    """ISO 8601, UTC; "" if it is not known."""
    ended_at: str | None = None
    seconds: float | None = None
    """How long it took, or has taken."""
    attempts: int
    total: int | None = None
    """Attempts to make; `None` if that is not known."""
    cases: int | None = None
    """`None` until the run was counted."""
    failures: int
    """Attempts whose task did not finish."""
    repeat: int = 1
    rate: Estimate | None = None
    """The share of cases that passed; `None` if nothing was asserted or it was not counted yet."""
    cost: Money | None = None
    """Of the agent and its judges."""
    task: str | None = None
    task_version: str | None = None
    commit: str | None = None
    dirty: bool = False
    """Whether files differed from the commit."""
    evaluators: list[str]
    seed: int | None = None
    gate: GateState | None = None
    incomplete: str | None = None
    """Why it is not the whole run."""
    shard: str | None = None
    """Which part of a run it is, as in `2/8`; `None`: it is no part of one."""
    damaged: str | None = None
    """Why it cannot be read."""


class RunsAnswer(_Wire, kw_only=True, frozen=True):
    """`GET /runs?q=&sort=&after=&limit=`: runs, the newest first unless `sort` says otherwise (`-rate`, `cost`, `started_at`, …).

    `q` is a filter of runs: bare words search names, `name:`, `dataset:`, `state:`, `commit:`, `rate>0.9`, `cost>1`, `time>2026-11-01`.
    """

    rows: list[RunRow]
    next: str | None
    """What to send as `after` for the next page; `None`: this was the last."""
    total: int
    """Runs that meet the filter."""
    datasets: list[str]
    """All datasets of the store."""


class TrendPoint(_Wire, kw_only=True, frozen=True):
    """A run in the trend of a dataset."""

    run: str
    name: str
    started_at: str
    state: RunState
    commit: str | None = None
    dirty: bool = False
    task_version: str | None = None
    estimate: Estimate | None
    """`None` if the run did not measure it."""
    cost: Money | None = None
    break_before: list[str] = []
    """Why this point and the one before it cannot be compared: in words, such as `other cases`, `the evaluator Correct changed`."""


class TrendAnswer(_Wire, kw_only=True, frozen=True):
    """`GET /trend?dataset=&evaluator=`: the pass rate, or an evaluator's mean, over the runs of a dataset, the oldest first."""

    dataset: str
    evaluator: str | None
    evaluators: list[str]
    """That could be asked for."""
    is_rate: bool
    points: list[TrendPoint]


class Cell(_Wire, kw_only=True, frozen=True):
    """A cell of a drawn table."""

    text: str
    tone: Tone = "plain"
    estimate: Estimate | None = None
    """Where it is a rate or a mean: for the drawing of its interval."""
    is_rate: bool = False
    range: tuple[float, float] | None = None
    """The smallest and the largest value that a mean could have; `None` if that is not known."""
    spoken: str = ""
    """The same for a screen reader: `81.4 %, 95 % interval 78.9 to 83.7, 1,000 cases`."""


class Column(_Wire, kw_only=True, frozen=True):
    """A column of a drawn table."""

    title: str
    kind: Literal["name", "text", "result", "count"]


class DrawnTable(_Wire, kw_only=True, frozen=True):
    """A table as the report says it: every view has the same columns."""

    columns: list[Column]
    rows: list[list[Cell]]
    note: str | None = None


class Headline(_Wire, kw_only=True, frozen=True):
    """The pass rate of a run, in words and as a number."""

    what: str
    """`Passed 37 of 40 cases`."""
    estimate: Estimate
    text: str
    """`92.5 %  [80.1, 97.4]`."""
    how: str
    """`95 % Wilson interval`."""
    tone: Literal["good", "mixed", "bad"]
    readings: list[list[str]] = []
    """Further readings, such as pass@5: name, number, meaning."""


class IndexState(_Wire, kw_only=True, frozen=True):
    """How far the attempts of a run have been read, so that they can be filtered, sorted and counted."""

    state: Literal["ready", "reading", "live"]
    """`live`: all that is stored has been read, and the run goes on."""
    read: int
    """Attempts read."""
    of: int
    """Attempts stored."""


class Chart(_Wire, kw_only=True, frozen=True):
    """What a report evaluator found, to be drawn."""

    title: str
    description: str | None = None
    note: str | None = None
    kind: Literal["scalar", "table", "matrix", "lines", "tree", "facts"]
    facts: list[str] = []
    table: DrawnTable | None = None
    """Of a table; behind a button, the points of a drawing."""
    labels: list[str] = []
    """Of the rows and columns of a matrix."""
    matrix: list[list[int]] = []
    unanswered: list[int] = []
    """Of a matrix, for each expected label how often none was predicted; empty if that never happened."""
    x_label: str = ""
    y_label: str = ""
    is_rate: bool = False
    """Whether y is a share from 0 to 1, to be shown in percent."""
    x_is_rate: bool = False
    """Whether x is one, too."""
    diagonal: bool = False
    """Whether the line of equal x and y is drawn beside, as what chance, or what was predicted, would give."""
    lines: list["ChartLine"] = []
    nodes: list["TreeTurn"] = []


class ChartLine(_Wire, kw_only=True, frozen=True):
    """A line of a chart."""

    name: str
    x: list[float]
    y: list[float]
    low: list[float | None] = []
    high: list[float | None] = []
    stepped: bool = False


class TreeTurn(_Wire, kw_only=True, frozen=True):
    """A turn of a tree of conversations."""

    depth: int
    tone: Literal["good", "bad", "unknown"]
    label: str
    outcome: str
    text: str
    answer: str = ""


class RunAnswer(_Wire, kw_only=True, frozen=True):
    """`GET /runs/{run}`: what a run says as a whole. `{run}` may be an id, the beginning of one, a name or `latest`; the answer has the id."""

    run: RunRow
    revision: str
    """Changes with every write to the run: an answer for the same revision is the same."""
    facts: list[str]
    alerts: list[WireLine]
    headline: Headline | None
    no_headline: WireLine | None = None
    evaluators: DrawnTable
    slices: list[str]
    """Fields by which the run can be cut: `tag`, `cluster`, `meta.lang`, `label.tone`."""
    tags: DrawnTable | None = None
    notes: list[WireLine]
    measures: list[tuple[str, list[WireLine]]]
    charts: list[Chart]
    index: IndexState
    has_sound: bool = False
    faults: bool = False
    """Whether cases were tried under faults."""


# ---------------------------------------------------------------------- slices, facets, groups


class Slice(_Wire, kw_only=True, frozen=True):
    """The cases with one value of a field."""

    value: str
    """`(none)` is `is_missing`."""
    is_missing: bool = False
    cases: int
    estimate: Estimate | None
    """`None` if nothing in it was asserted."""
    difference: float | None = None
    """From the cases outside of it."""
    difference_interval: Interval | None = None
    adjusted_p: float | None = None
    """How likely so large a difference is by chance, with as many slices looked at (Holm)."""
    differs: bool = False
    """Whether that is below one in twenty."""
    filter: str
    """The term that finds them."""


class SlicesAnswer(_Wire, kw_only=True, frozen=True):
    """`GET /runs/{run}/slices?by=&evaluator=&q=`: the run cut by a field; those that certainly differ most come first."""

    by: str
    evaluator: str | None
    is_rate: bool
    slices: list[Slice]
    left_out: int
    """Values beyond the hundred with the most cases."""
    looked_at: int
    """Slices that the correction counts."""
    correction: str
    whole: Estimate | None
    timed_out: bool = False


class FacetValue(_Wire, kw_only=True, frozen=True):
    """A value of a field, and how many cases have it."""

    value: str
    cases: int
    filter: str


class FacetsAnswer(_Wire, kw_only=True, frozen=True):
    """`GET /runs/{run}/facets?q=&field=`: the values of a field among the cases that meet the filter, the most frequent first."""

    field: str
    values: list[FacetValue]
    left_out: int
    timed_out: bool


class FailureGroup(_Wire, kw_only=True, frozen=True):
    """Attempts that failed alike."""

    id: str
    evaluator: str | None
    """`None`: the task itself."""
    said: str
    """With `<…>` for what differs; of groups by meaning the beginning of an output."""
    mark: Literal["fail", "error"]
    cases: int
    share: float
    """Of the cases that did not pass."""
    example: str
    """The id of a case."""
    example_name: str
    filter: str
    """The term that finds them: `group:ID`, or the names of some cases; empty if these are too many."""
    concentrated: list[Slice] = []
    """Up to two slices that it hits far more often than the others."""


class GroupsAnswer(_Wire, kw_only=True, frozen=True):
    """`GET /runs/{run}/groups?q=&by=`: failures that are alike, the largest first.

    `by` is `said` or, where that is installed, `meaning`: then they are groups of outputs that mean nearly the same.
    """

    by: Literal["said", "meaning"]
    groups: list[FailureGroup]
    left_out: int
    ungrouped: int
    """Cases that did not pass and are in no group."""
    is_ready: bool = True
    """`False` while the groups are worked out: ask again."""
    looked_at: int | None = None
    """Of groups by meaning: the cases that were looked at,"""
    of: int | None = None
    """out of these, whose attempts finished and did not pass."""


# ---------------------------------------------------------------------- cases


class CaseRow(_Wire, kw_only=True, frozen=True):
    """A case of a run, its repeats folded in."""

    at: int
    """Its place in the filtered and sorted list, from 0."""
    id: str
    name: str
    marks: str
    """One character for each attempt: `p` passed, `f` failed, `e` did not finish, `u` was not judged."""
    mark: Mark
    """The worst of them."""
    why: str = ""
    """The first complaint, on one line."""
    input: str = ""
    output: str = ""
    expected: str | None = None
    seconds: float | None = None
    """Mean of its attempts."""
    cost: float | None = None
    tokens: int | None = None
    values: list[float | str | None]
    """For each column of `CasesAnswer.columns`: the share that held, the mean score, the label; `None`: no result."""
    tags: list[str] = []
    labelled: int = 0
    """Labels of people."""


class CaseColumn(_Wire, kw_only=True, frozen=True):
    """A column of results."""

    name: str
    kind: Literal["assertion", "score", "label"]
    range: tuple[float, float] | None = None


class CasesAnswer(_Wire, kw_only=True, frozen=True):
    """`GET /runs/{run}/cases?q=&sort=&at=&limit=`: a window of the cases that meet a filter, from place `at`; at most 200.

    `sort` is `name`, `mark`, `seconds`, `cost`, `tokens`, `value.NAME` or `order` (of the dataset); a minus before it turns it round.
    `?around=CASE` instead of `at` puts the window around a case.
    """

    rows: list[CaseRow]
    columns: list[CaseColumn]
    total: int
    """Cases that meet the filter, among those that have been read."""
    all: int
    """Cases of the run that have been read."""
    at: int
    index: IndexState
    searched: float = 1.0
    """The share that was searched before the deadline; below 1, `total` is a lower bound."""


class CellJudgement(_Wire, kw_only=True, frozen=True):
    """What an evaluator said of an attempt."""

    name: str
    evaluator: str
    kind: Literal["assertion", "score", "label", "failure", "skip"]
    mark: Mark | None
    """`None` for scores and labels that pass no judgement."""
    value: bool | float | str | None
    text: str
    """The value as words: `passed`, `0.73`, `rude`."""
    reason: str = ""
    traceback: str = ""
    is_judge: bool = False
    details: ShownValue | None = None
    """What else it kept."""


class Sound(_Wire, kw_only=True, frozen=True):
    """Something to listen to."""

    title: str
    href: str
    media_type: str
    seconds: float | None = None
    peaks: list[float] = []
    """The waveform: the largest deviation of each stretch, 0 to 1; empty if it could not be read."""


class HeardWord(_Wire, kw_only=True, frozen=True):
    """A word of a spoken request, and what was heard of it."""

    said: str
    heard: str
    kind: Literal["same", "changed", "missed", "added"]


class Hearing(_Wire, kw_only=True, frozen=True):
    """What an agent heard of what was said."""

    said: str
    heard: str
    words: list[HeardWord]
    word_error_rate: float | None = None


class TalkStep(_Wire, kw_only=True, frozen=True):
    """What was done, or said by the way, before the answer."""

    kind: Literal["tool", "model", "agent"]
    text: str
    """In words."""


class TalkTurn(_Wire, kw_only=True, frozen=True):
    """A turn of a conversation."""

    number: int
    branch: int | None = None
    asked: ShownValue
    answered: ShownValue
    steps: list[TalkStep] = []
    facts: list[str] = []
    judgements: list[CellJudgement] = []


class Talk(_Wire, kw_only=True, frozen=True):
    """A conversation."""

    asker: str
    answerer: str
    instructions: str = ""
    """What the agent was told beforehand."""
    opening: str = ""
    turns: list[TalkTurn]
    stopped: str | None = None
    left_out: int = 0


class TraceSummary(_Wire, kw_only=True, frozen=True):
    """What a trace adds up to, without its steps."""

    title: str
    steps: int
    facts: list[str]
    notes: list[str] = []
    extent: float | None = None
    """Seconds from the first step to the end of the last."""
    failed_step: int | None = None
    """The first step that failed."""


class AttemptView(_Wire, kw_only=True, frozen=True):
    """One attempt at a case."""

    position: int
    repeat: int
    mark: Mark
    output: ShownValue
    error: str | None = None
    error_type: str | None = None
    traceback: str = ""
    seconds: float | None = None
    cost: Money | None = None
    """Of the agent and its judges."""
    judging: str = ""
    """What of it the judges cost, as text; "" where none is known."""
    tokens_in: int | None = None
    tokens_out: int | None = None
    tries: int = 1
    judgements: list[CellJudgement]
    not_run: list[str] = []
    metrics: list[tuple[str, str]] = []
    attributes: list[tuple[str, ShownValue]] = []
    attributes_left_out: int = 0
    has_trace: bool = False
    trace: TraceSummary | None = None
    """`None` if there is none, or if it was not read for this answer: a case may have many attempts with long traces."""
    talk: Talk | None = None
    tree: list[TreeTurn] = []
    sounds: list[Sound] = []
    hearing: Hearing | None = None
    labels: list["PersonLabel"] = []
    """Of people; empty where the viewer's person still has to label blind."""
    trace_id: str | None = None
    fault: str | None = None
    """The fault of the agent's tools under which it was made."""
    teardown: str = ""
    """Why the clean-up after it failed; the judgements stand."""


class PersonLabel(_Wire, kw_only=True, frozen=True):
    """What a person said of an attempt."""

    question: str
    person: str
    value: str
    note: str = ""
    at: str = ""


class CaseAnswer(_Wire, kw_only=True, frozen=True):
    """`GET /runs/{run}/cases/{case}?q=&sort=&rep=`: a case of a run with its attempts, and its neighbours in the filtered list.

    Two hundred attempts come at once: those of which `rep`, counted from 1, is one.
    """

    run: RunRow
    id: str
    name: str
    input: ShownValue
    expected: ShownValue
    expected_calls: ShownValue
    metadata: ShownValue
    tags: list[str]
    cluster: str | None = None
    attempts: list[AttemptView]
    first: int = 0
    """How many attempts come before these."""
    marks: str
    """All attempts in order: `p` passed, `f` failed, `e` did not finish, `u` was not judged."""
    at: int | None = None
    """Its place in the filtered list; `None` if it is not in it."""
    of: int | None = None
    previous: str | None = None
    next: str | None = None
    next_failure: str | None = None
    previous_failure: str | None = None


class HistoryPoint(_Wire, kw_only=True, frozen=True):
    """A case in one run."""

    run: str
    run_name: str
    started_at: str
    commit: str | None = None
    marks: str
    seconds: float | None = None
    cost: float | None = None
    output: str
    """The beginning of the first attempt's output."""
    changed_case: bool = False
    """Whether the case is not the one of the point before it: other inputs or expectations under the same name."""
    changed_output: bool = False


class HistoryAnswer(_Wire, kw_only=True, frozen=True):
    """`GET /cases/{case}/history?dataset=&run=`: the same case over the runs of its dataset, the newest first.

    `run` is one that has the case, where the page knows one. A run that cannot be searched in time is left out and counted.
    """

    id: str
    name: str
    points: list[HistoryPoint]
    summary: str
    """In words: `passes since 3 runs`, `unsteady: passed in 4 of 9`."""
    left_out: int = 0
    """Runs of the dataset that were not looked at: older than the fifty newest, or for want of time."""


# ---------------------------------------------------------------------- traces


class TraceAnswer(_Wire, kw_only=True, frozen=True):
    """`GET /runs/{run}/attempts/{position}/trace?depth=&parent=&after=&limit=&kind=`: the skeleton of a trace, as columns of equal length.

    A step is a turn or a call. `parent` is -1 at the top. Ids count the steps from 0 in the order in which they are read: each before those
    below it. So where ids jump, that many steps did not come, and `after=ID` gives the next `limit` of them (at most 20,000). Up to 20,000
    steps come at once; beyond that the first two depths and every path to a failure, as far as 20,000 reach, and the rest by `after` or by `parent`.
    """

    total: int
    loaded: int
    id: list[int]
    parent: list[int]
    depth: list[int]
    kind: list[Literal["user", "agent", "model", "tool", "span"]]
    label: list[str]
    """At most 80 characters."""
    start: list[float | None]
    """Seconds after the first step that has a time."""
    took: list[float | None]
    failed: list[bool]
    error: dict[int, str]
    """Of the steps that failed, by id; the first 200 characters."""
    tokens_in: list[int | None]
    tokens_out: list[int | None]
    cost: list[float | None]
    children: list[int]
    """How many steps stand below it."""
    missing: list[int]
    """How many of these did not come with this answer."""
    extent: float | None
    facts: list[str]
    notes: list[str]


class StepBody(_Wire, kw_only=True, frozen=True):
    """What a step was given and gave."""

    id: int
    content: ShownValue
    """A message, or what a model was asked."""
    arguments: ShownValue
    output: ShownValue
    error: str = ""
    details: ShownValue
    sounds: list[Sound] = []


class StepsAnswer(_Wire, kw_only=True, frozen=True):
    """`GET /runs/{run}/attempts/{position}/steps?ids=1,2,3`: bodies of up to 200 steps."""

    steps: list[StepBody]


class FoundStepsAnswer(_Wire, kw_only=True, frozen=True):
    """`GET /runs/{run}/attempts/{position}/find?text=`: the steps in which a text stands, in their order."""

    ids: list[int]
    left_out: int
    timed_out: bool = False


# ---------------------------------------------------------------------- comparing


class ComparedRun(_Wire, kw_only=True, frozen=True):
    """One of the runs that are compared."""

    label: str
    """`A`, `B`, `C`."""
    name: str
    """What it is called in sentences: its name, with its id where another one has the same name."""
    run: RunRow


class DifferenceRow(_Wire, kw_only=True, frozen=True):
    """One column in two runs."""

    name: str
    kind: Literal["pass rate", "assertion", "score", "duration", "metric"]
    values: list[str]
    """In the baseline and in the candidate."""
    sentence: str
    """What is known of the difference."""
    mark: Literal["better", "worse", "higher", "lower", "same", "identical", "unclear"]
    difference: float
    interval: Interval | None = None
    scale: Literal["points", "number", "relative"] = "points"
    better: Literal["higher", "lower"] | None = None
    """Which direction is the good one; `None` if that is not known."""
    text: str = ""
    """The difference with its sign: `+4.1`."""
    ends: str = ""
    """Its interval: `[+1.2, +7.0]`."""
    p: str = ""
    """The p-values, in words."""
    adjusted: str = ""
    """The p-value adjusted for all that was asked together, in words; "" where that changes nothing."""
    p_value: float | None = None
    adjusted_p: float | None = None
    smallest: float = 0.0
    """The smallest difference worth seeing."""
    cases: int = 0
    """Of the candidate."""
    notes: list[str] = []
    """Why the two columns may not mean the same, and what was lost."""
    broken: int = 0
    """Of an assertion: flips in which it held in the baseline, and no longer holds."""
    fixed: int = 0
    """Flips in which it holds in the candidate only."""
    spoken: str = ""


class FlipRow(_Wire, kw_only=True, frozen=True):
    """A case that passes in one run only."""

    case: str
    """Its id."""
    name: str
    way: Literal["fixed", "broken", "moved"]
    marks: list[str]
    """Of both runs: one character for each attempt, as in `CaseRow`."""
    counts: str
    """Attempts that passed: `3/3 → 0/3`."""
    assertions: list[FlippedAssertion]
    """What evaluators said of the two attempts that are shown, where they changed their mind."""
    outputs: list[str]
    """What the two attempts gave, each the first 300 characters; empty if there was no time to read it."""
    parting: str = ""
    """The first step at which the traces part, in words; "" if there are none or they do not part."""
    noise: float
    """How far noise explains it, from 0 to 1."""
    basis: Literal["attempts", "other flips"]


class ComparedPair(_Wire, kw_only=True, frozen=True):
    """A run against the first one."""

    candidate: int
    """Its place among the runs."""
    lead: list[str]
    """The verdict, in three lines at most."""
    outcome: Literal["better", "worse", "same", "unclear", "incomparable", "nothing"]
    facts: list[str]
    rate: DifferenceRow | None
    evaluators: list[DifferenceRow]
    measures: list[DifferenceRow]
    measures_note: str
    """What times are; "" where none were compared."""
    slices: list[DifferenceRow]
    """By tag."""
    labels: list[tuple[str, str]]
    """Columns of labels, each with how many changed."""
    warnings: list[str]
    """Changed datasets and evaluators, and whatever else must be known before believing any of it."""
    differing: list[tuple[str, str]]
    """The first hundred cases that changed, or are judged by other evaluators, each with what differs."""
    differing_total: int
    unpaired: list[tuple[str, int, list[str]]]
    """Of either run: its label, how many cases the other lacks, and the names of the first hundred."""
    paired: int
    """Cases that both have."""
    flips: dict[str, int]
    """How many cases flipped, by their way."""
    moved_to_fail: int = 0
    """How many of those that moved pass less often now."""
    flip_notes: list[str]
    """How many of them may be luck."""
    footnote: str
    """What p-values and intervals are."""


class CompareReading(_Wire, kw_only=True, frozen=True):
    """How far a comparison of long runs has come."""

    read: int
    """Attempts read."""
    of: int
    failed: str = ""
    """Why it ended without a result, and what to do."""


class CompareAnswer(_Wire, kw_only=True, frozen=True):
    """`GET /compare?a=&b=&c=…&of=&q=&after=&limit=&pair_by=&these_cases=&lower=`: up to six runs, each against the first of them.

    `of` is the place of the run whose flips are shown. `q` filters flips: `flip:worse`, `flip:better`, and all
    else of the filter, which the case has to meet in that run. `lower` are scores and metrics of which less is good.
    """

    runs: list[ComparedRun]
    reading: CompareReading | None
    """Not `None`: the numbers are not there yet, or never will be. Ask again."""
    pairs: list[ComparedPair]
    of: int
    """The place of the run whose flips these are."""
    flips: list[FlipRow]
    flips_total: int
    """That meet the filter."""
    next: str | None
    paired_by: Literal["content", "name"]
    these_cases: bool
    left_out: list[str] = []
    """What there was no time for, in words."""
    timed_out: bool = False


CaseOutcome: TypeAlias = Literal[
    "broken", "fixed", "moved", "passed", "failed", "baseline", "candidate", "other"
]
"""What became of a case from one run to another: a flip; it passes, or does not, in both; only one of the runs has it; these are two
cases of one name."""


class AttemptBrief(_Wire, kw_only=True, frozen=True):
    """An attempt at a case, at a glance."""

    position: int
    mark: Mark
    gave: str
    """The beginning of its output; "" if its task did not finish."""
    why: str = ""
    """The first complaint about it."""
    seconds: float | None = None


class CaseInRun(_Wire, kw_only=True, frozen=True):
    """A case as one of the compared runs has it."""

    id: str
    """"" where the run does not have it."""
    name: str
    changed: bool = False
    """Whether it has the same name as in the first run, but another content: then it is another case."""
    attempts: list[AttemptBrief]
    """In their order: of those of two runs, the first belongs to the first."""
    attempts_left_out: int = 0
    marks: str
    """Of all attempts."""


class ComparedAttempt(_Wire, kw_only=True, frozen=True):
    """An attempt that is shown beside one of the other run."""

    number: int
    """Which of the attempts at its case it is, from 1."""
    position: int
    mark: Mark
    gave: ShownValue
    """Its output, or its conversation line by line, or why its task failed."""
    failed: bool
    """Whether its task did."""
    traceback: str = ""
    seconds: float | None = None
    cost: Money | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    sounds: list[Sound] = []
    hearing: Hearing | None = None
    has_trace: bool = False


class CaseFlip(_Wire, kw_only=True, frozen=True):
    """That a case passes in one of two runs only."""

    way: Literal["fixed", "broken", "moved"]
    evaluators: list[str]
    """Those of which most attempts of one run hold, and not of the other."""
    noise: float | None
    """How far noise explains it, from 0 to 1; `None` while that is not known."""
    basis: Literal["attempts", "other flips"]


class ComparedColumn(_Wire, kw_only=True, frozen=True):
    """What one evaluator said of two attempts."""

    name: str
    differs: bool
    """Whether it gave them other values."""
    sides: list[CellJudgement | None]
    makers: list[str] = []
    """Both evaluators as they would be written, where they are not the same."""


class ComparedCaseAnswer(_Wire, kw_only=True, frozen=True):
    """`GET /compare/{case}?a=&b=…&of=&q=&ra=&rb=`: one case in two of the compared runs, side by side; the parameters are those of `GET /compare`.

    `ra` and `rb` say which attempt of the first run, and of the one at the place `of`, is shown, from 1. Default: of each the first that came
    out as the case did, which passes if most of its attempts do.
    """

    name: str
    id: str
    runs: list[ComparedRun]
    of: int
    reading: CompareReading | None
    """Not `None`: the runs are still being compared, so that flips, renamed cases and neighbours are not known yet. Ask again."""
    cases: list[CaseInRun]
    """The case in each run."""
    differing: list[Literal["inputs", "expected output", "metadata"]]
    """What differs, where these are two cases of one name."""
    outcome: CaseOutcome
    counts: str
    """Attempts that passed: `3/3 → 0/3`; "" where a run lacks the case."""
    flip: CaseFlip | None = None
    inputs: list[ShownValue]
    """Of the case; two where they differ."""
    expected: list[ShownValue]
    expected_calls: list[ShownValue]
    sides: list[ComparedAttempt | None]
    """The attempts that are shown; `None` where the run lacks the case."""
    rows: list[ComparedColumn]
    """What every evaluator said of the two; those that gave other values come first."""
    previous: str | None = None
    """The flips before and after it among those that meet the filter."""
    next: str | None = None
    at: int | None = None
    """Its place among them, from 0; `None` if it is not among them."""
    flips: int | None = None
    """How many there are."""
    left_out: list[str] = []
    """What there was no time for, in words."""
    timed_out: bool = False


class AlignedValue(_Wire, kw_only=True, frozen=True):
    """A value of a step that is not the same in two traces."""

    path: str
    """Where: `arguments.city`, `output.items[0]`, `error`."""
    sides: list[ShownValue]
    """Missing where only the other one has it."""


class AlignedStep(_Wire, kw_only=True, frozen=True):
    """A step of two traces, or of one of them."""

    kind: Literal["user", "agent", "model", "tool"]
    ids: list[int | None]
    """Of the step in each trace, by which `GET /runs/{run}/attempts/{position}/steps` knows it; `None` where the trace lacks it."""
    numbers: list[int | None]
    """Its place in each trace, from 1."""
    shown: list[str]
    """The step in short, in each trace."""
    same: bool
    values: list[AlignedValue] = []
    values_left_out: int = 0


class AlignedTracesAnswer(_Wire, kw_only=True, frozen=True):
    """`GET /traces?a=&b=&at_a=&at_b=`: the traces of two attempts step by step: `a` and `b` are runs, `at_a` and `at_b` positions of attempts."""

    lines: list[str]
    """Where they part, and what differs there, in words; or why they are not compared."""
    facts: list[list[str]]
    """What each of them adds up to: steps, time, tokens, cost."""
    steps: list[AlignedStep]
    first: int | None
    """The place of the first step that is not the same, from 0; `None` if they do not part."""
    begin: int = 0
    """The place of the first step of `steps`: those before it are all the same, and too many to be sent."""
    total: int
    """Aligned steps."""
    cut: bool = False
    """Whether the steps were not aligned from where they part on, since they are too many."""


# ---------------------------------------------------------------------- labels and judges


class LabelQuestion(_Wire, kw_only=True, frozen=True):
    """A question that people answer about the attempts of a run."""

    id: str
    run: str
    run_name: str
    question: str
    kind: Literal["yes or no", "scale", "choices"]
    choices: list[str]
    """The answers, in the order of their keys."""
    keys: list[str]
    people: list[tuple[str, int]]
    """Who answered how often."""
    labelled: int
    """Attempts with an answer of anyone."""
    of: int
    judge: str | None = None
    """The evaluator of the run that is called like the question, which the labels check and correct."""


class LabelsAnswer(_Wire, kw_only=True, frozen=True):
    """`GET /label`: the questions of the store, those that were answered last first."""

    questions: list[LabelQuestion]
    runs: list[RunRow]
    """Runs that could be labelled: the newest fifty."""


class LabelPlan(_Wire, kw_only=True, frozen=True):
    """Who labels what, and how: all of it stands in the address of the page."""

    run: str
    question: str
    person: str
    scale: str | None = None
    """Answers are whole numbers, such as `1-5`."""
    choices: str | None = None
    """Answers are one of these words, separated by commas. Neither: yes or no."""
    hide_expected: bool = False
    show_metadata: bool = False
    count: int | None = None
    """Label only so many attempts: those that tell most about the judge, or random ones where there is none; `None`: all."""
    judge: str | None = None
    """Whose result the labels are to correct. Default: the evaluator that is called like the question."""
    seed: int | None = None
    """Of the random order, or of the draw; it is part of every answer."""
    width: float | None = None
    """How wide the interval of the corrected rate may be."""


class LabelProgress(_Wire, kw_only=True, frozen=True):
    """How far a person has come."""

    done: int
    of: int
    skipped: int = 0
    """Attempts that were passed over; they come again when nothing else is left."""
    width: float | None = None
    """Of the interval of the corrected rate, with the labels so far; `None` if there is no judge to correct, or too few labels."""
    wanted_width: float | None = None
    about_left: int | None = None
    """Labels that would reach it; `None` if that is not known."""
    why: str = ""
    """Why the width is not known, if it could be."""


class LabelItem(_Wire, kw_only=True, frozen=True):
    """An attempt to label. What judges and other people said of it does not leave the server."""

    position: int
    case: str
    """The name of the case."""
    repeat: int = 1
    repeats: int = 1
    """How often each case was attempted."""
    number: int
    """Its place in the queue, from 1."""
    input: ShownValue
    output: ShownValue
    error: str | None = None
    """Why the task failed, in place of an output."""
    expected: ShownValue | None
    """`None`: it is hidden."""
    expected_calls: ShownValue | None = None
    metadata: ShownValue | None = None
    """`None`: it was not asked for."""
    talk: Talk | None = None
    trace: TraceSummary | None = None
    sounds: list[Sound] = []
    own: PersonLabel | None = None
    """What this person said of it before, and took back."""
    etag: str
    """To be sent with the answer, so that what was said meanwhile is not written over."""


class LabelItemAnswer(_Wire, kw_only=True, frozen=True):
    """`GET /label/next?run=&question=&person=…` (all of a `LabelPlan`), and what every write of a label answers: the next one, or the end."""

    question: LabelQuestion
    plan: LabelPlan
    """As it is carried out: with its seed, and with the id of the run."""
    item: LabelItem | None
    ahead: list[LabelItem]
    """What comes then, so that the page need not wait."""
    progress: LabelProgress
    last: int | None
    """The position of the decision that undo takes back; `None`: there is none."""


class LabelWrite(_Wire, kw_only=True, frozen=True):
    """`PUT /label`: a decision. Answered with 409 and what was said meanwhile if that is not what the page has seen."""

    plan: LabelPlan
    position: int
    choice: int | None
    """The place among the choices; `None`: skip."""
    note: str = ""
    etag: str = ""


class LabelUndo(_Wire, kw_only=True, frozen=True):
    """`DELETE /label`: take a decision back, and show its attempt again."""

    plan: LabelPlan
    position: int | None = None
    """As `last` says; `None`: the last one, whichever it is."""
    skipped: bool = False
    """Instead of one decision, take back all that were skips."""


class Disagreement(_Wire, kw_only=True, frozen=True):
    """A case of which a judge says something else than people do."""

    run: str
    run_name: str
    case: str
    name: str
    repeat: int
    """Which attempt at the case both judged, from 1."""
    judge_said: str
    people_said: str
    """Who of them, and what: `ann: no`."""
    cell: tuple[str, str]
    """What people and the judge said, as the confusion has it: `fail`, `pass`."""
    reason: str
    """That the judge gave."""
    note: str = ""
    """Of the person."""


class JudgeTrait(_Wire, kw_only=True, frozen=True):
    """One number of a judge's passport, as `calipers judge check` says it."""

    name: str
    """`agreement`, `kappa`, `order_bias`, …"""
    what: str
    """`judge and people say the same`."""
    kind: Literal["rate", "number", "difference"]
    text: str = ""
    """"" if it was not measured."""
    ends: str = ""
    """Its interval."""
    value: float | None = None
    interval: Interval | None = None
    n: int = 0
    """What it was measured on."""
    ideal: float | None = None
    """What it would be of a judge that is always right; `None`: that depends on what is judged."""
    why: str = ""
    """Why it was not measured."""


class JudgeCard(_Wire, kw_only=True, frozen=True):
    """A judge, and how far to believe it."""

    id: str
    name: str
    model: str | None
    """That it asks, as its passport says."""
    standing: Standing | None
    """`None`: it is an evaluator that is no judge, and people were asked the same."""
    traits: list[JudgeTrait]
    """Of its passport, or of that of another judge of its name; empty if there is none."""
    question: str | None
    """Whose answers it is held against; `None`: people have answered nothing about its runs."""
    questions: list[str]
    """That people answered about its runs."""
    labels: int
    """Cases of which both said something."""
    confusion: Chart | None
    """How often what people said became what the judge said; `None` if there are too many different answers."""
    agreement: Estimate | None = None
    """The share of cases on which both say the same."""
    kappa: Estimate | None = None
    notes: list[str] = []
    """What has to be known of these numbers, and why some are missing."""
    runs: list[tuple[str, str]]
    """Where it judged, the newest first: id and name of up to ten runs."""
    runs_total: int
    disagreements: list[Disagreement]
    """The first hundred, where one judge was asked for; else none."""
    disagreements_total: int = 0


class JudgesAnswer(_Wire, kw_only=True, frozen=True):
    """`GET /judges?judge=&question=`: the judges of the store's runs, the one that judged last first.

    With `judge`, an id, only that one, with the cases on which it and people disagree. A judge is held against the answers to the question that is
    called like it; `question` names another one for it.
    """

    judges: list[JudgeCard]
    names: list[tuple[str, str]]
    """Id and name of all judges."""
    timed_out: bool = False


# ---------------------------------------------------------------------- filters and events


class FilterTerm(_Wire, kw_only=True, frozen=True):
    """A term of a filter, as it was read."""

    start: int
    end: int
    text: str
    field: str


class FilterAnswer(_Wire, kw_only=True, frozen=True):
    """`GET /filter/check?q=&of=`: the terms of a filter, which may be only half written. `of` is `cases` or `runs`."""

    terms: list[FilterTerm]
    problem: Problem | None = None
    """Why it is no filter, and where; then there are no terms."""


class Completion(_Wire, kw_only=True, frozen=True):
    """A way to go on with a filter."""

    text: str
    """What to put in."""
    start: int
    end: int
    """What it replaces."""
    about: str
    """What it means, or how many cases it finds."""


class CompletionsAnswer(_Wire, kw_only=True, frozen=True):
    """`GET /filter/complete?q=&at=&run=`: what may stand at a place of a filter."""

    completions: list[Completion]


class Progress(_Wire, kw_only=True, frozen=True):
    """A message of `GET /events?run=` (`event: progress`): how far a run has come. At most two a second."""

    run: str
    state: RunState
    revision: str
    attempts: int
    total: int | None
    failures: int
    seconds: float | None = None
    """How long it has taken."""
    cases: int | None = None
    rate: Estimate | None = None
    gate: GateState | None = None
    index: IndexState | None = None


class RunsChanged(_Wire, kw_only=True, frozen=True):
    """A message of `GET /events` (`event: runs`): runs that began, ended or went away."""

    began: list[str] = []
    ended: list[str] = []
    gone: list[str] = []


ANSWERS: tuple[type[Any], ...] = (
    ProblemAnswer, SessionAnswer, RunsAnswer, TrendAnswer, RunAnswer, SlicesAnswer, FacetsAnswer, GroupsAnswer, CasesAnswer,
    CaseAnswer, HistoryAnswer, TraceAnswer, StepsAnswer, FoundStepsAnswer, CompareAnswer, ComparedCaseAnswer,
    AlignedTracesAnswer, LabelsAnswer, LabelItemAnswer, LabelWrite, LabelUndo, JudgesAnswer, FilterAnswer, CompletionsAnswer, Progress, RunsChanged,
)  # fmt: skip
"""What the page's types are made of."""
