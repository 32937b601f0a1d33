"""Named cases and the evaluators they share.

A dataset made from a list or another sequence checks it at once: every item a `Case`, no name twice. One made from any
other iterable is lazy: cases are read while they run, so that more fit than memory holds, and a bad item becomes a
recorded failure.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Literal, Self, TypedDict, Unpack, overload

from calipers.data.argument_checks import check_mapping, check_text
from calipers.data.case import Case, not_a_case, similar_names
from calipers.data.context import InputsT, MetadataT, OutputT
from calipers.data.evaluator import EvaluatorLike
from calipers.data.evaluator_styles import checked_evaluators
from calipers.data.lifecycle import LifecycleFactory, RunHooks
from calipers.data.retry import Retry, as_retry
from calipers.data.trace import CallLike
from calipers.errors import InvalidCaseError, InvalidOptionError
from calipers.process.interrupt import expecting_run

if TYPE_CHECKING:
    from os import PathLike

    from calipers.data.budget import Budget
    from calipers.files.case_table import Source
    from calipers.files.catalog import Kind
    from calipers.files.dataset_document import Format
    from calipers.report.report import Report
    from calipers.report.shard import Shard
    from calipers.run.evaluation import Progress
    from calipers.run.place import Engine
    from calipers.run.runner import Options, Record, StopRule
    from calipers.run.task import Invokable
    from calipers.run.work import Keeping
    from calipers.stores.store import Store

_SHOWN = 5
"""Names of cases that an error lists."""


class OtherWords(TypedDict, total=False):
    """Arguments of datasets in files, as pydantic_evals calls them."""

    fmt: "Format | None"
    """`format`."""
    custom_evaluator_types: "Sequence[Kind]"
    """`evaluator_types`."""
    custom_report_evaluator_types: "Sequence[Kind]"
    """`evaluator_types` too: it takes both kinds."""


class OtherWordsToRead(OtherWords, total=False):
    """The same, of a dataset that is a text or a dictionary."""

    default_name: str | None
    """`name`."""


class OtherWordsToSave(OtherWords, total=False):
    """The same, of a dataset that is saved."""

    schema_path: "str | PathLike[str] | None"
    """`schema`, but relative to the dataset's folder, with `{stem}` for the file's name; `None`: write none."""


class EvaluateOptions(TypedDict, total=False):
    """The options of `Dataset.evaluate` and `Dataset.evaluate_sync`; see `Dataset.evaluate` for what they mean."""

    name: str | None
    task_name: str | None
    metadata: dict[str, Any] | None
    max_concurrency: int | Literal["auto"] | None
    task_timeout: float | None
    evaluator_timeout: float | None
    retry: Retry | Mapping[str, Any] | None
    retry_task: Retry | Mapping[str, Any] | None
    retry_evaluators: Retry | Mapping[str, Any] | None
    repeat: int
    lifecycle: LifecycleFactory | None
    plugins: RunHooks | None
    seed: int | None
    keep: Literal["all", "failed"]
    keep_secrets: bool
    on_record: "Callable[[Record], None] | None"
    stop_when: "StopRule | None"
    selection: Mapping[str, Any] | None
    engine: "str | Engine | None"
    budget: "Budget | None"
    shard: "str | Shard | None"
    progress: "bool | Progress"
    store: "str | PathLike[str] | Store | None"
    resume: str | bool | None
    reuse: bool
    rerun_failed: bool


class Dataset(Generic[InputsT, OutputT, MetadataT]):
    """Cases, and the evaluators that judge all of them."""

    name: str | None
    evaluators: list[EvaluatorLike[InputsT, OutputT, MetadataT]]
    """Judge every case, after the case's own evaluators."""
    report_evaluators: list[Any]
    """Make claims about the whole report; see `calipers.evaluators.ReportEvaluator`."""

    def __init__(
        self,
        *,
        cases: Iterable[Case[InputsT, OutputT, MetadataT]],
        evaluators: Sequence[EvaluatorLike[InputsT, OutputT, MetadataT]] = (),
        report_evaluators: Sequence[Any] = (),
        name: str | None = None,
    ) -> None:
        if isinstance(cases, str | bytes):
            raise InvalidCaseError(
                f"cases must be a list, or any other iterable, of Case, and not text, got {cases!r:.200}; "
                "to read the cases of a file, use Dataset.from_file"
            )
        if isinstance(cases, Sequence):
            cases = list(cases)
            _check_cases(cases)
        elif not isinstance(cases, Iterable) or isinstance(cases, Mapping):
            raise InvalidCaseError(
                f"cases must be a list, or any other iterable, of Case, got {cases!r:.200}"
            )
        self.name = name
        self._cases = cases
        self.evaluators = checked_evaluators(evaluators)
        self.report_evaluators = _checked_report_evaluators(report_evaluators)
        self._used_up = False
        self._names = {case.name for case in cases if case.name} if isinstance(cases, list) else set[str]()

    @property
    def cases(self) -> list[Case[InputsT, OutputT, MetadataT]]:
        """The cases. A lazy dataset has no list of them: this is then the iterable that it was made from."""
        return self._cases  # type: ignore[return-value]  # nearly every dataset has a list, and is read as one

    @cases.setter
    def cases(self, cases: Iterable[Case[InputsT, OutputT, MetadataT]]) -> None:
        self._cases = cases

    def __class_getitem__(cls, types: Any) -> Any:
        # What is called on `Dataset[str, int, Any]` is called on the class, which knows nothing of the types. What
        # reads datasets needs them.
        alias = super().__class_getitem__(types)  # type: ignore[misc]
        for name in ("from_file", "from_text", "from_dict", "model_json_schema_with_evaluators"):
            vars(alias)[name] = partial(getattr(cls, name).__func__, alias)
        return alias

    @classmethod
    def from_file(
        cls,
        path: "str | PathLike[str]",
        *,
        name: str | None = None,
        evaluator_types: "Sequence[Kind]" = (),
        allow_modules: Sequence[str] = (),
        evaluators: Sequence[EvaluatorLike[InputsT, OutputT, MetadataT]] = (),
        report_evaluators: Sequence[Any] = (),
        format: "Format | None" = None,  # noqa: A002 - the word users know
        columns: "Mapping[str, Source] | None" = None,
        **words: Unpack[OtherWords],
    ) -> Self:
        """The dataset that a file holds; `Dataset[Inputs, Output, Metadata].from_file(path)` validates its values.

        The arguments are those of `calipers.files.load_dataset`.

        Raises:
            DatasetFileError: something is wrong with the file; the error lists all of it.
        """
        from calipers.files.load import load_as

        ours = _in_our_words(words, format=format, evaluator_types=evaluator_types)
        return load_as(
            cls,
            path,
            name=name,
            allow_modules=allow_modules,
            evaluators=evaluators,
            report_evaluators=report_evaluators,
            columns=columns,
            **ours,
        )

    @classmethod
    def from_text(
        cls,
        text: str,
        *,
        format: "Format" = "yaml",  # noqa: A002 - the word users know
        name: str | None = None,
        evaluator_types: "Sequence[Kind]" = (),
        allow_modules: Sequence[str] = (),
        **words: Unpack[OtherWordsToRead],
    ) -> Self:
        """The dataset that a text holds, as a YAML or JSON file would.

        Args:
            text: the document.
            format: "yaml" or "json".
            name: of the dataset, where the text says none.
            evaluator_types: classes and functions of your own that the text may name.
            allow_modules: modules whose evaluators the text may name as `module:Name`.
            **words: the arguments as pydantic_evals calls them.

        Raises:
            DatasetFileError: something is wrong with the text; the error lists all of it.
        """
        from calipers.files.load import read_as

        name = words.pop("default_name", None) or name
        ours = _in_our_words(words, format=format, evaluator_types=evaluator_types)
        return read_as(cls, text, name=name, allow_modules=allow_modules, **ours)

    @classmethod
    def from_dict(
        cls,
        data: Mapping[str, Any],
        *,
        name: str | None = None,
        evaluator_types: "Sequence[Kind]" = (),
        allow_modules: Sequence[str] = (),
        **words: Unpack[OtherWordsToRead],
    ) -> Self:
        """The dataset that a dictionary describes, in the words of a dataset file; see `from_text` for the arguments.

        Raises:
            DatasetFileError: something is wrong with it; the error lists all of it.
        """
        from calipers.files.load import read_as

        name = words.pop("default_name", None) or name
        ours = _in_our_words(words, format=None, evaluator_types=evaluator_types)
        return read_as(cls, data, name=name, allow_modules=allow_modules, **ours)

    def to_file(
        self,
        path: "str | PathLike[str]",
        *,
        types: Sequence[Any] | None = None,
        schema: "bool | str | PathLike[str]" = True,
        evaluator_types: "Sequence[Kind]" = (),
        cases: str | None = None,
        format: "Format | None" = None,  # noqa: A002 - the word users know
        **words: Unpack[OtherWordsToSave],
    ) -> None:
        """Write the dataset to a file. The arguments are those of `calipers.files.save_dataset`.

        Raises:
            DatasetFileError: the format cannot hold something; the error lists all of it, and nothing was written.
        """
        from calipers.files.save import save_dataset, schema_beside

        if "schema_path" in words:
            schema = schema_beside(path, words.pop("schema_path"))
        ours = _in_our_words(words, format=format, evaluator_types=evaluator_types)
        save_dataset(self, path, types=types, schema=schema, cases=cases, **ours)

    @classmethod
    def model_json_schema_with_evaluators(
        cls,
        custom_evaluator_types: "Sequence[Kind]" = (),
        custom_report_evaluator_types: "Sequence[Kind]" = (),
    ) -> dict[str, Any]:
        """The JSON Schema of files that hold such datasets: what `calipers.files.dataset_schema` gives for these types."""
        from calipers.files.schema import schema_of

        return schema_of(cls, [*custom_evaluator_types, *custom_report_evaluator_types])

    @overload
    def add_case(self, case: Case[InputsT, OutputT, MetadataT]) -> None: ...

    @overload
    def add_case(
        self,
        *,
        name: str | None = None,
        inputs: InputsT,
        metadata: MetadataT | None = None,
        expected_output: OutputT | None = ...,
        expected_tool_calls: Iterable[CallLike] | None = None,
        evaluators: Sequence[EvaluatorLike[InputsT, OutputT, MetadataT]] = (),
        cluster: str | None = None,
        tags: Sequence[str] = (),
        timeout: float | None = None,
    ) -> None: ...

    def add_case(self, case: Case[InputsT, OutputT, MetadataT] | None = None, **fields: Any) -> None:
        """Add a case: a `Case`, or the keyword arguments of one."""
        cases = self._list("add a case to")
        if case is not None and fields:
            raise InvalidCaseError(f"add a Case or its fields, not both: got {case!r} and {fields!r}")
        added = Case(**fields) if case is None else case
        if not isinstance(added, Case):
            raise InvalidCaseError(f"only a Case can be added to a dataset, got {added!r:.200}")
        # The set spares a look at every case; the look tells whether the name is still in use.
        if added.name in self._names:
            for number, other in enumerate(cases, 1):
                if other.name == added.name:
                    raise InvalidCaseError(f"duplicate case name: {added.name!r} (case {number} has it)")
        if added.name is not None:
            self._names.add(added.name)
        cases.append(added)

    def add_evaluator(
        self, evaluator: EvaluatorLike[InputsT, OutputT, MetadataT], *, specific_case: str | None = None
    ) -> None:
        """Add an evaluator for every case, or for the one of the given name."""
        checked_evaluators([evaluator])
        if specific_case is None:
            self.evaluators.append(evaluator)
            return
        cases = self._list("look a case up in")
        for case in cases:
            if case.name == specific_case:
                case.evaluators.append(evaluator)
                return
        names = [case.name for case in cases if case.name]
        raise InvalidCaseError(
            f"no case of this dataset is called {specific_case!r}; {_near(specific_case, names)}"
        )

    async def evaluate(
        self,
        task: "Callable[[InputsT], Awaitable[OutputT]] | Callable[[InputsT], OutputT] | Invokable",
        **options: Unpack[EvaluateOptions],
    ) -> "Report[InputsT, OutputT, MetadataT]":
        """Run the task over every case, judge each attempt, and report.

        Args:
            task: a function of a case's inputs, sync (it runs in threads) or async, or an object with such an `invoke`.
            name: of the run; default: the task's name.
            task_name: of the task; default: that of the function or object.
            metadata: anything to keep with the report.
            max_concurrency: tasks in flight; default: 100, or 32 for a sync task, with as many more under judgement; "auto": as many as servers take their calls.
            task_timeout: seconds a task may take before it counts as failed; a case may allow more or less.
            evaluator_timeout: seconds an evaluator may take; sync evaluators then run in threads.
            retry: when to call a failed task again: a `Retry`, or its fields in a dictionary.
            retry_task: another word for `retry`.
            retry_evaluators: when to ask an evaluator again that raised an exception; what it says is never asked again.
            repeat: how often to attempt each case.
            lifecycle: hooks around each attempt: a `CaseLifecycle` class, or a function of a case that makes one.
            plugins: a `calipers.plugins.PluginManager` whose plugins are told when the run and its attempts begin and end.
            seed: from which all randomness of the run follows; default: drawn, and kept in the report.
            keep: which attempts the report keeps: all, or the first thousand that did not pass, with exact totals of all.
            keep_secrets: leave in traces, spans, attributes, reasons, analyses and metadata what looks like a key or a password.
            on_record: called with each finished attempt, in the order they finish; to write it somewhere, say.
            stop_when: says after an attempt why no more are needed (`calipers.gate.StopWhenDecided`); cases come in random order.
            selection: how the cases were chosen from a larger dataset; kept with a stored run.
            engine: where attempts run: "processes", "ray", the address of a Ray cluster, or an engine; default: here.
            budget: what the run may spend: a `Budget` of money, tokens, calls of models and time.
            shard: run one of several parts, such as "3/8": the third of eight; `calipers.report.merge_shards` makes one report of all.
            progress: show a bar on a terminal; or an object that shows progress its own way.
            store: where to keep the run: a path, a URL such as `sqlite:///runs.db`, or a `calipers.stores.Store`.
            resume: go on with a stored run: its id, "latest", or True for the newest one that did not finish, if any.
            reuse: take over what any earlier run of the store has for the same case, task and evaluator.
            rerun_failed: with `resume`, make failed attempts and failed judgements again.
        """
        with expecting_run():
            from calipers.run.evaluation import evaluate

            if unknown := options.keys() - EvaluateOptions.__annotations__.keys():
                raise TypeError(f"evaluate() got an unexpected keyword argument {min(unknown)!r}")
            return await evaluate(
                self._readable(),
                task,
                evaluators=self.evaluators,
                report_evaluators=self.report_evaluators,
                dataset_name=self.name,
                options=_run_options(options),
                name=check_text("the name of a run", options.get("name"), or_none=True),
                task_name=check_text("the name of a task", options.get("task_name"), or_none=True),
                metadata=check_mapping("metadata", options.get("metadata"), or_none=True),
                progress=_shown(options.get("progress", True)),
                keeping=self._keeping(options),
            )

    def evaluate_sync(
        self,
        task: "Callable[[InputsT], Awaitable[OutputT]] | Callable[[InputsT], OutputT] | Invokable",
        **options: Unpack[EvaluateOptions],
    ) -> "Report[InputsT, OutputT, MetadataT]":
        """`evaluate` for code that is not async, with the same options."""
        with expecting_run():
            from calipers.process.loop import run_sync

            return run_sync(lambda: self.evaluate(task, **options))

    def _keeping(self, options: EvaluateOptions) -> "Keeping | None":
        """What keeps a run in the store, if there is one."""
        store = options.get("store")
        resume, reuse, rerun_failed = (
            options.get("resume"),
            options.get("reuse", False),
            options.get("rerun_failed", False),
        )
        if store is None:
            for name, value in (("resume", resume), ("reuse", reuse), ("rerun_failed", rerun_failed)):
                if value is not None and value is not False:
                    raise InvalidOptionError(f"{name}={value!r} needs a store: pass store= as well")
            return None
        from calipers.stores.journal import keep_in

        types: tuple[Any, ...] = getattr(getattr(self, "__orig_class__", None), "__args__", ())
        return keep_in(
            store,
            resume=resume,
            reuse=reuse,
            rerun_failed=rerun_failed,
            seed=options.get("seed"),
            dataset_type=types[1] if len(types) > 1 else None,
        )

    def _list(self, purpose: str) -> list[Case[InputsT, OutputT, MetadataT]]:
        if not isinstance(self._cases, list):
            raise InvalidCaseError(f"cannot {purpose} a lazy dataset: make it from a list of cases")
        return self._cases

    def _readable(self) -> Iterable[Case[InputsT, OutputT, MetadataT]]:
        """The cases; an iterator can be read only once."""
        if isinstance(self._cases, list):
            _check_cases(self._cases)  # again: the list is public, and may have grown
        if not isinstance(self._cases, Iterator):
            return self._cases
        if self._used_up:
            raise InvalidCaseError(
                "the cases of this dataset came from an iterator, which has been read: "
                "make the dataset from a list, or from an object that can be iterated again"
            )
        return self._read_once(self._cases)

    def _read_once(
        self, cases: Iterator[Case[InputsT, OutputT, MetadataT]]
    ) -> Iterator[Case[InputsT, OutputT, MetadataT]]:
        self._used_up = True
        yield from cases

    def __eq__(self, other: object) -> bool:
        """Whether both have the same name, cases and evaluators; lazy cases are the same only if they are one object."""
        if not isinstance(other, Dataset):
            return NotImplemented
        return all(
            getattr(self, part) == getattr(other, part)
            for part in ("name", "cases", "evaluators", "report_evaluators")
        )

    __hash__ = None  # type: ignore[assignment]  # a dataset is mutable

    def __repr__(self) -> str:
        count = len(self._cases) if isinstance(self._cases, list) else None
        size = "lazy cases" if count is None else "1 case" if count == 1 else f"{count} cases"
        evaluators = "1 evaluator" if len(self.evaluators) == 1 else f"{len(self.evaluators)} evaluators"
        return f"Dataset(name={self.name!r}, {size}, {evaluators})"


