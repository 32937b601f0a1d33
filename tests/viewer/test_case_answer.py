"""A case with all its attempts, whatever others wrote into it."""

import base64
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from calipers import Case, Dataset
from calipers.agents import EvalResult, EvalVerdict
from calipers.data.attempt import increment_eval_metric, set_eval_attribute
from calipers.data.human_label import HumanLabel
from calipers.data.result import EvaluationReason, Skipped
from calipers.data.trace import ToolCall, Trace
from calipers.errors import ValueAwayError
from calipers.stores import offload_values, open_store
from calipers.stores.store import Store
from calipers.viewer.blob_answer import blob_answer
from calipers.viewer.case_answer import case_answer
from calipers.viewer.case_id import case_id
from calipers.viewer.download import Download
from calipers.viewer.refusal import Refusal
from calipers.viewer.viewed_store import ViewedStore
from calipers.viewer.wire import AttemptView, CaseAnswer
from calipers.voice.audio import Audio

View = Callable[[Store], ViewedStore]
HOSTILE = "</script><img src=x onerror=alert(1)>\x00\x07\x1b[2J\u202e\u2066\ud83d [x](javascript:alert(1))"
SAFE = HOSTILE.encode("utf-8", "backslashreplace").decode()


def right(output: Any, expected_output: Any) -> Any:
    return EvaluationReason(value=output == expected_output, reason=f"wanted {expected_output!r}")


def small(output: int) -> bool:
    return output <= 300


def graded(output: Any) -> Any:
    return 0.25 if output != "boom" else 1 / 0


def shy(inputs: Any) -> Any:
    return Skipped("nothing to say") if inputs != "speak" else "word"


class Partly:
    def evaluate(self, test_case: Any, trace: Any) -> EvalResult:
        return EvalResult("Partly", EvalVerdict.PARTIAL, 0.5, "half of it", {"seen": [1, 2.0, 10**20]})


def keep(
    store: Store,
    cases: list[Case[Any, Any, Any]],
    task: Callable[[Any], Any],
    *evaluators: Any,
    **options: Any,
) -> str:
    report = Dataset(name="kept", cases=cases, evaluators=[*evaluators]).evaluate_sync(
        task, store=store, progress=False, **options
    )
    assert report.reuse is not None
    return report.reuse.run


def ask(viewed: ViewedStore, name: str, **options: Any) -> CaseAnswer:
    found = case_answer(viewed, "latest", case_id(name), **options)
    assert msgspec.json.decode(msgspec.json.encode(found), type=CaseAnswer) == found
    return found


def only(found: CaseAnswer) -> AttemptView:
    (attempt,) = found.attempts
    return attempt


def whole(viewed: ViewedStore, href: str | None) -> bytes:
    """What is behind an address of a value."""
    assert href is not None
    _, _, _, _, run, _, position, _, name = href.split("/")
    found = blob_answer(viewed, run, int(position), name)
    assert isinstance(found.body, bytes)
    return found.body


def test_it_has_what_was_tried_expected_and_said(store: Store, view: View) -> None:
    def task(inputs: Any) -> Any:
        increment_eval_metric("cost", 0.25)
        increment_eval_metric("input_tokens", 12)
        set_eval_attribute("note", {"a": [1, 1.0]})
        return "boom"

    case = Case(
        name="one",
        inputs={"q": 1.0},
        expected_output="bang",
        metadata={"lang": "de"},
        tags=("hard",),
        cluster="c",
    )
    run = keep(store, [case], task, right, graded, shy)
    found = ask(view(store), "one")
    assert (found.run.id, found.name, found.id) == (run, "one", case_id("one"))
    assert (found.input.kind, found.input.text) == ("json", '{"q": 1.0}')
    assert (found.expected.kind, found.expected.text, found.metadata.text) == (
        "text",
        "bang",
        '{"lang": "de"}',
    )
    assert (found.expected_calls.kind, found.tags, found.cluster) == ("missing", ["hard"], "c")
    attempt = only(found)
    assert (attempt.output.text, attempt.mark, attempt.error) == ("boom", "error", None)
    assert attempt.cost is not None
    assert (attempt.cost.text, attempt.tokens_in, attempt.tokens_out) == ("$0.25", 12, None)
    assert attempt.attributes[0][0] == "note"
    assert attempt.attributes[0][1].text == '{"a": [1, 1.0]}'
    failure, assertion, skip = attempt.judgements
    assert (failure.kind, failure.mark, failure.reason) == (
        "failure",
        "error",
        "ZeroDivisionError: division by zero",
    )
    assert "in graded" in failure.traceback
    assert (assertion.kind, assertion.mark, assertion.value, assertion.reason) == (
        "assertion",
        "fail",
        False,
        "wanted 'bang'",
    )
    assert (skip.kind, skip.mark, skip.reason) == ("skip", "skip", "nothing to say")


