"""The calls of the pages of a run over HTTP: parameters, files, and what is refused."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from calipers import Case, Dataset
from calipers.data.attempt import set_eval_attribute
from calipers.data.trace import ToolCall, Trace, Turn, TurnType
from calipers.stores import SqliteStore
from calipers.testing import ServedViewer
from calipers.viewer.case_id import case_id
from calipers.voice.audio import Audio


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedViewer]:
    folder = tmp_path_factory.mktemp("pages")
    path = folder / "runs.db"
    sound = Audio.silence(0.25, sample_rate=8_000)
    file = sound.save(folder / f"{sound.digest}.wav")

    def task(inputs: Any) -> Any:
        set_eval_attribute("audio", file.name)
        asked = Turn(turn_type=TurnType.USER_MESSAGE, content="go")
        return Trace(
            turns=[asked, Turn(tool_call=ToolCall("look", {"n": inputs}, output="<b>"))], output_text="done"
        )

    with SqliteStore(path) as store:
        cases = [Case(name=f"a/b {n}", inputs=n, metadata={"lang": "de"}) for n in range(3)]
        Dataset(name="calls", cases=cases).evaluate_sync(task, store=store, name="run", progress=False)
    with ServedViewer(path) as viewer:
        yield viewer


def get(served: ServedViewer, path: str, **options: Any) -> Any:
    return served.ask(f"/api/v1{path}", **options)


CASE = case_id("a/b 1")


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("/runs/run", "headline"),
        ("/runs/run/cases?limit=2&at=1&sort=-name", "rows"),
        ("/runs/run/facets?field=meta.lang", "values"),
        ("/runs/run/groups", "groups"),
        ("/runs/run/slices?by=meta.lang", "slices"),
        (f"/runs/run/cases/{CASE}?q=meta.lang%3Ade", "attempts"),
        ("/runs/run/attempts/1/trace?depth=1", "id"),
        ("/runs/run/attempts/1/steps?ids=0,1", "steps"),
        ("/runs/run/attempts/1/find?text=look", "ids"),
        (f"/cases/{CASE}/history?dataset=calls", "points"),
    ],
)
def test_every_call_answers_and_is_confirmed_by_its_tag(served: ServedViewer, path: str, key: str) -> None:
    answer = get(served, path)
    assert answer.status == 200, answer.body
    assert key in json.loads(answer.body)
    again = get(served, path, headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status, again.body) == (304, b"")


def test_sound_is_sent_in_parts_and_nothing_is_shown_as_a_page(served: ServedViewer) -> None:
    case = json.loads(get(served, f"/runs/latest/cases/{CASE}").body)
    (sound,) = case["attempts"][0]["sounds"]
    whole = served.ask(sound["href"])
    assert (whole.status, whole.headers["content-type"], whole.body[:4]) == (200, "audio/wav", b"RIFF")
    assert whole.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in whole.headers["content-security-policy"]
    part = served.ask(sound["href"], headers={"Range": "bytes=4-11"})
    assert (part.status, part.body) == (206, whole.body[4:12])
    assert part.headers["content-range"] == f"bytes 4-11/{len(whole.body)}"
    body = get(served, "/runs/run/attempts/1/blob/step-1-output")
    assert (body.status, body.body) == (200, b"<b>")
    assert body.headers["content-disposition"].startswith("attachment;")
    assert body.headers["content-type"] == "text/plain; charset=utf-8"


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/runs/nope", 404),
        ("/runs/run/cases/000000000000", 404),
        ("/runs/run/cases?limit=9999", 400),
        ("/runs/run/cases?q=nope%3A1", 400),
        ("/runs/run/cases?nope=1", 400),
        ("/runs/run/attempts/99/trace", 404),
        ("/runs/run/attempts/-1/trace", 404),
        ("/runs/run/attempts/x/trace", 400),
        ("/runs/run/attempts/1/trace?kind=nope", 400),
        ("/runs/run/attempts/1/blob/..%2F..%2Fetc%2Fpasswd", 404),
        ("/cases/000000000000/history", 400),
    ],
)
def test_what_cannot_be_answered_says_why(served: ServedViewer, path: str, status: int) -> None:
    answer = get(served, path)
    assert answer.status == status, answer.body
    assert json.loads(answer.body)["error"]["message"]


def test_the_folder_of_the_store_is_not_served(served: ServedViewer, tmp_path: Path) -> None:
    for name in ("runs.db", "%2e%2e/runs.db", "sound-attribute-0-..", "sound-file-0"):
        assert get(served, f"/runs/run/attempts/1/blob/{name}").status == 404