def _run_options(options: EvaluateOptions) -> "Options":
    """How to run, checked."""
    from calipers.run.evaluation import draw_seed
    from calipers.run.runner import Options

    retry, retry_task = options.get("retry"), options.get("retry_task")
    if retry is not None and retry_task is not None:
        raise InvalidOptionError("retry and retry_task are two words for one thing: give one of them")
    given = {name: value for name, value in options.items() if name in Options.__struct_fields__}
    given["retry"] = as_retry(retry) if retry_task is None else as_retry(retry_task, "retry_task")
    given["retry_evaluators"] = as_retry(options.get("retry_evaluators"), "retry_evaluators")
    if given.get("seed") is None:
        given["seed"] = draw_seed()
    if isinstance(engine := options.get("engine"), str):
        from calipers.engines.engine import as_engine

        given["engine"] = as_engine(engine)
    if isinstance(shard := options.get("shard"), str):
        from calipers.report.shard import as_shard

        given["shard"] = as_shard(shard)
    return Options(**given)  # type: ignore[arg-type]  # it checks what it is given


def _in_our_words(words: Mapping[str, Any], **ours: Any) -> dict[str, Any]:
    """Arguments of a dataset in a file, where some were given in other words."""
    left = dict(words)
    if (form := left.pop("fmt", None)) is not None:
        ours["format"] = form
    more = (left.pop(word, ()) for word in ("custom_evaluator_types", "custom_report_evaluator_types"))
    ours["evaluator_types"] = [*ours["evaluator_types"], *(kind for kinds in more for kind in kinds)]
    if left:
        raise TypeError(f"unexpected keyword argument {next(iter(left))!r}")
    return ours


