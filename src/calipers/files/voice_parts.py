"""Agents, synthesizers and parsers by their names in voice files.

A name is that of a kind (`http`), or `module:Name` if the caller allowed the module. What `module:Name` names is a class, which
is called with the options, or a finished part; a function is an agent, as with `@agent`. Options are the fields of the class
that a file can hold. If a part has a method `wrong_options`, which returns pairs of an option and what is wrong with it, these
are problems of the file.

`${NAME}` in an option is an environment variable, since a secret must not stand in the file itself; `$${NAME}` is the text
`${NAME}`. A variable that is not set, or is empty, is a problem of the file.
"""

import dataclasses
import inspect
import os
import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from calipers.data.argument_checks import did_you_mean
from calipers.data.redaction import without
from calipers.errors import MissingExtraError
from calipers.models.request_redaction import secrets_of
from calipers.voice.function_agent import FunctionAgent
from calipers.voice.protocols import Agent, ResponseParser, Synthesizer, TextAgent

from .named_objects import Parameter, import_allowed, parameters_of, read_arguments, read_spec
from .problem import Problems, Steps, first_line_of, shorten

AGENTS: Mapping[str, str] = {
    "offline": "calipers.voice.demo:OfflineAgent",
    "http": "calipers.voice.adapters:HttpAgent",
    "websocket": "calipers.voice.adapters:WebSocketAgent",
    "openai": "calipers.voice.adapters:OpenAIAgent",
    "openai_realtime": "calipers.voice.adapters:OpenAIRealtimeAgent",
    "gemini": "calipers.voice.adapters:GeminiAgent",
    "gemini_live": "calipers.voice.adapters:GeminiLiveAgent",
}
"""Kinds of agents, and where they are."""

SYNTHESIZERS: Mapping[str, str] = {"espeak": "calipers.voice.synthesizers:EspeakSynthesizer"}
"""Kinds of synthesizers, and where they are."""

PARSERS: Mapping[str, str] = {
    "json": "calipers.voice.parsers:JsonResponseParser",
    "openai": "calipers.voice.parsers:OpenAIResponseParser",
    "gemini": "calipers.voice.parsers:GeminiResponseParser",
    "anthropic": "calipers.voice.parsers:AnthropicResponseParser",
}
"""Kinds of parsers, and where they are."""

_NOT_IN_FILES = frozenset({"client", "aggregate", "grammar", "pronunciations"})
"""Options that are objects or functions, or need one."""
OTHER_WORDS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("response_timeout", "request_timeout", "read_timeout", "task_timeout"), ("timeout",)),
    **dict.fromkeys(
        ("connect_timeout", "connection_timeout", "opening_timeout"), ("open_timeout", "timeout")
    ),
    "open_timeout": ("timeout",),
    "system_prompt": ("instructions",),
    "system_instruction": ("instructions",),
    "address": ("url", "base_url"),
}
"""Other names of options, where spelling alone would suggest another one or none."""
_SECRET = frozenset({"api_key", "headers"})
"""Options whose values no message may repeat."""


class NamedParts:
    """Makes the parts that a file names."""

    def __init__(
        self, allow_modules: Sequence[str] = (), *, environ: Mapping[str, str] | None = None
    ) -> None:
        self.allow_modules = allow_modules
        """Modules that a file may take parts from."""
        self.environ = environ
        """Environment variables; `None` for those of the process."""

    def agent(self, spec: Any, steps: Steps, problems: Problems) -> Any:
        """The agent that a file names, or `None`; what is wrong is added to the problems."""
        made = self._made(AGENTS, "agent", spec, steps, problems)
        if inspect.isroutine(made):
            return FunctionAgent(made)
        lacks = "method run(audio) and no method run_text(text)"
        return _checked(made, Agent | TextAgent, f"this is not an agent: it has no {lacks}", steps, problems)

    def synthesizer(self, spec: Any, steps: Steps, problems: Problems) -> Any:
        """The synthesizer that a file names, or `None`; what is wrong is added to the problems."""
        made = self._made(SYNTHESIZERS, "synthesizer", spec, steps, problems)
        message = "this is not a synthesizer: it has no method synthesize(text)"
        return _checked(made, Synthesizer, message, steps, problems)

    def parser(self, spec: Any, steps: Steps, problems: Problems) -> Any:
        """The parser that a file names, or `None`; what is wrong is added to the problems."""
        made = self._made(PARSERS, "parser", spec, steps, problems)
        message = "this is not a parser: it has no method parse(raw)"
        return _checked(made, ResponseParser, message, steps, problems)

    def _made(self, kinds: Mapping[str, str], what: str, spec: Any, steps: Steps, problems: Problems) -> Any:
        article = "an" if what == "agent" else "a"
        name, given, at = read_spec(spec, steps, problems, what=f"{article} {what}")
        found = None if name is None else self._find(name, kinds, what, steps, problems)
        if found is None:
            return None
        if not inspect.isclass(found):
            if given != {}:
                problems.add(at, f"{name} is made already: it takes no options", of_key=True)
                return None
            return found
        before = len(problems.found)
        if isinstance(given, dict):
            refuse_secrets(given, at, problems)
        kind: Any = found
        try:
            parameters = part_parameters(kind) if name in kinds else parameters_of(kind)
            given = _without_other_words(given, parameters, at, problems)
            arguments = read_arguments(parameters, given, at, problems, read=self._read)
            arguments = {key: self._filled(value, (*at, key), problems) for key, value in arguments.items()}
            made = kind(**arguments) if len(problems.found) == before else None
            for option, message in getattr(made, "wrong_options", tuple)():
                where = (*at, option) if isinstance(given, dict) and option in given else at
                problems.add(where, without(message, referred(given, environ=self.environ)))
            return made if len(problems.found) == before else None
        except MissingExtraError:
            raise  # nothing is wrong with the file
        except Exception as error:  # whatever a constructor checks
            problems.add(at, without(first_line_of(error), referred(given, environ=self.environ)))
            return None

    def _find(self, name: str, kinds: Mapping[str, str], what: str, steps: Steps, problems: Problems) -> Any:
        if name in kinds:
            module, _, attribute = kinds[name].partition(":")
            return getattr(import_module(module), attribute)
        if ":" in name:
            return import_allowed(name, self.allow_modules, steps, problems, what=f"{what}s")
        hint = did_you_mean(name, kinds) or f"; there are {', '.join(kinds)}, and your own as module:Name"
        problems.add(steps, f"no {what} is called {shorten(name)}{hint}")
        return None

    def _read(self, parameter: Parameter, value: Any, steps: Steps, problems: Problems) -> Any:
        if parameter.name == "parser" and value is not None:
            return self.parser(value, steps, problems)
        if parameter.name in _SECRET:
            quiet = Problems("")
            found = parameter.read(value, steps, quiet)
            for problem in quiet.found:
                problems.add(steps, problem.message)
            return found
        return parameter.read(value, steps, problems)

    def _filled(self, value: Any, steps: Steps, problems: Problems) -> Any:
        return filled(value, steps, problems, environ=self.environ)


