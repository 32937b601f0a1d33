"""A whole voice test in a YAML or JSON file: what is said, who says it, who hears it, and who judges.

```yaml
agent: offline
prompts:
  - prompt: Turn on the kitchen lights
    expect:
      - set_light: {room: kitchen, on: true}
```

| key | what it says |
|---|---|
| `prompts` | the requests: a text, or `prompt`, `expect` and whatever else a case has |
| `expect` | the expected calls of every prompt that has none of its own |
| `agent` | who hears |
| `synthesizer` | who speaks; default: `espeak`. With `none`, the agent reads |
| `evaluators` | who judges, as in dataset files; default: `ExactEvaluator` |
| `perturbation` | what happens to the sound |
| `sweep` | levels of a perturbation to compare |
| `compare` | `text`: give every prompt as text, too, and tell hearing from deciding |
| `runs`, `max_concurrency` | how often to say each prompt, and how many at once |
| `name` | of the dataset; default: that of the file |

An expected call is the name of a tool (with any arguments), `{tool: {argument: value}}` (`{tool: {}}` for none), or
`{name: tool, arguments: {…}, matchers: {…}}`, as everywhere (`calipers.matching.read_call`). A prompt without expected calls is
a problem of the file; `expect: []` means that no tool should be called. All problems of a file are reported at once, each with
its line and column.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

from calipers.data.argument_checks import did_you_mean, is_whole_number
from calipers.data.case import Case
from calipers.data.trace import ToolCall
from calipers.errors import DatasetFileError, InvalidAudioError, InvalidOptionError
from calipers.run.dataset import Dataset
from calipers.voice.audio import Audio
from calipers.voice.cache import AudioCache, CachedSynthesizer
from calipers.voice.evaluators import ExactEvaluator, FuzzyEvaluator, SemanticEvaluator, SubsetEvaluator
from calipers.voice.expectation import CIRCUMSTANCES, expected_call
from calipers.voice.function_agent import can_read
from calipers.voice.perturbations import KINDS, Babble, Chain, Perturbation, from_spec
from calipers.voice.perturbations.background import PromptBabble, PromptVoices, said_by
from calipers.voice.pipeline import VoiceTask, case_names
from calipers.voice.protocols import Agent, Synthesizer, TextAgent

from .case_data import CaseReader, check_keys
from .catalog import Catalog
from .dataset_document import DOCUMENTS, format_of, read_data
from .problem import ABSENT, Problem, Problems, Steps, problems_text
from .schema import Definitions, Named, dataset_schema, first_line, named_forms
from .value_type import case_types
from .voice_parts import AGENTS, PARSERS, SYNTHESIZERS, NamedParts, part_parameters

KEYS = (
    *("$schema", "name", "agent", "synthesizer", "evaluators", "perturbation", "sweep", "compare"),
    *("runs", "max_concurrency", "expect", "prompts"),
)
"""What a voice file may say."""
PROMPT_KEYS = ("prompt", "expect", "name", "tags", "cluster", "timeout", "metadata", "evaluators")
"""What a prompt may say."""
EVALUATORS = (ExactEvaluator, FuzzyEvaluator, SubsetEvaluator, SemanticEvaluator)
"""Evaluators for voice files, besides those of dataset files."""


@dataclass(frozen=True)
class Levels:
    """Levels of a perturbation to compare."""

    label: str
    """What the level is: `noise snr`."""
    perturbations: Mapping[Any, Chain | None]
    """What happens to the sound at each level."""


@dataclass(frozen=True, kw_only=True)
class VoiceFile:
    """What a voice file says."""

    path: Path
    name: str
    """Of the dataset."""
    cases: list[Case[str, list[ToolCall], Any]]
    """The prompt as inputs, the expected calls as expected output."""
    agent: Agent | TextAgent
    synthesizer: Synthesizer | None
    """`None`: the agent reads."""
    evaluators: list[Any] = field(default_factory=list)
    perturbation: Chain | None = None
    sweep: Levels | None = None
    compare_text: bool = False
    """Whether to give every prompt as text, too."""
    runs: int = 1
    max_concurrency: int | None = None

    def dataset(self) -> Dataset[str, list[ToolCall], Any]:
        """Its cases and evaluators."""
        return Dataset(name=self.name, cases=self.cases, evaluators=self.evaluators)

    def task(self, *, cache: AudioCache | None = None, **options: Any) -> VoiceTask:
        """The task that says the prompts to the agent.

        Args:
            cache: where sounds are kept and looked for; `None` for nowhere.
            **options: those of `VoiceTask`, before what the file says.
        """
        voice = self.synthesizer
        if voice is not None and cache is not None:
            voice = CachedSynthesizer(voice, cache=cache)
        parts = {"synthesizer": voice, "perturbation": self.perturbation, **options}
        if parts["synthesizer"] is not None and isinstance(heard := parts["perturbation"], Perturbation):
            voices = PromptVoices([case.inputs for case in self.cases], parts["synthesizer"])
            parts["perturbation"] = said_by(heard, voices)
        return VoiceTask(self.agent, **parts)


def load_voice_file(
    path: str | PathLike[str],
    *,
    allow_modules: Sequence[str] = (),
    evaluator_types: Sequence[Callable[..., Any]] = (),
) -> VoiceFile:
    """What a voice file says.

    Args:
        path: a YAML or JSON file.
        allow_modules: modules from which it may take an agent, a synthesizer or evaluators as `module:Name`;
            `package.*` allows a package.
        evaluator_types: classes and functions of your own that it may name.

    Raises:
        DatasetFileError: something is wrong with it; the message lists everything that is.
        InvalidOptionError: the file is neither YAML nor JSON by its name.
        MissingExtraError: a part needs a package that is not installed.
        OSError: the file cannot be read.
    """
    found, problems = _read(
        Path(path), NamedParts(allow_modules), Catalog([*EVALUATORS, *evaluator_types], allow_modules)
    )
    if problems or found is None:
        raise DatasetFileError(problems_text(problems), problems)
    return found


def check_voice_file(
    path: str | PathLike[str],
    *,
    allow_modules: Sequence[str] = (),
    evaluator_types: Sequence[Callable[..., Any]] = (),
) -> list[Problem]:
    """Everything that is wrong with a voice file; an empty list if it can be run as it is. No agent is asked.

    The arguments are those of `load_voice_file`.

    Raises:
        InvalidOptionError: the file is neither YAML nor JSON by its name.
        MissingExtraError: a part needs a package that is not installed.
        OSError: the file cannot be read.
    """
    catalog = Catalog([*EVALUATORS, *evaluator_types], allow_modules)
    return _read(Path(path), NamedParts(allow_modules), catalog)[1]


def _read(path: Path, parts: NamedParts, catalog: Catalog) -> tuple[VoiceFile | None, list[Problem]]:
    try:
        form = format_of(path)
    except InvalidOptionError:
        form = None
    if form not in DOCUMENTS:
        raise InvalidOptionError(
            f"a voice file is YAML or JSON: {str(path)!r} is neither; end its name with .yaml, .yml or .json"
        )
    problems = Problems(str(path))
    data = read_data(path, form, problems)
    if data is ABSENT:
        return None, problems.found
    if not isinstance(data, dict):
        problems.add((), "expected a voice test, with agent and prompts", data)
        return None, problems.found
    found = _Reader(path, parts, catalog, problems).read(data)
    problems.found.sort(key=lambda problem: (problem.line or 0, problem.column or 0))
    return found, problems.found


class _Reader:
    """Reads one file, and notes what is wrong with it."""

    def __init__(self, path: Path, parts: NamedParts, catalog: Catalog, problems: Problems) -> None:
        self.path = path
        self.parts = parts
        self.problems = problems
        self.cases = CaseReader(case_types(None), catalog)
        self.count = 0
        """How many prompts there are."""
        self.checked_sounds: list[Any] = []

    def read(self, data: dict[Any, Any]) -> VoiceFile | None:
        """What the file says, or `None` if something is wrong."""
        problems = self.problems
        self.count = len(data["prompts"]) if isinstance(data.get("prompts"), list) else 0
        check_keys(data, KEYS, (), problems)
        name = data.get("name")
        if name is not None and not isinstance(name, str):
            problems.add(("name",), "expected text", name)
        synthesizer = self._synthesizer(data)
        spec = data.get("perturbation")
        made = None if spec is None else self._perturbation(spec, ("perturbation",))
        perturbation = None if made is None or not made.parts else Chain(made)
        parts: dict[str, Any] = {
            "cases": self._prompts(data),
            "agent": self._agent(data),
            "evaluators": self._evaluators(data),
            "sweep": self._sweep(data.get("sweep"), perturbation),
            "compare_text": self._compares(data.get("compare")),
            "runs": self._count(data, "runs") or 1,
            "max_concurrency": self._count(data, "max_concurrency"),
        }
        self._check_senses(data, parts["agent"])
        if problems.found:
            return None
        return VoiceFile(
            path=self.path,
            name=name or self.path.stem,
            synthesizer=synthesizer,
            perturbation=perturbation,
            **parts,
        )

    # ------------------------------------------------------------------ who takes part

    def _agent(self, data: dict[Any, Any]) -> Any:
        if data.get("agent") is None:
            self.problems.add((), "the file names no agent")
            return None
        return self.parts.agent(data["agent"], ("agent",), self.problems)

    def _check_senses(self, data: dict[Any, Any], agent: Any) -> None:
        """Note what the agent would have to hear or read, but cannot."""
        reads = data.get("synthesizer") == "none"
        for key in ("perturbation", "sweep", "compare"):
            if reads and data.get(key) is not None:
                message = f"nothing is said where synthesizer is none, so {key} has no effect"
                self.problems.add((key,), message, of_key=True)
        if agent is None:
            return
        if not reads and not isinstance(agent, Agent):
            self.problems.add(
                ("agent",), "this agent cannot hear (it has no method run): say synthesizer: none"
            )
        if (reads or data.get("compare") == "text") and not can_read(agent):
            key = "synthesizer" if reads else "compare"
            self.problems.add((key,), "the agent cannot read a text: it has no method run_text")

    def _synthesizer(self, data: dict[Any, Any]) -> Any:
        given = data.get("synthesizer")
        if given == "none":
            return None
        return self.parts.synthesizer("espeak" if given is None else given, ("synthesizer",), self.problems)

    def _evaluators(self, data: dict[Any, Any]) -> list[Any]:
        if "evaluators" not in data:
            return [ExactEvaluator()]
        return self.cases.read_evaluators(data["evaluators"], ("evaluators",), self.problems)

    # ------------------------------------------------------------------ what is said

    def _prompts(self, data: dict[Any, Any]) -> list[Any]:
        prompts = data.get("prompts")
        if not isinstance(prompts, list) or not prompts:
            message = "expected a list of prompts, with at least one"
            self.problems.add(("prompts",) if "prompts" in data else (), message, data.get("prompts", ABSENT))
            return []
        usual = self._calls(data["expect"], ("expect",)) if "expect" in data else None
        if usual is None and "expect" in data:
            usual = []  # so that its problem is not repeated for every prompt
        cases = [self._prompt(each, ("prompts", index), usual) for index, each in enumerate(prompts)]
        found = [case for case in cases if case is not None]
        first: dict[str, int] = {}
        for index, case in enumerate(cases):
            if case is not None and case.name is not None and first.setdefault(case.name, index) != index:
                steps = ("prompts", index, "name")
                self.problems.add(steps, f"prompts[{first[case.name]}] has this name, too", case.name)
        unnamed = [case for case in found if case.name is None]
        names = case_names([case.inputs for case in unnamed], taken=first)
        for case, name in zip(unnamed, names, strict=True):
            case.name = name
        return found

    def _prompt(self, data: Any, steps: Steps, usual: list[ToolCall] | None) -> Case[Any, Any, Any] | None:
        if isinstance(data, str):
            data = {"prompt": data}
        if not isinstance(data, dict):
            self.problems.add(steps, f"expected a text, or a prompt with {', '.join(PROMPT_KEYS)}", data)
            return None
        before = len(self.problems.found)
        check_keys(data, PROMPT_KEYS, steps, self.problems)
        prompt = data.get("prompt")
        if not isinstance(prompt, str) or not prompt.strip():
            at = (*steps, "prompt") if "prompt" in data else steps
            self.problems.add(at, "expected a prompt, the text that is said", data.get("prompt", ABSENT))
        calls = self._calls(data["expect"], (*steps, "expect")) if "expect" in data else usual
        if calls is None and "expect" not in data:
            self.problems.add(
                steps, "nothing is expected of this prompt: give it expect, or expect: [] for no call"
            )
        others = {key: value for key, value in data.items() if key in PROMPT_KEYS[2:]}
        case = self.cases.read({**others, "inputs": prompt, "expected_output": calls}, steps, self.problems)
        return case if len(self.problems.found) == before else None

    def _calls(self, expect: Any, steps: Steps) -> list[ToolCall] | None:
        """The expected calls, or `None` if something is wrong with them."""
        if expect is None:
            self.problems.add(steps, "expected a list of calls: write [] if no tool should be called", expect)
            return None
        if not isinstance(expect, list):
            call = self._call(expect, steps)
            return None if call is None else [call]
        calls = [self._call(each, (*steps, index)) for index, each in enumerate(expect)]
        return None if None in calls else [call for call in calls if call is not None]

    def _call(self, data: Any, steps: Steps) -> ToolCall | None:
        try:
            return expected_call(data)
        except InvalidOptionError as error:
            self.problems.add(steps, str(error))
            return None

    # ------------------------------------------------------------------ what happens to the sound

    def _perturbation(
        self, spec: Any, steps: Steps, *, voices_at: Steps | None = None
    ) -> Perturbation | None:
        if isinstance(spec, list):
            parts = [self._perturbation(each, (*steps, index)) for index, each in enumerate(spec)]
            return Chain(*(each for each in parts if each is not None))
        named = isinstance(spec, dict) and isinstance(spec.get("babble"), dict) and "voices" in spec["babble"]
        try:
            made = from_spec(spec, kinds=KINDS if named else {**KINDS, "babble": PromptBabble})
        except (InvalidOptionError, TypeError) as error:
            self.problems.add(steps, str(error))
            return None
        if isinstance(made, PromptBabble) and self.count < 2:
            self.problems.add(
                steps, "there are no other prompts to babble with: give more prompts, or voices"
            )
        if not isinstance(made, Babble):
            return made
        # Files that are named here are found from the folder of this one.
        voices = [self.path.parent / voice if isinstance(voice, str) else voice for voice in made.voices]
        self._check_voices(voices, voices_at or (*steps, "babble", "voices"))
        return Babble(made.snr, voices, made.count, made.seed)

    def _check_voices(self, voices: Sequence[Any], steps: Steps) -> None:
        """Note which files hold no sound, each once: a sweep names them for all its levels."""
        for index, voice in enumerate(voices):
            if voice in self.checked_sounds:
                continue
            self.checked_sounds.append(voice)
            try:
                Audio.load(voice).decode()
            except (InvalidAudioError, OSError) as error:
                self.problems.add((*steps, index), f"this voice cannot be heard: {error}")

    def _sweep(self, spec: Any, base: Chain | None) -> Levels | None:
        if spec is None:
            return None
        if not isinstance(spec, dict) or len(spec) != 1 or next(iter(spec)) not in KINDS:
            kinds = ", ".join(sorted(KINDS))
            hint = (
                did_you_mean(str(next(iter(spec))), KINDS)
                if isinstance(spec, dict) and len(spec) == 1
                else ""
            )
            self.problems.add(
                ("sweep",),
                f"expected levels of one kind, as in {{noise: [20, 10, 0]}}{hint}; kinds are {kinds}",
                spec,
            )
            return None
        ((kind, given),) = spec.items()
        # What the file says of this kind under `perturbation` holds at every level.
        usual = _options(next((part for part in base.parts if part.kind == kind), None) if base else None)
        option = fields(KINDS[kind])[0].name
        others = (
            {key: value for key, value in given.items() if key != option} if isinstance(given, dict) else {}
        )
        steps: Steps = ("sweep", kind, option) if isinstance(given, dict) else ("sweep", kind)
        values = given.get(option) if isinstance(given, dict) else given
        if not isinstance(values, list) or not values:
            self.problems.add(
                steps, f"expected a list of levels: values of {option}, or null for none", values
            )
            return None
        levels: dict[Any, Chain | None] = {}
        for index, value in enumerate(values):
            at = (*steps, index)
            if isinstance(value, dict | list) or value in levels:
                self.problems.add(at, "expected a level, and each one once", value)
                continue
            part = None
            if value is not None:
                spec = {kind: {**usual, **others, option: value}}
                part = self._perturbation(spec, at, voices_at=("sweep", kind, "voices"))
            levels[value] = _in_place(part, kind, base)
        return Levels(f"{kind} {option}", levels)

    # ------------------------------------------------------------------ how it is run

    def _compares(self, value: Any) -> bool:
        if value is not None and value != "text":
            self.problems.add(
                ("compare",), "expected text, the one thing that speech is compared with", value
            )
        return bool(value == "text")

    def _count(self, data: dict[Any, Any], key: str) -> int | None:
        value = data.get(key)
        if value is not None and not is_whole_number(value, at_least=1):
            self.problems.add((key,), "expected a whole number from 1", value)
            return None
        return value


def _options(part: Perturbation | None) -> dict[str, Any]:
    """The options of a perturbation in a file."""
    if part is None:
        return {}
    told = {each.name: getattr(part, each.name) for each in fields(part)}
    return {name: value for name, value in told.items() if not isinstance(value, PromptVoices | None)}


def _in_place(part: Perturbation | None, kind: str, base: Chain | None) -> Chain | None:
    """The perturbation of the file with a part in place of those of its kind, or in front."""
    before = [] if base is None else list(base.parts)
    places = [index for index, each in enumerate(before) if each.kind == kind]
    kept = [each for each in before if each.kind != kind]
    at = places[0] if places else 0
    found = kept if part is None else [*kept[:at], part, *kept[at:]]
    return Chain(*found) if found else None


# ---------------------------------------------------------------------- the schema


_COUNT = {"type": ["integer", "null"], "minimum": 1}
_CALL = {
    "anyOf": [
        {"type": "string", "minLength": 1},
        {
            "type": "object",
            "properties": {
                **{name: {"type": "string", "minLength": 1} for name in ("name", "tool_name")},
                **{name: {"type": ["object", "null"]} for name in ("arguments", "tool_input", "matchers")},
                **{name: {} for name in sorted(CIRCUMSTANCES)},
            },
            "anyOf": [{"required": ["name"]}, {"required": ["tool_name"]}],
            "additionalProperties": False,
        },
        {
            "type": "object",
            "additionalProperties": {"type": ["object", "null"]},
            "minProperties": 1,
            "maxProperties": 1,
        },
    ]
}
_EXPECT = {
    "anyOf": [{"$ref": "#/$defs/voice.call"}, {"type": "array", "items": {"$ref": "#/$defs/voice.call"}}]
}


def voice_schema(evaluator_types: Sequence[Callable[..., Any]] = ()) -> dict[str, Any]:
    """The JSON Schema of voice files, with which editors complete and check them.

    What depends on values is left to the reader: ranges, names that stand twice, what an agent can do.

    Args:
        evaluator_types: classes and functions of your own that the files may name.
    """
    schema = dataset_schema(evaluator_types=[*EVALUATORS, *evaluator_types])
    definitions = schema["$defs"]
    case = definitions.pop("dataset.case")["properties"]
    definitions.pop("dataset.report_evaluator")
    parts, shared = _parts()
    prompt = {key: case[key] for key in ("name", "tags", "cluster", "timeout", "metadata", "evaluators")}
    definitions |= shared | parts
    definitions["voice.call"] = _CALL
    definitions["voice.prompt"] = {
        "type": "object",
        "properties": {"prompt": {"type": "string", "minLength": 1}, "expect": _EXPECT, **prompt},
        "required": ["prompt"],
        "additionalProperties": False,
    }
    return {
        **schema,
        "title": "Voice test",
        "properties": {
            "$schema": {"type": "string"},
            "name": {"type": ["string", "null"]},
            "agent": {"$ref": "#/$defs/voice.agent"},
            "synthesizer": {"anyOf": [{"enum": ["none", None]}, {"$ref": "#/$defs/voice.synthesizer"}]},
            "evaluators": schema["properties"]["evaluators"],
            "perturbation": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/voice.perturbation"}]},
            "sweep": _sweep(),
            "compare": {"enum": ["text", None]},
            "runs": _COUNT,
            "max_concurrency": _COUNT,
            "expect": _EXPECT,
            "prompts": {
                "type": "array",
                "minItems": 1,
                "items": {"anyOf": [{"type": "string", "minLength": 1}, {"$ref": "#/$defs/voice.prompt"}]},
            },
        },
        "required": ["agent", "prompts"],
        "$defs": definitions,
    }


def _parts() -> tuple[dict[str, Any], dict[str, Any]]:
    """The schema of each kind of part, and the definitions they share."""
    sorts: dict[str, Mapping[str, Any]] = {
        "agent": _imported(AGENTS),
        "synthesizer": _imported(SYNTHESIZERS),
        "parser": _imported(PARSERS),
        "perturbation": KINDS,
    }
    definitions = Definitions()
    for sort, kinds in sorts.items():
        for name, kind in kinds.items():
            for parameter in part_parameters(kind):
                definitions.want((sort, name, parameter.name), parameter.adapter)
    schemas, shared = definitions.made()
    found: dict[str, Any] = {}
    for sort, kinds in sorts.items():
        forms = named_forms(
            {
                name: Named(part_parameters(kind), _given(sort, name, kind, schemas), first_line(kind))
                for name, kind in kinds.items()
            }
        )
        found[f"voice.{sort}"] = forms
    several = {"type": "array", "items": {"$ref": "#/$defs/voice.perturbation"}}
    found["voice.perturbation"]["anyOf"].append(several)
    return found, shared


def _given(sort: str, name: str, kind: Any, schemas: Mapping[Any, Any]) -> dict[str, Any]:
    """The schemas of the options that a file can give."""
    found: dict[str, Any] = {}
    for option in (parameter.name for parameter in part_parameters(kind)):
        if option == "parser":
            found[option] = {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/voice.parser"}]}
        elif (sort, name, option) in schemas:
            found[option] = schemas[sort, name, option]
    return found


def _imported(addresses: Mapping[str, str]) -> dict[str, Any]:
    split = {name: address.partition(":") for name, address in addresses.items()}
    return {name: getattr(import_module(module), attribute) for name, (module, _, attribute) in split.items()}


def _sweep() -> dict[str, Any]:
    levels = {"type": "array", "minItems": 1}
    kinds = {}
    for name, kind in sorted(KINDS.items()):
        first = part_parameters(kind)[0].name
        options = {"type": "object", "properties": {first: levels}, "required": [first]}
        kinds[name] = {"anyOf": [levels, options]}
    return {
        "type": ["object", "null"],
        "properties": kinds,
        "additionalProperties": False,
        "minProperties": 1,
        "maxProperties": 1,
    }