def test_a_task_that_failed_says_where_and_what_was_not_asked(store: Store, view: View) -> None:
    def task(inputs: Any) -> Any:
        raise ValueError(HOSTILE)

    keep(store, [Case(name="one", inputs=None, expected_output=None)], task, right)
    found = ask(view(store), "one")
    attempt = only(found)
    assert (attempt.mark, attempt.error_type, attempt.not_run) == ("error", "ValueError", ["right"])
    assert attempt.error == f"ValueError: {SAFE}"
    assert "raise ValueError(HOSTILE)" in attempt.traceback
    assert (attempt.output.kind, found.input.text, found.expected.text) == ("missing", "null", "null")


def test_all_repeats_are_there_in_their_order_with_labels_of_people(store: Store, view: View) -> None:
    seen: list[int] = []

    def task(inputs: int) -> int:
        seen.append(inputs)
        return inputs * len(seen)

    run = keep(store, [Case(name="a", inputs=1), Case(name="b", inputs=2)], task, right, repeat=3)
    position = next(each.position for each in store.attempts(run) if each.name == "b [2/3]")
    store.add_labels(
        [
            HumanLabel(
                run=run,
                position=position,
                case="b",
                repeat=2,
                question="good?",
                person="Ana",
                value=True,
                note=HOSTILE,
                at="",
            )
        ]
    )
    found = ask(view(store), "b")
    assert [attempt.repeat for attempt in found.attempts] == [1, 2, 3]
    assert [len(attempt.labels) for attempt in found.attempts] == [0, 1, 0]
    (label,) = found.attempts[1].labels
    assert (label.question, label.person, label.value, label.note) == ("good?", "Ana", "yes", SAFE)


def test_neighbours_follow_the_filter_and_the_order(store: Store, view: View) -> None:
    cases = [Case(name=f"c{n}", inputs=n, expected_output=n % 2) for n in range(6)]
    keep(store, cases, lambda inputs: 0, right)
    viewed = view(store)
    found = ask(viewed, "c2")
    assert (found.at, found.of) == (2, 6)
    assert (found.previous, found.next) == (case_id("c1"), case_id("c3"))
    assert (found.previous_failure, found.next_failure) == (case_id("c1"), case_id("c3"))
    found = ask(viewed, "c3", q="status:failed", sort="-name")
    assert (found.at, found.of, found.previous, found.next) == (1, 3, case_id("c5"), case_id("c1"))
    found = ask(viewed, "c2", q="status:failed")
    assert (found.at, found.of, found.next) == (None, 3, None)


@pytest.mark.parametrize("name", ["a/b/../c", "line\nbreak", "", HOSTILE, "x" * 5_000, "?q=#", "100%"])
def test_a_case_of_any_name_has_an_address(store: Store, view: View, name: str) -> None:
    keep(store, [Case(name=name or "empty", inputs=1), Case(name="other", inputs=2)], lambda inputs: inputs)
    stored = next(each.case_name for each in store.attempts(store.run("latest").id))
    found = ask(view(store), stored)
    assert found.name == stored


def test_what_others_wrote_travels_as_text_and_nothing_is_lost(store: Store, view: View) -> None:
    def task(inputs: Any) -> Any:
        for number in range(3_000):
            set_eval_attribute(f"{HOSTILE}{number}", HOSTILE)
        return {"text": HOSTILE, "big": 2**70 + 1, "small": 1e-320, "deep": deep(90), "none": None}

    keep(store, [Case(name="one", inputs=HOSTILE, metadata={HOSTILE: HOSTILE})], task, right)
    found = ask(view(store), "one")
    attempt = only(found)
    assert (found.input.kind, found.input.text) == ("text", SAFE)
    assert msgspec.json.decode(found.metadata.text) == {SAFE: SAFE}
    assert attempt.output.kind == "json"
    assert '"big": 1180591620717411303425' in attempt.output.text
    assert (len(attempt.attributes), attempt.attributes_left_out) == (200, 2_800)
    assert attempt.attributes[0][1].text == SAFE


def deep(levels: int) -> Any:
    return [deep(levels - 1)] if levels else "end"


