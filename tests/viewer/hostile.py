"""A store in which every place that a model, a dataset or a person writes holds hostile texts (`calipers.testing.HOSTILE_TEXTS`)."""

import base64
from typing import Any, Final, NamedTuple

from calipers import Case, Dataset, EvaluationReason
from calipers.data.attempt import increment_eval_metric, set_eval_attribute
from calipers.data.human_label import HumanLabel
from calipers.data.result import EvaluatorSpec, Skipped
from calipers.data.trace import LLMCall, ToolCall, Trace, Turn, TurnType
from calipers.report.analysis import (
    Aggregate,
    ConfusionMatrix,
    LinePlot,
    PlotLine,
    PlotPoint,
    ScalarResult,
    TableResult,
    TreeNode,
    TreePlot,
)
from calipers.stores.run_info import GitState, RunInfo, StoredEvaluator
from calipers.stores.store import Store
from calipers.testing import HOSTILE_TEXTS

TEXTS: Final = [each.text for each in HOSTILE_TEXTS]
SHORT: Final = [text for text in TEXTS if len(text) < 2_000]
NAMES: Final = [text.encode("utf-8", "backslashreplace").decode() for text in TEXTS]
"""The texts as a run has them that was made elsewhere: whatever reads a file escapes half letters."""
DATASET: Final = TEXTS[5] + TEXTS[32] + TEXTS[56]
"""The name of the dataset: the end of a script, looks that hide all, the end of a header."""
QUESTION: Final = "kind <img src=//hostile.example/question onerror=alert('question')>"
PERSON: Final = "Ann <svg onload=alert('person')>"
ALL: Final = "all of them"
"""The case that has every text in every place of its own."""
DEEP, WIDE, LONG = "deep", "wide", "long"
"""Cases whose output is JSON of ten thousand levels, of two hundred thousand keys, and a line of two million characters."""
NO_SOUND: Final = base64.b64encode(
    b"RIFF\xff\xff\xff\x7fWAVEfmt \x10\0\0\0<script>alert('sound')</script>" * 9
).decode()


class SpiteError(Exception):
    """An error whose type and words are hostile."""


SpiteError.__name__ = SpiteError.__qualname__ = "<img src=x onerror=alert('type')>"


def spiteful_trace(inputs: Any) -> Trace:
    """Messages, requests and calls of tools, each text in each place."""
    turns = [Turn(turn_type=TurnType.USER_MESSAGE, content=text) for text in TEXTS]
    for text in TEXTS:
        call = ToolCall(text, {text: text}, output={text: [text]}, error=text, latency_ms=1.0)
        asked = LLMCall(model=text, input_text=text, output_text=text, metadata={text: text}, cost=0.01)
        turns += [
            Turn(llm_call=asked),
            Turn(tool_call=call),
            Turn(turn_type=TurnType.AGENT_MESSAGE, content=text),
        ]
    return Trace(
        agent_name=TEXTS[0], turns=turns, output_text="\n\n".join(TEXTS), tags=SHORT, metadata={"x": TEXTS}
    )


def deep(levels: int = 10_000) -> str:
    return "[" * levels + '"h00"' + "]" * levels


def answer(inputs: Any) -> Any:
    """What the hostile agent gives back."""
    if inputs == ALL:
        for text in SHORT:
            set_eval_attribute(text, text)
            increment_eval_metric(text, 1)
        set_eval_attribute("audio", "../../" + TEXTS[56])
        set_eval_attribute("sound", NO_SOUND)
        set_eval_attribute("transcript", " ".join(SHORT))
        return spiteful_trace(inputs)
    if inputs == WIDE:
        return {f"{number} <script>alert('h00')</script>": number for number in range(200_000)}
    if inputs == LONG:
        return "h00" + "<b>'\"&" * 300_000
    if inputs == DEEP:
        return deep()
    number = TEXTS.index(inputs[0])
    if number % 5 == 0:
        raise SpiteError(inputs[0])
    return {"said": inputs[0]} if number % 5 == 1 else inputs[0]


def spite(ctx: Any) -> Any:
    """Results of every kind, named and reasoned by the inputs of the case."""
    if ctx.inputs == ALL:
        return {text: EvaluationReason(False, text) for text in SHORT}
    if not isinstance(ctx.inputs, list):
        return True
    text = ctx.inputs[0]
    return {text: EvaluationReason(False, text), "label": EvaluationReason(text, text), "score": 0.5}


