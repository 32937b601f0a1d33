"""What `calipers run` is asked to run, as a list of evaluations.

| target | stands for |
|---|---|
| `eval_tone.py` | every function of the file whose name begins with `eval_`; without one, its `dataset` and `task` |
| `evals/` | all files `eval_*.py` in the folder and below it |
| `module:function`, `file.py:function` | that function; or that `Dataset` |
| `cases.yaml` | the dataset in the file, with the task that `--task` names |

A function returns a dataset and a task, or a `Dataset` alone if its module has a `task`, or a finished `Report`. It may be
async: then the evaluation runs on the same event loop, so that a client it opened can be used.
"""

import inspect
import os
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias, Union, get_args, get_origin, get_type_hints

import msgspec

from calipers.cli.address import load_file, load_home, load_object, object_in, split_address
from calipers.cli.exits import NOTHING, USAGE
from calipers.cli.message import CommandError, no_file
from calipers.data.jsonable import safe_repr
from calipers.errors import InvalidOptionError
from calipers.files.problem import shorten
from calipers.plugins import PluginManager
from calipers.report.report import Report
from calipers.run.dataset import Dataset
from calipers.run.task import TaskLike, hint_for_task, is_task

Made: TypeAlias = Report | tuple[Dataset[Any, Any, Any], TaskLike]
"""What an evaluation comes to: a report that is finished, or a dataset and a task to run on it."""

ADAPTER = "plugin:"
"""How the address of a task begins that is the adapter of a plugin."""
_SKIPPED_FOLDERS = {"__pycache__", "node_modules", "site-packages"}


@dataclass
class Evaluation:
    """One thing to run."""

    label: str
    """What messages call it: `eval_tone.py:eval_polite`."""
    name: str
    """Short, and fit for the name of a file: `polite`."""
    make: Callable[[], Any]
    """Gives what an evaluation function may return, or an awaitable of it."""
    task: TaskLike | None = None
    """The task of the module, for a dataset that comes alone."""
    function: Callable[..., Any] | None = field(default=None, repr=False)
    """The function behind it, if its parameters can be filled."""
    file: Path | None = None
    """The dataset file that it was made from, if the target is one."""
    supporting: bool = False
    """Whether it is there only to be compared with another."""

    @property
    def way_to_judge(self) -> str:
        """What to do if there are no evaluators."""
        if self.file is None or self.file.suffix.lower() in {".yaml", ".yml", ".json"}:
            return "give the dataset evaluators"
        name = self.file.name
        return f"write a YAML file with `cases: {name}` and `evaluators: [...]`, and run that"

    def read(self, made: Any, *, task: TaskLike | None = None) -> Made:
        """What `make` gave, understood."""
        match made:
            case Report():
                return made
            case Dataset():
                found = self.task if task is None else task
                if found is None:
                    raise CommandError(
                        f"{self.label} gives a dataset and no task: return (dataset, task), define `task` in its "
                        "module, or give --task module:function",
                        USAGE,
                    )
                return made, found
            case (Dataset() as dataset, own) if is_task(own):
                return dataset, own if task is None else task
            case (Dataset() as dataset, _) if task is not None:
                return dataset, task
            case (Dataset(), own):
                way_out = hint_for_task(own) or ": write a function that calls it"
                raise CommandError(
                    f"{self.label} gave a dataset with the task {safe_repr(own):.200}, which is not a function and has no "
                    f"method `invoke`{way_out}",
                    USAGE,
                )
        raise CommandError(
            f"{self.label} gave {safe_repr(made):.200}: expected (dataset, task), a Dataset or a Report",
            USAGE,
        )