def test_what_is_long_is_cut_and_can_be_had_whole(store: Store, view: View) -> None:
    text = "word " * 2_000_000
    listed = [{"n": number, "text": "é" * 9} for number in range(20_000)]
    keep(store, [Case(name="one", inputs=listed, metadata={"long": text})], lambda inputs: text, right)
    viewed = view(store)
    found = ask(viewed, "one")
    output = only(found).output
    assert (len(output.text), output.length) == (65_536, len(text))
    assert whole(viewed, output.href) == text.encode()
    assert (found.input.kind, len(found.input.text)) == ("json", 65_536)
    assert msgspec.json.decode(whole(viewed, found.input.href)) == listed
    assert msgspec.json.decode(whole(viewed, found.metadata.href)) == {"long": text}


def test_many_attempts_share_the_room(store: Store, view: View) -> None:
    keep(store, [Case(name="one", inputs=0)], lambda inputs: "x" * 200_000, repeat=210)
    found = ask(view(store), "one")
    assert (len(found.attempts), found.first, found.marks) == (200, 0, "u" * 210)
    assert {len(attempt.output.text) for attempt in found.attempts} == {3_276}
    assert len(msgspec.json.encode(found)) < 2_000_000


def test_every_one_of_many_attempts_can_be_asked_for(store: Store, view: View) -> None:
    said = itertools.count(1)
    keep(store, [Case(name="one", inputs=0)], lambda inputs: next(said), small, repeat=410, max_concurrency=1)
    viewed = view(store)
    last = ask(viewed, "one", rep=401)
    assert (last.first, [attempt.output.text for attempt in last.attempts]) == (
        400,
        [str(n) for n in range(401, 411)],
    )
    assert last.marks == ask(viewed, "one").marks == "p" * 300 + "f" * 110
    assert ask(viewed, "one", rep=200).first == 0
    assert ask(viewed, "one", rep=9_999) == last
    with pytest.raises(Refusal, match="from 1, got 0"):
        ask(viewed, "one", rep=0)


def test_a_verdict_has_its_shape_its_score_and_what_it_kept(store: Store, view: View) -> None:
    keep(store, [Case(name="one", inputs="q")], lambda inputs: Trace(output_text="a"), Partly())
    viewed = view(store)
    (judgement,) = only(ask(viewed, "one")).judgements
    assert judgement.mark == "partial"
    assert judgement.text in {"passed in part (score 0.5)", "did not pass (score 0.5)"}
    assert judgement.reason == "half of it"
    assert judgement.details is not None
    assert "100000000000000000000" in judgement.details.text


def test_a_trace_is_summed_up_and_its_first_failure_named(store: Store, view: View) -> None:
    trace = Trace(
        agent_name="bot", tool_calls=[ToolCall("a"), ToolCall("b", error="no"), ToolCall("c", error="no")]
    )
    keep(
        store,
        [Case(name="one", inputs="q"), Case(name="two", inputs="r")],
        lambda inputs: trace if inputs == "q" else 1,
    )
    viewed = view(store)
    attempt = only(ask(viewed, "one"))
    assert attempt.has_trace
    assert attempt.trace is not None
    assert (attempt.trace.title, attempt.trace.steps, attempt.trace.failed_step) == ("bot", 3, 1)
    bare = only(ask(viewed, "two"))
    assert (bare.has_trace, bare.trace) == (False, None)


def test_an_id_that_no_case_has_is_refused(store: Store, view: View) -> None:
    keep(store, [Case(name="one", inputs="q")], lambda inputs: 1)
    viewed = view(store)
    for wrong in ("0" * 12, "zz", "", "one", "../../etc/passwd"):
        with pytest.raises(Refusal, match="no case of the id"):
            case_answer(viewed, "latest", wrong)


def test_postgresql_gives_the_same(store: Store, view: View, postgresql_url: str) -> None:
    with open_store(postgresql_url) as other:
        answers: list[CaseAnswer] = []
        for each in (store, other):
            keep(
                each,
                [Case(name=HOSTILE, inputs=HOSTILE, metadata={"a": 1})],
                lambda inputs: {"x": HOSTILE},
                right,
            )
            stored = next(found.case_name for found in each.attempts(each.run("latest").id))
            answers.append(ask(view(each), stored))
    one, two = (only(each) for each in answers)
    assert (one.output, answers[0].input, one.judgements) == (two.output, answers[1].input, two.judgements)


# ---------------------------------------------------------------------- sound


