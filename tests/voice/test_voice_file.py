"""A whole voice test in a file."""

import json
from textwrap import dedent

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import DatasetFileError, InvalidOptionError
from calipers.files.voice_file import KEYS, PROMPT_KEYS
from calipers.matching import CallOf, Regex
from calipers.voice import (
    Audio,
    AudioCache,
    CachedSynthesizer,
    ExactEvaluator,
    FuzzyEvaluator,
    load_voice_file,
    tool_call,
    voice_schema,
)
from calipers.voice.demo import OfflineAgent
from calipers.voice.perturbations import KINDS, Babble, Chain, Gain, Noise, PacketLoss, Telephone
from calipers.voice.perturbations.background import PromptBabble
from calipers.voice.synthesizers import EspeakSynthesizer

VALIDATOR = jsonschema_rs.Draft202012Validator(voice_schema())
MINIMAL = """
    agent: offline
    prompts:
      - prompt: cancel the timer
        expect: cancel_timer
"""


@pytest.fixture
def load(tmp_path):
    def load(text, *, name="home.yaml", **options):
        path = tmp_path / name
        path.write_text(dedent(text), encoding="utf-8")
        return load_voice_file(path, **options)

    return load


@pytest.fixture
def problems(load):
    """What is wrong with a file, one line each, without its folder."""

    def problems(text, **options):
        with pytest.raises(DatasetFileError) as caught:
            load(text, **options)
        return [str(each).partition("/home.yaml:")[2] for each in caught.value.problems]

    return problems


def test_a_file_needs_an_agent_and_prompts_and_no_more(load):
    file = load(MINIMAL)
    assert file.name == "home"
    assert file.agent == OfflineAgent()
    assert file.synthesizer == EspeakSynthesizer()
    assert file.evaluators == [ExactEvaluator()]
    assert (file.perturbation, file.sweep, file.compare_text, file.runs, file.max_concurrency) == (
        None,
        None,
        False,
        1,
        None,
    )
    (case,) = file.cases
    assert (case.name, case.inputs, case.expected_output) == (
        "cancel the timer",
        "cancel the timer",
        [CallOf("cancel_timer")],
    )


def test_a_file_may_say_everything(load):
    file = load("""
        name: my home
        agent: {offline: {max_distance: 0.5}}
        synthesizer: {espeak: {voice: de, speed: 120}}
        evaluators:
          - FuzzyEvaluator: {minimum: 0.9}
          - MaxDuration: 2
        perturbation: [{gain: -3}, telephone]
        sweep: {noise: [20, 0]}
        compare: text
        runs: 3
        max_concurrency: 2
        expect: []
        prompts:
          - hello there
          - prompt: turn on the lights
            name: lights
            tags: [light]
            cluster: lights
            timeout: 5
            metadata: {priority: 1}
            evaluators: [{Contains: x}]
            expect: [{set_light: {on: true}}]
    """)
    assert (file.name, file.runs, file.max_concurrency, file.compare_text) == ("my home", 3, 2, True)
    assert file.agent.max_distance == 0.5
    assert file.synthesizer == EspeakSynthesizer("de", speed=120)
    assert file.evaluators[0] == FuzzyEvaluator(minimum=0.9)
    assert [type(each).__name__ for each in file.evaluators] == ["FuzzyEvaluator", "MaxDuration"]
    assert file.perturbation == Gain(-3) + Telephone()
    hello, lights = file.cases
    assert (hello.name, hello.expected_output) == ("hello there", [])
    assert (lights.name, lights.tags, lights.cluster, lights.timeout, lights.metadata) == (
        "lights",
        ("light",),
        "lights",
        5,
        {"priority": 1},
    )
    assert lights.expected_output == [tool_call("set_light", on=True)]
    assert len(lights.evaluators) == 1


def test_json_says_the_same(load):
    data = {"agent": "offline", "prompts": [{"prompt": "cancel the timer", "expect": ["cancel_timer"]}]}
    assert load(json.dumps(data), name="home.json").cases[0].expected_output == [CallOf("cancel_timer")]


@pytest.mark.parametrize(
    ("expect", "calls"),
    [
        ("[]", []),
        ("lock", [CallOf("lock")]),
        ("[lock, lock]", [CallOf("lock"), CallOf("lock")]),
        ("{lock: }", [tool_call("lock")]),
        ("{lock: {}}", [tool_call("lock")]),
        ("{name: lock, matchers: {door: {regex: ^b}}}", [tool_call("lock", door=Regex("^b"))]),
        ("{lock: {door: back, on: true}}", [tool_call("lock", door="back", on=True)]),
        ("{name: lock, arguments: {door: back}}", [tool_call("lock", door="back")]),
        ("[{name: lock}, {call: {name: anna}}]", [tool_call("lock"), tool_call("call", name="anna")]),
        ("[{set: {to: null, list: [1, {a: b}]}}]", [tool_call("set", to=None, list=[1, {"a": "b"}])]),
    ],
)
def test_a_call_is_written_in_several_ways(load, expect, calls):
    file = load(f"{{agent: offline, prompts: [{{prompt: hi, expect: {expect}}}]}}")
    assert file.cases[0].expected_output == calls