class Finder:
    """Finds the evaluations that targets stand for."""

    def __init__(
        self, *, load_dataset: Callable[[Path], Dataset[Any, Any, Any]], has_task: bool = False
    ) -> None:
        self.load_dataset = load_dataset
        """Reads a dataset file."""
        self.has_task = has_task
        """Whether `--task` was given."""

    def find(self, targets: Sequence[str], params: Sequence[str] = ()) -> list[Evaluation]:
        """The evaluations, each with a name of its own and its parameters filled."""
        found = _each_once(evaluation for target in targets or ["."] for evaluation in self._of(target))
        if not found:
            where = ", ".join(repr(target) for target in targets) or "the current folder"
            raise CommandError(
                f"nothing to run: there is no eval_*.py in {where} (`calipers init` makes an example)",
                NOTHING,
            )
        _fill_parameters(found, parse_pairs(params))
        _make_names_unique(found)
        return found

    def _of(self, target: str) -> Iterator[Evaluation]:
        path = Path(target)
        if path.is_dir():
            for file in eval_files(path):
                yield from _of_module(load_file(file), str(file))
        elif target.endswith(".py"):
            yield from _of_module(load_file(path), target)
        elif path.exists() or split_address(target)[1] is None:
            yield self._of_dataset_file(path)
        else:
            yield _of_address(target)

    def _of_dataset_file(self, path: Path) -> Evaluation:
        if not path.is_file():
            raise no_file(path)
        from calipers.cli.dataset_files import is_voice_file

        if is_voice_file(path):
            raise CommandError(f"{str(path)!r} is a voice file: run it with calipers voice run", USAGE)
        if not self.has_task:
            raise CommandError(
                f"{str(path)!r} needs a task to run on its cases: give --task module:function", USAGE
            )
        # It is read once, though asked for twice: before anything runs, and when its turn comes.
        return Evaluation(str(path), path.stem, cache(lambda: self.load_dataset(path)), file=path)


def eval_files(folder: Path) -> list[Path]:
    """All `eval_*.py` in a folder and below it, apart from hidden folders and installed packages."""
    found: list[Path] = []
    for where, folders, files in os.walk(folder):
        here = Path(where)
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".")
            and name not in _SKIPPED_FOLDERS
            and not (here / name / "pyvenv.cfg").exists()
        )
        found += [here / name for name in sorted(files) if name.startswith("eval_") and name.endswith(".py")]
    return found


def _of_module(module: ModuleType, label: str) -> Iterator[Evaluation]:
    """The evaluations of a file."""
    functions = {
        name: value
        for name, value in vars(module).items()
        # What was imported from elsewhere is run where it is defined.
        if name.startswith("eval_") and inspect.isroutine(value) and value.__module__ == module.__name__
    }
    if not functions and not isinstance(getattr(module, "dataset", None), Dataset):
        raise CommandError(
            f"{label} has nothing to run: define functions named eval_*, or `dataset` and `task`", USAGE
        )
    task = _task_of(module)
    for name, function in functions.items():
        yield Evaluation(
            f"{label}:{name}", name.removeprefix("eval_") or name, function, task, function=function
        )
    if not functions:
        stem = module.__name__.rpartition(".")[2]
        yield Evaluation(label, stem.removeprefix("eval_") or stem, lambda: module.dataset, task)


def _of_address(address: str) -> Evaluation:
    """The evaluation at `module:function`."""
    home, name = split_address(address)
    assert name is not None
    module = load_home(home)
    found = object_in(module, name, address)
    short = name.rpartition(".")[2].removeprefix("eval_") or name
    if isinstance(found, Dataset):
        return Evaluation(address, short, lambda: found, _task_of(module))
    if not callable(found):
        raise CommandError(f"{address!r} is {safe_repr(found):.200}: expected a function or a Dataset", USAGE)
    return Evaluation(address, short, found, _task_of(module), function=found)


def _each_once(evaluations: Iterable[Evaluation]) -> list[Evaluation]:
    """Those that are not the same function, or the same dataset, as an earlier one."""
    found: dict[Any, Evaluation] = {}
    for evaluation in evaluations:
        key = evaluation.label if evaluation.function is None else id(evaluation.function)
        found.setdefault(key, evaluation)
    return list(found.values())


def _task_of(module: ModuleType) -> TaskLike | None:
    task = getattr(module, "task", None)
    return task if is_task(task) else None


def _fill_parameters(evaluations: Sequence[Evaluation], given: dict[str, str]) -> None:
    """Give each function its parameters, once every one that was given is known to have a taker."""
    functions = [(each, each.function) for each in evaluations if each.function is not None]
    known = [parameter_names(function) for _, function in functions]
    names = list(dict.fromkeys(name for found, _ in known for name in found))
    for name in given:
        if name not in names and not any(takes_any for _, takes_any in known):
            where = evaluations[0].label if len(evaluations) == 1 else "any evaluation"
            there = f"the parameters are {', '.join(names)}" if names else "there are no parameters"
            raise InvalidOptionError(f"--param {name}: no parameter {name!r} in {where}; {there}")
    for evaluation, function in functions:
        evaluation.make = partial(function, **fill(function, given, label=evaluation.label))