def tone(seconds: float = 0.5) -> Audio:
    rate = 8_000
    return Audio.from_samples(
        [0.5 * ((n // 20) % 2 * 2 - 1) * (n < rate / 4) for n in range(int(seconds * rate))], rate
    )


def test_sound_in_values_and_in_files_can_be_heard(store: Store, view: View, tmp_path: Path) -> None:
    sound = tone()
    file = sound.save(tmp_path / "heard" / f"{sound.digest}.wav")
    sound.save(tmp_path / "heard" / "other.wav")

    def task(inputs: Any) -> Any:
        set_eval_attribute("audio", f"heard/{file.name}")
        set_eval_attribute("elsewhere", str(tmp_path / "heard" / "other.wav"))
        set_eval_attribute("passwords", "/etc/passwd")
        set_eval_attribute(
            "embedded", {"input_audio": {"data": base64.b64encode(sound.wav).decode(), "format": "wav"}}
        )
        return {
            "audio": "data:audio/mpeg;base64," + base64.b64encode(b"ID3\x04" + bytes(900)).decode(),
            "x": "SUQz",
        }

    keep(store, [Case(name="one", inputs="q")], task)
    viewed = view(store)
    attempt = only(ask(viewed, "one"))
    assert [(each.title, each.media_type) for each in attempt.sounds] == [
        ("audio", "audio/wav"),
        ("embedded: data", "audio/wav"),
        ("output: audio", "audio/mpeg"),
    ]
    first = attempt.sounds[0]
    assert first.seconds == 0.5
    assert len(first.peaks) == 240
    assert (max(first.peaks[:110]), max(first.peaks[130:])) == (0.5, 0.0)
    assert whole(viewed, first.href) == whole(viewed, attempt.sounds[1].href) == sound.wav
    assert whole(viewed, attempt.sounds[2].href) == b"ID3\x04" + bytes(900)
    shown = dict(attempt.attributes)["embedded"].text
    assert "characters of base64" in shown
    assert len(shown) < 300


def test_what_was_heard_stands_beside_what_was_said(store: Store, view: View) -> None:
    def task(inputs: Any) -> Any:
        set_eval_attribute("transcript", "turn of the light")
        return "ok"

    keep(store, [Case(name="one", inputs="Turn off the light!")], task)
    hearing = only(ask(view(store), "one")).hearing
    assert hearing is not None
    assert hearing.word_error_rate == 0.25
    assert [word.kind for word in hearing.words] == ["same", "changed", "same", "same"]


def test_a_blob_is_saved_and_never_shown(store: Store, view: View) -> None:
    page = "<html><script>alert(1)</script></html>"
    run = keep(store, [Case(name="one", inputs={"page": page})], lambda inputs: page)
    viewed = view(store)
    text = blob_answer(viewed, run, 0, "output")
    assert isinstance(text, Download)
    assert (text.media_type, text.disposition.partition(";")[0]) == (
        "text/plain; charset=utf-8",
        "attachment",
    )
    data = blob_answer(viewed, run, 0, "input")
    assert data.media_type == "application/octet-stream"
    for wrong in (
        "sound-output-0",
        "attribute-0",
        "attribute-",
        "step-0-output",
        "no",
        "../x",
        "step-99999999999-output",
        "details-7",
    ):
        with pytest.raises(Refusal):
            blob_answer(viewed, run, 0, wrong)
    with pytest.raises(Refusal, match="no attempt 5"):
        blob_answer(viewed, run, 5, "output")


def test_values_that_cannot_be_read_where_they_are_say_so_and_the_rest_is_shown(
    store: Store, view: View, tmp_path: Path
) -> None:
    cases = [Case(name="long", inputs="x" * 2000), Case(name="short", inputs=1)]
    run = keep(store, cases, lambda inputs: inputs, small)
    offload_values(store, tmp_path / "values", min_size=1)
    viewed = view(store)
    shown = {name: case_answer(viewed, run, case_id(name)).attempts[0] for name in ("long", "short")}
    (tmp_path / "values").rename(tmp_path / "gone")
    found = {name: case_answer(viewed, run, case_id(name)).attempts[0] for name in ("long", "short")}
    assert found["short"] == shown["short"]
    assert "not readable now" in str(found["long"].output)
    assert found["long"].judgements == shown["long"].judgements


def test_a_trace_that_cannot_be_read_where_it_is_leaves_the_rest_of_the_case(
    store: Store, view: View, tmp_path: Path
) -> None:
    def traced(inputs: Any) -> Any:
        return Trace(output_text="done", tool_calls=[ToolCall("look", {"text": "x" * 5000})])

    run = keep(store, [Case(name="one", inputs=1)], traced, Partly())
    viewed = view(store)
    shown = only(ask(viewed, "one"))
    assert shown.has_trace
    offload_values(store, tmp_path / "values", min_size=1)
    (tmp_path / "values").rename(tmp_path / "gone")
    other = view(store)
    found = only(ask(other, "one"))
    assert found.judgements == shown.judgements
    assert found.trace is None
    with pytest.raises(ValueAwayError, match="cannot be read there now"):
        other.trace(run, 0)
    (tmp_path / "gone").rename(tmp_path / "values")
    assert only(ask(view(store), "one")).trace == shown.trace