def test_prompts_without_a_name_are_named_for_what_is_said(load):
    file = load("""
        agent: offline
        expect: []
        prompts: [hello, hello, {prompt: other, name: hello_2}, {prompt: hi, name: hello_3}]
    """)
    assert [case.name for case in file.cases] == ["hello", "hello_4", "hello_2", "hello_3"]


# ---------------------------------------------------------------------- what happens to the sound


@pytest.mark.parametrize(
    ("sweep", "perturbation", "label", "levels"),
    [
        ("{noise: [20, 0]}", "null", "noise snr", {20: Chain(Noise(20)), 0: Chain(Noise(0))}),
        ("{noise: [null, 0]}", "null", "noise snr", {None: None, 0: Chain(Noise(0))}),
        ("{noise: {snr: [5], color: pink}}", "null", "noise snr", {5: Chain(Noise(5, color="pink"))}),
        ("{noise: [5]}", "telephone", "noise snr", {5: Noise(5) + Telephone()}),
        (
            "{noise: [null, 5]}",
            "[{gain: 1}, {noise: 9}, telephone]",
            "noise snr",
            {None: Gain(1) + Telephone(), 5: Gain(1) + Noise(5) + Telephone()},
        ),
        (
            "{noise: [null, 5]}",
            "[{noise: {snr: 20, color: pink, seed: 4}}, telephone]",
            "noise snr",
            {None: Chain(Telephone()), 5: Noise(5, color="pink", seed=4) + Telephone()},
        ),
        (
            "{noise: {snr: [5], seed: 1}}",
            "{noise: {snr: 20, color: pink, seed: 4}}",
            "noise snr",
            {5: Chain(Noise(5, color="pink", seed=1))},
        ),
        (
            "{packet_loss: [0.1]}",
            "[telephone, {packet_loss: 0.5}]",
            "packet_loss rate",
            {0.1: Telephone() + PacketLoss(0.1)},
        ),
    ],
)
def test_a_level_takes_the_place_of_its_kind_or_comes_first(load, sweep, perturbation, label, levels):
    file = load(
        f"{{agent: offline, expect: [], prompts: [hi], sweep: {sweep}, perturbation: {perturbation}}}"
    )
    assert file.sweep.label == label
    assert dict(file.sweep.perturbations) == levels


def test_an_expectation_of_all_prompts_that_is_wrong_is_told_once(problems):
    assert problems("{agent: offline, expect: {a: 3}, prompts: [x, y]}") == [
        "1:26: expect: no call can be expected as {'a': 3}: the arguments of tool call 'a' must be a mapping, got 3"
    ]


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"babble"}))
def test_levels_are_those_of_the_first_option_of_any_kind(load, kind):
    value = "alaw" if kind in {"telephone", "codec"} else 0.5
    options = {"high": 3000} if kind == "band" else {}
    first = KINDS[kind](value, **options)
    given = {kind: {next(iter(vars(first))): [value], **options}}
    file = load(json.dumps({"agent": "offline", "expect": [], "prompts": ["hi"], "sweep": given}))
    assert dict(file.sweep.perturbations) == {value: Chain(first)}


def test_sounds_that_a_file_names_are_found_from_its_folder(load, tmp_path, monkeypatch):
    monkeypatch.chdir("/")
    Audio.from_samples([0.5, -0.5] * 50, 8000).save(tmp_path / "voices" / "a.wav")
    file = load(
        "{agent: offline, expect: [], prompts: [hi], perturbation: {babble: {snr: 3, voices: [voices/a.wav]}}}"
    )
    assert file.perturbation.apply(Audio.from_samples([0.1, 0.2], 8000)).frames == 2


def test_babble_without_voices_is_made_of_the_other_prompts(load, tmp_path, voice):
    file = load(
        "{agent: offline, expect: [], prompts: [one, two, three], perturbation: [{babble: 3}], sweep: {babble: [9]}}"
    )
    assert file.perturbation == Chain(PromptBabble(3))
    assert dict(file.sweep.perturbations) == {9: Chain(PromptBabble(9))}
    sound = voice.synthesize("one")
    task = file.task(synthesizer=voice)
    heard = task.perturbation.apply(sound)
    others = [voice.synthesize(prompt) for prompt in ("one", "two", "three")]
    assert heard == Babble(3, others).apply(sound)
    louder = file.task(synthesizer=voice, perturbation=file.sweep.perturbations[9])
    assert louder.perturbation.apply(sound) == Babble(9, others).apply(sound)