def _checked(made: Any, kind: Any, message: str, steps: Steps, problems: Problems) -> Any:
    """The part, if it is of the kind; otherwise `None`, and the message is added to the problems."""
    if made is None or isinstance(made, kind):
        return made
    problems.add(steps, message, made)
    return None


def _without_other_words(
    given: Any, parameters: Sequence[Parameter], steps: Steps, problems: Problems
) -> Any:
    """The options without those of another name, which are added to the problems with their names here."""
    if not isinstance(given, dict):
        return given
    known = {parameter.name for parameter in parameters}
    wrong = [key for key in given if isinstance(key, str) and key in OTHER_WORDS and key not in known]
    for key in wrong:
        meant = next((name for name in OTHER_WORDS[key] if name in known), None)
        hint = f" (did you mean {meant!r}?)" if meant else f"; it takes {', '.join(known)}"
        problems.add((*steps, key), f"no parameter is called {key!r}{hint}", of_key=True)
    return {key: value for key, value in given.items() if key not in wrong}


def part_parameters(kind: Any) -> list[Parameter]:
    """The options of a part that a file can hold."""
    if not dataclasses.is_dataclass(kind):
        return list(parameters_of(kind))
    return [
        Parameter(
            field.name,
            # A type that is imported only for type checkers is a client, or the like.
            Any if isinstance(field.type, str) else field.type,
            required=field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING,
            by_position=not field.kw_only,
        )
        for field in dataclasses.fields(kind)
        if field.init and field.name not in _NOT_IN_FILES
    ]


# ---------------------------------------------------------------------- variables of the environment

_REFERENCE = re.compile(r"\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)\}|\$\{")


def filled(value: Any, steps: Steps, problems: Problems, *, environ: Mapping[str, str] | None = None) -> Any:
    """The value with variables filled in, at any depth; what is wrong is added to the problems."""
    known = os.environ if environ is None else environ
    if isinstance(value, dict):
        return {key: filled(each, (*steps, key), problems, environ=known) for key, each in value.items()}
    if isinstance(value, list):
        return [filled(each, (*steps, index), problems, environ=known) for index, each in enumerate(value)]
    if not isinstance(value, str):
        return value

    def found(reference: re.Match[str]) -> str:
        if reference[0] == "$${":
            return "${"
        name = reference[1]
        if name is None:
            problems.add(
                steps, "`${` begins the name of a variable, as in ${NAME}: write $${ for the text itself"
            )
        elif not known.get(name):
            problems.add(steps, f"the environment variable {shorten(name)} is not set")
        return known.get(name or "", "")

    return _REFERENCE.sub(found, value)


def referred(value: Any, *, environ: Mapping[str, str] | None = None) -> list[str]:
    """The values of all variables in a value, which no message may repeat."""
    known = os.environ if environ is None else environ
    if isinstance(value, dict):
        return [each for item in value.values() for each in referred(item, environ=known)]
    if isinstance(value, list):
        return [each for item in value for each in referred(item, environ=known)]
    names = [found[1] for found in _REFERENCE.finditer(value)] if isinstance(value, str) else []
    return [known[name] for name in names if name and known.get(name)]


def refuse_secrets(options: Mapping[str, Any], steps: Steps, problems: Problems) -> None:
    """Add secrets in the keys, headers and addresses of a file to the problems, without repeating them."""
    way_out = "does not belong in a file: write ${NAME}, and set that variable"
    if _written(options.get("api_key")):
        problems.add((*steps, "api_key"), f"a key {way_out}")
    for name in ("url", "base_url"):
        if secrets_of(_written(options.get(name)), None):
            problems.add((*steps, name), f"the secret in this address {way_out}")
    headers = options.get("headers")
    for name, value in headers.items() if isinstance(headers, dict) else ():
        if secrets_of("", {str(name): _written(value)}):
            problems.add((*steps, "headers", name), f"the value of this header {way_out}")


def _written(value: Any) -> str:
    """The text in the file itself, without names of variables."""
    return _REFERENCE.sub("", value) if isinstance(value, str) else ""
