"""What `calipers score` does: a kept run as an evaluation whose attempts are made already.

The exit code is about the whole report, old results and new ones. A run that is not complete is an error, whatever its
attempts say: those that are missing might say something else.
"""

import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typing_extensions import override

from calipers.cli.actions.run import RunOptions, Session
from calipers.cli.address import load_object
from calipers.cli.dataset_files import OPTIONS, DatasetFiles
from calipers.cli.evaluation_outcome import Complaint, Outcome
from calipers.cli.exits import ERRORED, FROM_OUTSIDE, USAGE
from calipers.cli.keeper import Keeper
from calipers.cli.message import CommandError, no_file
from calipers.cli.stored_runs import MOST_IN_MEMORY, find_run, open_kept
from calipers.cli.target import Evaluation
from calipers.data.evaluator_styles import as_evaluator
from calipers.errors import CalipersError, InvalidOptionError
from calipers.files.catalog import Catalog, Kind, built_in_types
from calipers.files.dataset_document import SUFFIXES
from calipers.files.problem import ABSENT, Problems, naming_arguments
from calipers.files.yaml_file import parse_yaml
from calipers.report.report import Report
from calipers.run.dataset import Dataset
from calipers.stats.number_text import plural
from calipers.stores.rescoring import score_again
from calipers.stores.run_info import RunInfo
from calipers.stores.store import Store
from calipers.views.progress import show_progress


@dataclass(frozen=True, kw_only=True)
class ScoreOptions(RunOptions):
    """The options of `calipers score`; its help says what they mean."""

    run: str
    evaluators: Sequence[str]
    output_type: str | None = None
    replace: bool = False
    drop: Sequence[str] = ()


class ScoreSession(Session):
    """One `calipers score`."""

    options: ScoreOptions

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.keeper = _Place(store=self.options.store)
        self.keeper.dropped = self.options.drop
        self.info: RunInfo | None = None

    @override
    def run(self) -> int:
        with open_kept(self.options.store, redact=self.options.redact) as store:
            self.keeper.store = store
            return super().run()

    @override
    def find(self) -> list[Evaluation]:
        """The run, as the one evaluation that there is."""
        options = self.options
        store = self.keeper.store
        assert store is not None
        if not options.evaluators and not options.drop:
            raise InvalidOptionError(
                "there is nothing to do: give --evaluators, or --drop with the name of one"
            )
        if options.replace and not options.evaluators:
            raise InvalidOptionError("--replace needs --evaluators: it says to ask them again")
        self.info = info = find_run(store, options.run)
        files = DatasetFiles(
            types=options.types,
            evaluator_types=options.evaluator_type,
            allow_modules=options.allow_module,
            plugins=self.plugins,
        )
        kinds = [load_object(address) for address in options.evaluator_type]
        if self.plugins is not None:
            kinds += self.plugins.get_evaluator_types()
        named = NamedEvaluators(files, kinds, options.allow_module)
        evaluators = named.find(options.evaluators)
        output_type = None if options.output_type is None else load_object(options.output_type)

        def make() -> Report:
            return score_again(
                store,
                info.id,
                evaluators=evaluators,
                replace=options.replace,
                drop=options.drop,
                dataset=named.datasets[0] if len(named.datasets) == 1 else None,
                output_type=output_type,
                evaluator_timeout=options.evaluator_timeout or self.project.evaluator_timeout,
                retry_evaluators=self.retry_evaluators,
                max_concurrency=options.max_concurrency or self.project.max_concurrency,
                keep=self._keep(info),
                progress=show_progress if options.progress and not options.quiet else None,
            )

        name = "".join(each if each.isalnum() or each in "-_" else "-" for each in info.name)
        return [Evaluation(info.id, name, make)]

    def _keep(self, info: RunInfo) -> str:
        options = self.options
        whole = options.out or options.include_cases == "all" or info.attempts <= MOST_IN_MEMORY
        return "all" if whole else "failed"

    @override
    def _finished(self, evaluation: Evaluation, report: Report) -> Report:
        return report

    @override
    def _judge(self, outcome: Outcome, report: Report, evaluation: Evaluation) -> None:
        super()._judge(outcome, report, evaluation)
        assert self.info is not None
        if self.info.status != "finished":
            # It was the run that was interrupted, some day, and not this command.
            outcome.complaints = [
                Complaint(ERRORED, f"the run is incomplete: {message}")
                if code in FROM_OUTSIDE.values()
                else Complaint(code, message)
                for code, message in outcome.complaints
            ]


