"""Accepted traces in a file that people review."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.comparison.accepted_traces import AcceptedCase, AcceptedStep, AcceptedTrace, AcceptedTraces
from calipers.errors import DatasetFileError, InvalidOptionError

texts = st.text(min_size=1, max_size=4)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
steps = st.builds(
    AcceptedStep, call=texts, arguments=st.none() | st.dictionaries(texts, values, max_size=2)
) | st.builds(AcceptedStep, answer=texts)
outputs = st.just({}) | st.fixed_dictionaries({"has_output": st.just(True), "output": values})
traces = st.builds(
    lambda steps, output, attempts: AcceptedTrace(steps=tuple(steps), attempts=attempts, **output),
    st.lists(steps, max_size=3),
    outputs,
    st.integers(1, 9),
)
cases = st.builds(
    lambda name, inputs, traces: AcceptedCase(name=name, inputs=inputs, traces=tuple(traces)),
    texts,
    texts,
    st.lists(traces, min_size=1, max_size=2),
)


@pytest.mark.parametrize("suffix", ["yaml", "json"])
@given(st.lists(cases, max_size=3, unique_by=lambda case: case.name))
def test_what_is_written_is_read_back_and_written_the_same(suffix, tmp_path_factory, found):
    path = tmp_path_factory.getbasetemp() / f"baseline.{suffix}"
    accepted = AcceptedTraces(cases=tuple(sorted(found, key=lambda case: case.name)))
    accepted.to_file(path)
    again = AcceptedTraces.from_file(path)
    assert again == accepted
    before = path.read_bytes()
    again.to_file(path)
    assert path.read_bytes() == before


GOOD = """\
calipers_baseline: 1
cases:
- case: a
  inputs: "12"
  accepted:
  - attempts: 2
    steps:
    - call: find
      arguments: {city: Rome}
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("calipers_baseline: 1\n", "", "1:1: this is no baseline"),
        (
            "baseline: 1",
            "baseline: 2",
            "1:20: calipers_baseline: this release reads versions up to 1: install a newer",
        ),
        (
            "baseline: 1",
            "baseline: one",
            "1:20: calipers_baseline: expected the version of the format, 1, got 'one'",
        ),
        ("cases:", "case:", "unknown key 'case' (did you mean 'cases'?)"),
        (
            '"12"',
            "12",
            "4:11: cases[0].inputs: expected text, in quotes where it looks like a number, got 12",
        ),
        (
            "attempts: 2",
            "attempts: 0",
            "6:15: cases[0].accepted[0].attempts: expected a whole number from 1, got 0",
        ),
        (
            "call: find",
            "called: find",
            "8:7: cases[0].accepted[0].steps[0].called: unknown key 'called' (did you mean 'call'?)",
        ),
        (
            "{city: Rome}",
            "[Rome]",
            "9:18: cases[0].accepted[0].steps[0].arguments: expected a mapping of names",
        ),
        (
            "      arguments",
            "      answer: x\n      arguments",
            "a step is a `call` of a tool or an `answer` of a model",
        ),
        ("call: find", "answer: find", "an answer has no arguments"),
        (
            "    - call: find\n      arguments: {city: Rome}\n",
            "",
            "7:11: cases[0].accepted[0].steps: expected a list",
        ),
        (
            "cases:\n",
            "cases:\n- {case: a, inputs: '12', accepted: [{steps: []}]}\n",
            "cases[0] is this case, too",
        ),
        ("Rome}", "Rome", "not YAML"),
    ],
)
def test_a_mistake_of_an_editor_is_told_with_its_place(tmp_path, old, new, said):
    path = tmp_path / "baseline.yaml"
    assert old in GOOD
    path.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(DatasetFileError) as caught:
        AcceptedTraces.from_file(path)
    assert said in str(caught.value)


def test_a_case_without_accepted_traces_is_refused(tmp_path):
    path = tmp_path / "baseline.yaml"
    path.write_text("calipers_baseline: 1\ncases: [{case: a, inputs: x, accepted: []}]\n")
    with pytest.raises(DatasetFileError, match="nothing is accepted: add a trace, or remove the case"):
        AcceptedTraces.from_file(path)


def test_what_is_left_out_of_a_file_accepts_any(tmp_path):
    path = tmp_path / "baseline.yaml"
    path.write_text(GOOD.replace("      arguments: {city: Rome}\n", ""))
    (trace,) = AcceptedTraces.from_file(path).cases[0].traces
    assert (trace.steps[0].arguments, trace.has_output) == (None, False)


def test_only_yaml_and_json_are_baselines(tmp_path):
    for act in (AcceptedTraces().to_file, AcceptedTraces.from_file):
        with pytest.raises(InvalidOptionError, match="a baseline is a YAML or JSON file"):
            act(tmp_path / "baseline.csv")