def _make_names_unique(evaluations: Sequence[Evaluation]) -> None:
    taken: set[str] = set()
    for evaluation in evaluations:
        safe = "".join(c if c.isalnum() or c in "-_" else "-" for c in evaluation.name)
        name, number = safe, 1
        while name.casefold() in taken:
            number += 1
            name = f"{safe}_{number}"
        taken.add(name.casefold())
        evaluation.name = name


def load_task(address: str, plugins: PluginManager | None = None) -> TaskLike:
    """The task that `--task` names: an object at an address, or the adapter of a plugin as `plugin:NAME`."""
    if address.startswith(ADAPTER):
        return _adapter(address.removeprefix(ADAPTER), plugins)
    task = load_object(address)
    if not is_task(task):
        raise CommandError(
            f"--task {address} is {shorten(task)}: expected a function of the inputs, or an object with invoke"
            f"{hint_for_task(task)}",
            USAGE,
        )
    return task


def _adapter(name: str, plugins: PluginManager | None) -> TaskLike:
    adapters = {} if plugins is None else plugins.adapters
    if name not in adapters:
        named = ", ".join(map(repr, adapters)) or "none"
        raise CommandError(
            f"--task {ADAPTER}{name}: no plugin with an adapter is called {name!r}, there is {named}; for a module "
            f"called plugin, write plugin.py:{name}",
            USAGE,
        )
    return adapters[name]


# ---------------------------------------------------------------------- parameters

_FILLED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def parse_pairs(pairs: Sequence[str]) -> dict[str, str]:
    """`["k=v"]` as a mapping."""
    found: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise InvalidOptionError(f"--param must be NAME=VALUE, got {pair!r}")
        if key in found:
            raise InvalidOptionError(f"--param gives {key!r} twice: {found[key]!r} and {value!r}")
        found[key] = value
    return found


def parameter_names(function: Callable[..., Any]) -> tuple[list[str], bool]:
    """The parameters that can be filled by name, and whether any other name is taken as well."""
    parameters = inspect.signature(function).parameters.values()
    names = [parameter.name for parameter in parameters if parameter.kind in _FILLED]
    return names, any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters)


def fill(function: Callable[..., Any], given: Mapping[str, str], *, label: str) -> dict[str, Any]:
    """The keyword arguments for a function, from those of the given that it takes."""
    names, takes_any = parameter_names(function)
    hints = _hints(function)
    filled: dict[str, Any] = {}
    missing: list[str] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if name in given and parameter.kind in _FILLED:
            filled[name] = _convert(given[name], _kind(parameter, hints), label=label, name=name)
        elif parameter.default is parameter.empty and parameter.kind in {*_FILLED, parameter.POSITIONAL_ONLY}:
            missing.append(name)
    if missing:
        options = " ".join(f"--param {name}=..." for name in missing)
        raise InvalidOptionError(f"{label} has parameters without a value: give {options}")
    if takes_any:
        filled.update({name: value for name, value in given.items() if name not in names})
    return filled


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return get_type_hints(function)
    except Exception:  # an annotation that names what is imported for type checkers only
        return {}


def _kind(parameter: inspect.Parameter, hints: Mapping[str, Any]) -> Any:
    """What a parameter takes: by its annotation, else by its default, else text."""
    if parameter.name in hints:
        return hints[parameter.name]
    default = parameter.default
    return str if default is parameter.empty or default is None else type(default)


def _convert(text: str, kind: Any, *, label: str, name: str) -> Any:
    try:
        return _read(text, kind)
    except (msgspec.MsgspecError, TypeError, ValueError) as error:
        wanted = getattr(kind, "__name__", None) if get_origin(kind) is None else None
        raise InvalidOptionError(
            f"--param {name}={text} does not fit {label}, which takes {wanted or kind!s}: {error}"
        ) from error


def _read(text: str, kind: Any) -> Any:
    """Text as a value of a type: as it stands, or as JSON where the type is one of lists or mappings."""
    if kind is Any or kind is inspect.Parameter.empty:
        return text
    members = get_args(kind) if get_origin(kind) in {Union, types.UnionType} else (kind,)
    if str in members:  # any text is one, so nothing else can be meant; except that None is said by its name
        return None if type(None) in members and text == "None" else text
    if Path in members:
        return Path(text)
    if any(_is_container(member) for member in members):
        return msgspec.json.decode(text, type=kind)
    if type(None) in members and text in {"", "None"}:
        return None
    return msgspec.convert(text, kind, strict=False)


def _is_container(kind: Any) -> bool:
    return (get_origin(kind) or kind) in {list, dict, tuple, set, frozenset, Sequence, Mapping}
