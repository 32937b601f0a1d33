"""The JSON Schema of voice files."""

import jsonschema_rs
import pytest

from calipers.files.voice_file import EVALUATORS, KEYS, PROMPT_KEYS, voice_schema
from calipers.files.voice_parts import AGENTS, SYNTHESIZERS
from calipers.voice.perturbations import KINDS

SCHEMA = voice_schema()
VALIDATOR = jsonschema_rs.Draft202012Validator(SCHEMA)
MINIMAL = {"agent": "offline", "prompts": [{"prompt": "hi", "expect": []}]}
NEEDED = {"http": "http://127.0.0.1:9", "websocket": "ws://127.0.0.1:9"}

GOOD = {
    "the least": {},
    "a text as a prompt": {"expect": "stop", "prompts": ["hi"]},
    "calls in three ways": {"expect": ["stop", {"go": {"to": "LA"}}, {"name": "go", "arguments": {}}]},
    "a call without arguments": {"expect": {"stop": None}},
    "everything of a prompt": {
        "prompts": [
            {
                "prompt": "hi",
                "expect": [],
                "name": "n",
                "tags": ["a"],
                "cluster": "c",
                "timeout": 3,
                "metadata": {"a": 1},
                "evaluators": [{"Contains": "x"}],
            }
        ]
    },
    "how to run it": {"runs": 3, "max_concurrency": 2, "compare": "text", "name": "home", "$schema": "x"},
    "no voice": {"synthesizer": "none"},
    "a voice": {"synthesizer": {"espeak": {"voice": "de", "speed": 120}}},
    "an agent with options": {
        "agent": {"http": {"url": "http://x", "headers": {"A": "${B}"}, "parser": {"json": {"single": True}}}}
    },
    "tools": {"agent": {"openai": {"model": "m", "tools": [{"name": "go"}]}}},
    "an agent of one's own": {"agent": {"app:Agent": {"any": "thing"}}},
    "evaluators": {
        "evaluators": ["ExactEvaluator", {"FuzzyEvaluator": {"minimum": 0.9}}, {"MaxDuration": 2}]
    },
    "perturbations": {"perturbation": ["telephone", {"noise": 3}, [{"band": {"low": 1, "high": 2}}]]},
    "a sweep": {"sweep": {"noise": [None, 20, 10]}},
    "a sweep with options": {"sweep": {"noise": {"snr": [20], "color": "pink"}}},
}
BAD = {
    "an unknown key": {"agnet": "offline"},
    "no prompts": {"prompts": []},
    "an empty prompt": {"prompts": [""]},
    "an unknown key of a prompt": {"prompts": [{"prompt": "hi", "expct": []}]},
    "two calls in one mapping": {"expect": {"a": {}, "b": {}}},
    "arguments that are none": {"expect": {"a": 3}},
    "an unknown agent": {"agent": "zebra"},
    "an agent that lacks its address": {"agent": "http"},
    "an unknown option": {"agent": {"http": {"url": "x", "timout": 3}}},
    "an option that is an object": {"agent": {"http": {"url": "x", "client": {}}}},
    "an unknown parser": {"agent": {"http": {"url": "x", "parser": "jsn"}}},
    "an unknown voice option": {"synthesizer": {"espeak": {"sped": 120}}},
    "an unknown perturbation": {"perturbation": "hail"},
    "a wrong option of a perturbation": {"perturbation": {"noise": {"snr": "loud"}}},
    "a sweep over nothing": {"sweep": {"noise": []}},
    "a sweep of two kinds": {"sweep": {"noise": [1], "gain": [1]}},
    "no runs": {"runs": 0},
    "another comparison": {"compare": "speech"},
    "an unknown evaluator": {"evaluators": ["ExactEvaluatr"]},
}


@pytest.mark.parametrize("case", GOOD)
def test_what_a_reader_takes_is_valid(case):
    assert VALIDATOR.is_valid({**MINIMAL, **GOOD[case]})


@pytest.mark.parametrize("case", BAD)
def test_what_a_reader_refuses_is_not(case):
    assert not VALIDATOR.is_valid({**MINIMAL, **BAD[case]})


@pytest.mark.parametrize("kind", AGENTS)
def test_every_agent_is_known(kind):
    agent = kind if kind == "offline" else {kind: NEEDED.get(kind, "a-model")}
    assert VALIDATOR.is_valid({**MINIMAL, "agent": agent})


def test_it_knows_every_name_and_key():
    assert set(SCHEMA["properties"]) == set(KEYS)
    definitions = SCHEMA["$defs"]
    assert set(definitions["voice.prompt"]["properties"]) == set(PROMPT_KEYS)
    for sort, names in {"agent": AGENTS, "synthesizer": SYNTHESIZERS, "perturbation": KINDS}.items():
        assert set(definitions[f"voice.{sort}"]["anyOf"][2]["properties"]) == set(names)
    evaluators = definitions["dataset.evaluator"]["anyOf"][2]["properties"]
    assert {kind.__name__ for kind in EVALUATORS} <= set(evaluators)


def test_every_reference_to_a_part_leads_to_its_definition():
    def references(value):
        if isinstance(value, dict):
            yield from ([value["$ref"]] if isinstance(value.get("$ref"), str) else [])
            for each in value.values():
                yield from references(each)
        elif isinstance(value, list):
            for each in value:
                yield from references(each)

    ours = {each for each in references(SCHEMA) if each.startswith(("#/$defs/voice.", "#/$defs/dataset."))}
    assert len(ours) > 5
    assert {each.removeprefix("#/$defs/") for each in ours} <= set(SCHEMA["$defs"])


def test_evaluators_of_ones_own_are_added():
    def brief(output: str, words: int) -> bool:
        return len(output.split()) <= words

    validator = jsonschema_rs.Draft202012Validator(voice_schema([brief]))
    assert validator.is_valid({**MINIMAL, "evaluators": [{"brief": 3}]})
    assert not validator.is_valid({**MINIMAL, "evaluators": [{"brief": "x"}]})