def _shown(progress: "bool | Progress") -> "Progress | None":
    """What shows the progress of a run, if anything does."""
    if progress is False:
        return None
    if progress is True:
        from calipers.views.progress import show_progress

        return show_progress
    if not callable(progress):
        raise InvalidOptionError(
            f"progress must be True, False or a function of counts that gives a with block, got {progress!r}"
        )
    return progress


def _checked_report_evaluators(evaluators: Sequence[Any]) -> list[Any]:
    """The report evaluators as a list, each of a known shape."""
    if not evaluators and isinstance(evaluators, Sequence):
        return []
    from calipers.report.report_evaluator import check_report_evaluators

    return check_report_evaluators(evaluators)


def _check_cases(cases: Sequence[Any]) -> None:
    """Every item a `Case`, no name twice."""
    given = [case.name for case in cases if type(case) is Case]
    if len(given) == len(cases) == len(set(given)):  # so it is of most lists
        return
    names: dict[str, int] = {}
    for number, case in enumerate(cases, 1):
        if not isinstance(case, Case):
            raise not_a_case(case, number)
        if case.name is None:
            continue
        first = names.setdefault(case.name, number)
        if first != number:
            raise InvalidCaseError(f"duplicate case name: {case.name!r} (cases {first} and {number})")


def _near(wanted: Any, names: Sequence[str]) -> str:
    """A hint at the names that resemble the one that was meant, or else at the first of those there are."""
    close = similar_names(str(wanted), names)
    if close:
        return f"did you mean {' or '.join(map(repr, close))}?"
    if not names:
        return "none of its cases has a name"
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return f"there are {', '.join(map(repr, names[:_SHOWN]))}{more}"