def test_an_empty_perturbation_is_none(load):
    assert load("{agent: offline, expect: [], prompts: [hi], perturbation: []}").perturbation is None


# ---------------------------------------------------------------------- as a run


def test_a_file_is_a_dataset_and_a_task(load, tmp_path):
    file = load(MINIMAL)
    assert file.dataset().name == "home"
    plain_task = file.task()
    assert plain_task.synthesizer is file.synthesizer
    cache = AudioCache(tmp_path / "cache")
    task = file.task(cache=cache, keep_audio=False)
    assert isinstance(task.synthesizer, CachedSynthesizer)
    assert task.synthesizer.cache is cache
    assert task.keep_audio is False
    assert file.task(synthesizer=None, perturbation=None).synthesizer is None


def test_without_a_synthesizer_the_agent_reads(load):
    file = load(MINIMAL + "    synthesizer: none\n")
    report = file.dataset().evaluate_sync(file.task(), progress=False)
    assert report.cases[0].passed
    assert "audio" not in report.cases[0].attributes


# ---------------------------------------------------------------------- what is wrong


def test_everything_that_is_wrong_is_told_at_once_with_its_place(problems):
    assert problems("""\
        agnt: offline
        name: 3
        synthesizer: espeek
        evaluators: [ExactEvaluatr]
        compare: speech
        runs: 0
        perturbation: [telephone, {noise: loud}]
        sweep: {noise: [1, 1]}
        prompts:
          - hello
          - prompt: bye
            expect: [3]
            tag: x
        """) == [
        "1:1: agnt: unknown key 'agnt' (did you mean 'agent'?)",
        "1:1: the file names no agent",
        "2:7: name: expected text, got 3",
        "3:14: synthesizer: no synthesizer is called 'espeek' (did you mean 'espeak'?)",
        "4:14: evaluators[0]: no evaluator is called 'ExactEvaluatr' (did you mean 'ExactEvaluator'?)",
        "5:10: compare: expected text, the one thing that speech is compared with, got 'speech'",
        "6:7: runs: expected a whole number from 1, got 0",
        "7:27: perturbation[1]: snr must be a number from -200 to 200, got 'loud'",
        "8:20: sweep.noise[1]: expected a level, and each one once, got 1",
        "10:5: prompts[0]: nothing is expected of this prompt: give it expect, or expect: [] for no call",
        "12:14: prompts[1].expect[0]: no call can be expected as 3: an expected call is the name of a tool, {tool: arguments}, or a mapping with name, arguments and matchers, got 3",
        "13:5: prompts[1].tag: unknown key 'tag' (did you mean 'tags'?)",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "1:1: the file is empty"),
        ("- hello", "1:1: expected a voice test, with agent and prompts"),
        ("agent: offline", "1:1: expected a list of prompts, with at least one"),
        (
            "{agent: offline, prompts: []}",
            "1:27: prompts: expected a list of prompts, with at least one, got []",
        ),
        ("{agent: offline, prompts: hello}", "expected a list of prompts, with at least one, got 'hello'"),
        ("{agent: offline, prompts: [3]}", "prompts[0]: expected a text, or a prompt with prompt, expect"),
        (
            "{agent: offline, expect: [], prompts: ['']}",
            "prompts[0].prompt: expected a prompt, the text that is said, got ''",
        ),
        (
            "{agent: offline, expect: [], prompts: [{name: x}]}",
            "prompts[0]: expected a prompt, the text that is said",
        ),
        ("{agent: offline, prompts: [{prompt: x, expect: }]}", "write [] if no tool should be called"),
        (
            "{agent: offline, prompts: [{prompt: x, expect: {a: 3}}]}",
            "prompts[0].expect: no call can be expected as {'a': 3}: the arguments of tool call 'a' must be a mapping",
        ),
        (
            "{agent: offline, prompts: [{prompt: x, expect: {a: {1: 2}}}]}",
            "arguments go by their names",
        ),
        (
            "{agent: offline, prompts: [{prompt: x, expect: {a: {}, b: {}}}]}",
            (
                "prompts[0].expect: no call can be expected as {'a': {}, 'b': {}}: it names several tools; for several calls "
                "give a list, [{a: ...}, {b: ...}]"
            ),
        ),
        (
            "{agent: offline, prompts: [{prompt: x, expect: {name: a, args: {}}}]}",
            "an expected call has no 'args': it has name, arguments and matchers",
        ),
        (
            "{agent: offline, expect: [], prompts: [{prompt: x, name: n}, {prompt: y, name: n}]}",
            "prompts[1].name: prompts[0] has this name, too, got 'n'",
        ),
        (
            "{agent: offline, expect: [], prompts: [{prompt: x, timeout: -1}]}",
            "expected a positive number of seconds, got -1",
        ),
        (
            "{agent: offline, expect: [], prompts: [x], runs: true}",
            "runs: expected a whole number from 1, got True",
        ),
        (
            "{agent: offline, expect: [], prompts: [x], sweep: [1]}",
            "sweep: expected levels of one kind, as in {noise: [20, 10, 0]}",
        ),
        (
            "{agent: offline, expect: [], prompts: [x], sweep: {nose: [1]}}",
            "as in {noise: [20, 10, 0]} (did you mean 'noise'?); kinds are",
        ),
        (
            "{agent: offline, expect: [], prompts: [x], sweep: {noise: 3}}",
            "sweep.noise: expected a list of levels: values of snr, or null for none, got 3",
        ),
        (
            "{agent: offline, expect: [], prompts: [x], sweep: {noise: {color: [pink]}}}",
            "sweep.noise.snr: expected a list of levels",
        ),
        (
            "{agent: offline, expect: [], prompts: [x], sweep: {noise: [.nan]}}",
            "snr must be a number from -200 to 200, got nan",
        ),
        ("{agent: offline, expect: [], prompts: [x], compare: {text: 1}}", "compare: expected text"),
        (
            "{agent: offline, expect: [], prompts: [x], synthesizer: none, perturbation: telephone}",
            "so perturbation has no effect",
        ),
        (
            "{agent: offline, expect: [], prompts: [x], synthesizer: none, compare: text}",
            "so compare has no effect",
        ),
        (
            "{agent: offline, expect: [], prompts: [x], perturbation: {babble: 3}}",
            "perturbation: there are no other prompts to babble with: give more prompts, or voices",
        ),
        (
            "{agent: offline, expect: [], prompts: [x, y], perturbation: {babble: loud}}",
            "snr must be a number from -200 to 200, got 'loud'",
        ),
        ("{agent: 'app:agent', expect: [], prompts: [x]}", "agents of the module 'app' are not allowed here"),
    ],
    ids=lambda value: value[:60],
)
def test_whatever_is_wrong_is_a_problem_and_no_crash(problems, text, message):
    found = problems(text)
    assert any(message in each for each in found), found