class _Place(Keeper):
    """The store in which the run is already."""

    store: Store | None
    dropped: Sequence[str] = ()

    @contextmanager
    @override
    def opened(self, folder: Path, labels: Sequence[str]) -> Iterator[None]:
        yield

    @override
    def lines(self, report: Report) -> Iterator[str]:
        """How much was judged, and where to see it."""
        counts = report.reuse
        if counts is None:
            return
        if self.dropped:
            yield f"Left out from now on: {', '.join(self.dropped)}"
        known = f", {counts.cells_reused:,} were there already" if counts.cells_reused else ""
        if counts.attempts_reused:
            yield f"Judged {plural(counts.attempts_reused, 'attempt')}: {plural(counts.cells_computed, 'new judgement')}{known}"
        if counts.judged_as_plain:
            what = plural(counts.judged_as_plain, "attempt")
            yield f"  - judged by plain data, where the task or the case had an object: {what} (--output-type, --types)"
        yield from (f"  - {note}" for note in counts.notes)
        yield f"Kept in {self.where}: calipers show {counts.run}{self._store_flag()}"

    @override
    def way_to_resume(self, report: Report, **_: Any) -> str | None:
        """The same command, if it was this one that ended early and not the run itself, some day."""
        ended_now = report.incomplete is not None and report.incomplete.during == "scoring"
        return "Give the same command again to go on with it" if ended_now else None


_OPTION = "--evaluators"


class NamedEvaluators:
    """Finds evaluators, and the dataset that they came with."""

    def __init__(
        self, files: DatasetFiles, kinds: Sequence[Kind] = (), allow_modules: Sequence[str] = ()
    ) -> None:
        """Takes what reads dataset files, evaluators that have names, and modules whose evaluators may be named."""
        self._files = files
        self._catalog = Catalog(kinds, allow_modules)
        self._names = {getattr(kind, "__name__", None) for kind in kinds}
        self.datasets: list[Dataset[Any, Any, Any]] = []
        """Those that evaluators came from."""

    def find(self, names: Sequence[str]) -> list[Any]:
        """The evaluators."""
        return [evaluator for name in names for evaluator in self._of(name)]

    def _of(self, name: str) -> Iterator[Any]:
        if not name.strip():
            raise InvalidOptionError(
                f"{_OPTION} {name!r} names no evaluator: give module:name, file.py:name, a dataset file, or one of "
                "`calipers evaluators`, such as 'Contains: Paris'"
            )
        if Path(name).is_file():
            if name.endswith(".py"):
                raise InvalidOptionError(
                    f"{_OPTION} {name} is a Python file: name what is in it, as {name}:name"
                )
            yield from self._of_dataset(name, self._files.load(Path(name)))
            return
        if Path(name).suffix.lower() in SUFFIXES:
            raise no_file(name)
        spec = self._spec(name)
        if not isinstance(spec, str) or ":" not in spec:
            yield self._built(name, spec)
            return
        found = self._at(name)
        if isinstance(found, Dataset):
            yield from self._of_dataset(name, found)
        elif isinstance(found, list | tuple):
            yield from (_checked(name, each) for each in found)
        else:
            yield _checked(name, found)

    def _at(self, address: str) -> Any:
        """What is at an address; where there is no such module, it may be an evaluator that lacks a space."""
        try:
            return load_object(address)
        except CommandError as error:
            kind, _, argument = address.partition(":")
            if kind in self._names or kind in {each.__name__ for each in built_in_types()}:
                raise InvalidOptionError(
                    f"{_OPTION} {address!r}: {kind} is an evaluator and no module; did you mean '{kind}: {argument}'? "
                    "What it is given stands behind a colon and a space"
                ) from error
            raise

    def _of_dataset(self, name: str, dataset: Dataset[Any, Any, Any]) -> Iterator[Any]:
        if not dataset.evaluators:
            raise CommandError(
                f"{_OPTION} {name}: the dataset has no evaluators that judge every case", USAGE
            )
        self.datasets.append(dataset)
        yield from dataset.evaluators

    def _spec(self, name: str) -> Any:
        problems = Problems(f"{_OPTION} {name!r}")
        spec = parse_yaml(name, problems)
        if spec is ABSENT or problems.found:
            raise InvalidOptionError(f"{_OPTION} {name!r}: {problems.found[0].message}")
        return spec

    def _built(self, name: str, spec: Any) -> Any:
        problems = Problems(f"{_OPTION} {name!r}")
        with naming_arguments(OPTIONS._replace(own_evaluators="")):
            made = self._catalog.build(spec, (), problems)
        if problems.found:
            raise InvalidOptionError(
                f"{_OPTION} {name!r}: {problems.found[0].message}; `calipers evaluators` lists those there are, and your own is named as "
                "module:name or file.py:name"
            )
        return made


def _checked(name: str, found: Any) -> Any:
    """What is at an address, if it is an evaluator; a class whose parameters all have defaults stands for its object."""
    try:
        made = found() if inspect.isclass(found) else found
        as_evaluator(made)
    except (TypeError, CalipersError) as error:
        raise CommandError(f"{_OPTION} {name}: {error}", USAGE) from error
    return made