def mild(ctx: Any) -> bool:
    """Whether the number of the text is even: so that runs differ."""
    return isinstance(ctx.inputs, list) and TEXTS.index(ctx.inputs[0]) % 2 == 0


def stern(ctx: Any) -> bool:
    """Whether it is odd."""
    return not mild(ctx)


stern.__name__ = mild.__name__ = QUESTION


def shy(inputs: Any) -> Any:
    """Gives no result, with a hostile reason, or breaks with one."""
    text = inputs[0] if isinstance(inputs, list) else TEXTS[0]
    if TEXTS.index(text) % 2:
        raise SpiteError(text)
    return Skipped(text)


def charts(ctx: Any) -> list[Any]:
    """Analyses whose titles, labels, notes and cells are hostile."""
    points = [PlotPoint(x=1, y=0.5), PlotPoint(x=2, y=0.7)]
    some = SHORT[:30]
    return [
        *(ScalarResult(title=text, value=0.5, unit=text, note=text, description=text) for text in SHORT),
        ConfusionMatrix(title=TEXTS[0], class_labels=some, matrix=[[1] * len(some)] * len(some)),
        TableResult(title=TEXTS[1], columns=some, rows=[some, some]),
        LinePlot(
            title=TEXTS[2],
            x_label=TEXTS[3],
            y_label=TEXTS[4],
            lines=[PlotLine(name=text, points=points) for text in some],
        ),
        TreePlot(
            title=TEXTS[5],
            nodes=[
                TreeNode(depth=1, tone="bad", label=text, outcome=text, text=text, answer=text)
                for text in TEXTS
            ],
        ),
        Aggregate(title=TEXTS[6], data={text: text for text in TEXTS}),
    ]


class HostileRuns(NamedTuple):
    """Ids of runs."""

    first: str
    second: str
    few: str
    """A run that is small enough for a report of one file."""


def dataset(judge: Any, monsters: bool = True) -> Dataset[Any, Any, Any]:
    cases = [
        Case(name=text, inputs=[text], expected_output=f"not {text}", metadata={text: text}, tags=(text,))
        for text in TEXTS
    ]
    everything = {text: {text: [text]} for text in TEXTS}
    cases.append(Case(name=ALL, inputs=ALL, expected_output=TEXTS, metadata=everything, tags=SHORT))
    if monsters:
        cases += [Case(name=name, inputs=name) for name in (DEEP, WIDE, LONG)]
    return Dataset(name=DATASET, cases=cases, evaluators=[spite, judge, shy], report_evaluators=[charts])


def keep_hostile(store: Store) -> HostileRuns:
    """Keep a run named by each text, two runs of a dataset that holds all of them, and labels of people."""
    for number, text in enumerate(NAMES):
        store.begin_run(
            RunInfo(
                id=f"hostile-{number:02}",
                name=text,
                dataset_name=text,
                task_name=text,
                task_version=text,
                task_key=text,
                parameters={text: text},
                metadata={text: text},
                environment={text: text},
                git=GitState(commit=text, dirty=True),
                evaluators=(StoredEvaluator(name=text, spec=EvaluatorSpec(text, {"x": text}), version=text),),
                started_at=f"2026-04-01T09:{number // 60:02}:{number % 60:02}+00:00",
            )
        )
        store.finish_run(f"hostile-{number:02}", status="failed")
    first, second = (
        dataset(judge).evaluate_sync(
            answer,
            name=name,
            store=store,
            metadata={text: text for text in SHORT},
            progress=False,
            seed=1,
            repeat=2,
        )
        for name, judge in (("hostile " + TEXTS[8], mild), (f"more hostile {TEXTS[9]}", stern))
    )
    runs = HostileRuns(first.reuse.run, second.reuse.run, "hostile-00")
    store.add_labels(
        [
            HumanLabel(
                run=run,
                position=2 * number,
                case=text,
                question=QUESTION,
                person=PERSON,
                value=number % 3 > 0,
                note=text,
                at="2026-04-02T10:00:00+00:00",
            )
            for run in (runs.first, runs.second)
            for number, text in enumerate(TEXTS[:-10])
        ]
    )
    return runs