words = st.sampled_from(
    [
        *KEYS[1:],
        *PROMPT_KEYS,
        "offline",
        "http",
        "url",
        "headers",
        "noise",
        "babble",
        "snr",
        "text",
        "${X}",
        "a:b",
        "",
    ]
)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.floats(allow_nan=False, allow_infinity=False) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(KEYS[1:]), values, min_size=1, max_size=3), values)
def test_whatever_a_file_says_it_is_read_or_its_problems_are_told_and_what_is_read_is_valid(
    tmp_path_factory, changes, prompt
):
    prompts = [{"prompt": "hi", "expect": []}, {"prompt": "ho", "expect": [], "metadata": prompt}]
    data = {"agent": "offline", "prompts": prompts, **changes}
    path = tmp_path_factory.getbasetemp() / "any.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    problems = None
    try:
        load_voice_file(path)
    except DatasetFileError as error:
        problems = error.problems
    if problems is None:
        assert VALIDATOR.is_valid(data)
    else:
        assert problems
        assert all(problem.line for problem in problems)


def test_an_agent_must_have_the_senses_that_the_file_needs(problems, tmp_path, monkeypatch):
    (tmp_path / "senses.py").write_text(
        "def hears(audio):\n    return []\n\nclass Reader:\n    def run_text(self, text):\n        return []\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(tmp_path)
    head, allow = "expect: []\nprompts: [x]\n", {"allow_modules": ["senses"]}
    assert problems(head + "agent: senses:hears\ncompare: text", **allow) == [
        "4:10: compare: the agent cannot read a text: it has no method run_text"
    ]
    assert problems(head + "agent: senses:hears\nsynthesizer: none", **allow)[0].endswith(
        "it has no method run_text"
    )
    assert problems(head + "agent: senses:Reader", **allow) == [
        "3:8: agent: this agent cannot hear (it has no method run): say synthesizer: none"
    ]


def test_a_voice_file_is_yaml_or_json(load, tmp_path):
    with pytest.raises(InvalidOptionError, match="a voice file is YAML or JSON"):
        load("x", name="home.csv")
    with pytest.raises(InvalidOptionError, match="a voice file is YAML or JSON"):
        load("x", name="home.txt")
    with pytest.raises(FileNotFoundError):
        load_voice_file(tmp_path / "nowhere.yaml")
