"""A store with a run of every kind that the viewer draws: agents, voice, rollouts, faults, charts, judges, labels, errors, odd names."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from calipers import Case, Dataset, EvaluationReason
from calipers.agents import tool, with_faults
from calipers.data.attempt import increment_eval_metric, set_eval_attribute
from calipers.data.human_label import HumanLabel
from calipers.data.result import Skipped
from calipers.data.trace import LLMCall, ToolCall, Trace, Turn, TurnType
from calipers.evaluators import (
    CalibrationEvaluator,
    ConfusionMatrixEvaluator,
    EqualsExpected,
    ROCAUCEvaluator,
    ROCEvaluator,
)
from calipers.judges import LLMJudge
from calipers.report.passport import Measurement, Passport, passport_identity
from calipers.rollouts import Environment, LeakModerator, RolloutCurves, RolloutTask
from calipers.rollouts.demo import GOAL, VaultAssistant
from calipers.rollouts.strategies import SampledAttack
from calipers.stats import Interval
from calipers.stores.standings import keep_passport
from calipers.stores.store import Store
from calipers.testing import ScriptedJudge
from calipers.voice.audio import Audio

BEGAN: Final = datetime(2026, 4, 1, 9, tzinfo=UTC)
ODD_NAMES: Final = [
    "a/b/../c",
    "?q=#fragment",
    "100 %",
    "Größe und Maß",
    "日本語のケース",
    "مرحبا بالعالم",
    "👩‍👩‍👧‍👦 family",
    "line\nbreak",
    "x" * 300,
]
"""Names that an address has to escape, a page has to cut, or a reader has to read from the right."""


# ---------------------------------------------------------------------- an agent with tools


def support(inputs: Mapping[str, Any]) -> Trace:
    """An agent that looks an order up and refunds it, and at times goes wrong on the way."""
    number = inputs["order"]
    is_lost = number % 4 == 1

    def moment(seconds: float) -> datetime:
        return BEGAN + timedelta(seconds=seconds)

    def asked_model(seconds: float, said: str) -> Turn:
        call = LLMCall(
            model="small-1",
            input_text=f"You are a helper of a shop.\n\nThe customer asks: {inputs['question']}",
            output_text=said,
            input_tokens=420 + number,
            output_tokens=12 + number % 7,
            cost=0.0021,
            latency_ms=640,
            timestamp=moment(seconds),
        )
        return Turn(llm_call=call)

    lookup = ToolCall(
        "find_order",
        {"id": number, "fields": ["state", "total"]},
        output={
            "state": "lost" if is_lost else "delivered",
            "total": 17.5,
            "items": [{"sku": "A-1", "n": 2}],
        },
        latency_ms=45.0,
        timestamp=moment(1),
    )
    refused = {"error": "no such order"} if number % 3 == 0 else {"output": {"refunded": True}}
    refund = ToolCall("refund", {"id": number}, latency_ms=30.0, timestamp=moment(2), **refused)
    answer = f"**Order {number}** was lost.\n\n1. I refund it.\n2. You get a mail.\n\n`ref-{number}`"
    turns = [
        Turn(turn_type=TurnType.USER_MESSAGE, content=inputs["question"], timestamp=moment(0)),
        asked_model(0.1, "I look the order up."),
        Turn(tool_call=lookup),
        *([asked_model(1.2, "It is lost: I refund it."), Turn(tool_call=refund)] if is_lost else []),
        Turn(
            turn_type=TurnType.AGENT_MESSAGE,
            content=answer if is_lost else "It was delivered.",
            timestamp=moment(3),
        ),
    ]
    return Trace(agent_name="shop helper", turns=turns, output_text=turns[-1].content)


def refunds_what_is_lost(trace: Trace, inputs: Mapping[str, Any]) -> EvaluationReason:
    """Whether each lost order was refunded."""
    failed = [call for call in trace.tool_calls if call.error]
    if failed:
        return EvaluationReason(False, f"the tool {failed[0].name!r} failed for order {inputs['order']}")
    return EvaluationReason(True, "the order is known, and no tool failed")


def keep_agent(store: Store) -> str:
    asked = [{"question": f"Where is my order {n}?", "order": n} for n in range(24)]
    cases = [
        Case(name=f"order {each['order']}", inputs=each, metadata={"shop": ("de", "fr")[each["order"] % 2]})
        for each in asked
    ]
    dataset = Dataset(name="shop helper", cases=cases, evaluators=[refunds_what_is_lost])
    return kept(dataset.evaluate_sync(support, name="agent with tools", store=store, progress=False))


# ---------------------------------------------------------------------- sound


def tone(seconds: float = 0.6) -> Audio:
    """Something to hear whose waveform is easy to tell: it swells."""
    rate = 8_000
    length = int(seconds * rate)
    return Audio.from_samples([0.8 * n / length * ((n // 20) % 2 * 2 - 1) for n in range(length)], rate)


def keep_voice(store: Store, folder: Path) -> str:
    sound = tone()
    file = sound.save(folder / "heard" / f"{sound.digest}.wav")
    heard = {"Turn off the light": "turn of the light", "Wake me up at 6:30": "wake up at six thirteen"}

    def listen(said: str) -> dict[str, Any]:
        set_eval_attribute("audio", str(file.relative_to(folder)))
        set_eval_attribute("transcript", heard.get(said, said))
        return {"tool": "set_light", "on": said in heard}

    cases = [
        Case(name=said, inputs=said, expected_output={"tool": "set_light", "on": False})
        for said in [*heard, "Play some jazz"]
    ]
    dataset = Dataset(name="voice", cases=cases, evaluators=[EqualsExpected()])
    return kept(dataset.evaluate_sync(listen, name="voice", store=store, progress=False))


# ---------------------------------------------------------------------- rollouts and faults


def keep_rollouts(store: Store) -> str:
    tester = SampledAttack(["direct", "base64", "role_play", "hex", "fiction", "authority_claim"])
    judge = LeakModerator(VaultAssistant().secret)
    environment = Environment(VaultAssistant.hardened(), tester, judge, goals=[GOAL], width=2, depth=3)
    dataset = Dataset(
        name="vault",
        cases=[Case(name=f"attack {n}", inputs=GOAL) for n in range(4)],
        report_evaluators=[RolloutCurves()],
    )
    report = dataset.evaluate_sync(
        RolloutTask(environment), name="rollouts", store=store, seed=3, progress=False
    )
    return kept(report)


PRICES: Final = {"desk": 120, "chair": 45, "lamp": 30, "shelf": 80}


@tool
def price(item: str) -> dict[str, Any]:
    return {"item": item, "price": PRICES[item]}


def keep_faults(store: Store) -> str:
    def robust(item: str) -> int:
        for _ in range(3):
            try:
                return int(price(item)["price"])
            except (RuntimeError, TimeoutError, KeyError):
                continue
        return 0

    cases = [
        Case(
            name=item,
            inputs=item,
            expected_output=price,
            metadata={"shop": ("de", "fr")[place % 2]},
            tags=(item,),
        )
        for place, (item, price) in enumerate(PRICES.items())
    ]
    dataset = Dataset(name="prices", cases=cases, evaluators=[EqualsExpected()])
    faulty = with_faults(dataset, "error@0.5,partial@0.5,stale")
    return kept(faulty.evaluate_sync(robust, name="under faults", store=store, seed=1, progress=False))


# ---------------------------------------------------------------------- charts, a judge and labels


def urgency(output: Mapping[str, Any]) -> float:
    """A score from 0 to 1."""
    return float(output["urgency"])


def topic(output: Mapping[str, Any]) -> str:
    """A label."""
    return str(output["topic"])


def kind_judge(inputs: int) -> EvaluationReason:
    """A judge that does not always agree with people."""
    return EvaluationReason(inputs % 5 > 0, f"the answer {'thanks' if inputs % 5 else 'blames'} the customer")


def keep_charts(store: Store) -> str:
    topics = ["refund", "billing", "delivery"]

    def sort(number: int) -> dict[str, Any]:
        if number == 13:
            raise ConnectionError("the model did not answer: 503 Service Unavailable")
        said = topics[(number + (number % 7 == 0)) % 3]
        return {"topic": said, "urgency": min(number % 10 / 9 + 0.1 * (number % 3), 1)}

    def is_right(output: Mapping[str, Any], expected_output: str) -> EvaluationReason:
        return EvaluationReason(output["topic"] == expected_output, f"filed under {output['topic']!r}")

    def shy(inputs: int) -> Any:
        return Skipped("no draft to look at") if inputs % 2 else len(str(inputs))

    cases = [
        Case(
            name=f"message {n:02}",
            inputs=n,
            expected_output=topics[n % 3],
            metadata={"lang": ("de", "fr")[n % 2]},
            tags=("long",) if n % 5 == 0 else (),
        )
        for n in range(40)
    ]
    dataset = Dataset(
        name="sorting",
        cases=cases,
        evaluators=[is_right, urgency, topic, kind_judge, shy],
        report_evaluators=[
            ConfusionMatrixEvaluator(
                predicted_from="labels", predicted_key="topic", expected_from="expected_output"
            ),
            ROCEvaluator(score_key="urgency", positive_from="assertions", positive_key="is_right"),
            ROCAUCEvaluator(score_key="urgency", positive_from="assertions", positive_key="is_right"),
            CalibrationEvaluator(score_key="urgency", positive_from="assertions", positive_key="is_right"),
        ],
    )
    run = kept(dataset.evaluate_sync(sort, name="charts and a judge", store=store, progress=False))
    labels = [
        HumanLabel(
            run=run,
            position=n,
            case=f"message {n:02}",
            question="kind_judge",
            person="Ana",
            value=n % 4 > 0,
            note="it blames" if n % 4 == 0 else "",
            at="2026-04-02T10:00:00+00:00",
        )
        for n in range(20)
    ]
    store.add_labels(labels)
    return run


# ---------------------------------------------------------------------- judges and their passports


def likes_what_is_friendly(ask: Any) -> dict[str, Any]:
    is_friendly = "gladly" in ask.messages[-1]["content"]
    return {"reason": f"the answer is {'warm' if is_friendly else '<b>curt</b>'}", "pass": is_friendly}


def measured(value: float, low: float, high: float, n: int) -> Measurement:
    return Measurement(value=value, interval=Interval(low, high, 0.95, "wilson"), n=n)


def keep_judges(store: Store) -> str:
    """A run with a judge that was checked, one whose prompt changed since, and one that no one has looked at."""
    judges = [
        LLMJudge(rubric, model=ScriptedJudge(likes_what_is_friendly), evaluation_name=name)
        for name, rubric in (
            ("helpful", "The answer helps."),
            ("polite", "The answer is polite."),
            ("new", "The answer is new."),
        )
    ]

    def answer(number: int) -> str:
        return f"The answer to {number} is {number * 2}{', gladly' if number % 4 else '.'}"

    cases = [Case(name=f"question {n:02}", inputs=n) for n in range(40)]
    dataset = Dataset(name="help", cases=cases, evaluators=judges)
    run = kept(dataset.evaluate_sync(answer, name="judged", store=store, progress=False))
    for question, people in (
        ("helpful", lambda n: n % 5 > 0),
        ("Is it kind?", lambda n: n % 4 > 0),
    ):
        store.add_labels(
            [
                HumanLabel(
                    run=run,
                    position=n,
                    case=f"question {n:02}",
                    question=question,
                    person="Ana" if n % 2 else "Ben",
                    value=people(n),
                    note="it answers something else" if n % 5 == 0 else "",
                    at="2026-04-02T10:00:00+00:00",
                )
                for n in range(24)
            ]
        )
    stored = {each.name: each for each in store.run(run).evaluators}
    for name, parts in (
        ("helpful", stored["helpful"].parts),
        ("polite", {**stored["polite"].parts, "parameter rubric": "another rubric"}),
    ):
        keep_passport(
            store,
            Passport(
                judge=name,
                identity=passport_identity(parts),
                parts=dict(parts),
                model="openai:gpt-4o-mini",
                at="2026-03-20T08:00:00+00:00",
                labels=80,
                unjudged=1,
                repeats=3,
                measured={
                    "base_rate": measured(0.6625, 0.554, 0.757, 80),
                    "judged_rate": measured(0.8625, 0.77, 0.921, 80),
                    "agreement": measured(0.75, 0.645, 0.832, 80),
                    "kappa": measured(0.346, 0.092, 0.58, 80),
                    "sensitivity": measured(0.962, 0.872, 0.99, 53),
                    "specificity": measured(0.333, 0.186, 0.522, 27),
                    "self_consistency": measured(1.0, 0.954, 1.0, 80),
                    "length_bias": measured(0.21, -0.04, 0.43, 80),
                    "injections_through": measured(0.0, 0.0, 0.016, 240),
                    "cost": measured(0.00021, 0.00019, 0.00024, 80),
                },
                unmeasured={
                    "order_bias": "it judges one answer at a time",
                    "self_preference": "the model that gave some of the answers is not known",
                },
            ),
        )
    return run


# ---------------------------------------------------------------------- odd names and long values


def keep_odd(store: Store) -> str:
    def answer(inputs: Any) -> Any:
        increment_eval_metric("cost", 0.0004)
        increment_eval_metric("input_tokens", 1200)
        if inputs == 1:
            return "\n".join(f"line {n} of a long answer" for n in range(40_000))
        if inputs == 2:
            return {"rows": [{"n": n, "text": "word " * 20} for n in range(2_000)]}
        if inputs == 3:
            return "# A heading\n\nA **bold** word, `code` and\n\n- a list\n- of two\n\n| a | b |\n|---|---|\n| 1 | 2 |"
        return f"answer {inputs}"

    def right(output: Any, expected_output: Any) -> EvaluationReason:
        return EvaluationReason(output == expected_output, f"got {str(output)[:60]!r}")

    cases = [
        Case(name=name, inputs=n, expected_output=f"answer {n}", metadata={"key/with slash": name[:20]})
        for n, name in enumerate(ODD_NAMES)
    ]
    dataset = Dataset(name="odd / names & values?", cases=cases, evaluators=[right])
    return kept(
        dataset.evaluate_sync(answer, name="odd/names: 100 % ?", store=store, repeat=2, progress=False)
    )


def kept(report: Any) -> str:
    return str(report.reuse.run)


def keep_gallery(store: Store, folder: Path) -> dict[str, str]:
    """Keep a run of each kind, and give their ids."""
    return {
        "agent": keep_agent(store),
        "voice": keep_voice(store, folder),
        "rollouts": keep_rollouts(store),
        "faults": keep_faults(store),
        "charts": keep_charts(store),
        "judges": keep_judges(store),
        "odd": keep_odd(store),
    }
