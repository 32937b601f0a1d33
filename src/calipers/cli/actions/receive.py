"""What `calipers receive` does: first what an earlier process left behind, then what comes until Ctrl-C."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any, Final, Literal

from calipers.cli.actions.plugins import chosen_plugins
from calipers.cli.address import load_object
from calipers.cli.dataset_files import DatasetFiles
from calipers.cli.exits import ERRORED, PASSED, USAGE, first_of
from calipers.cli.message import CommandError, note
from calipers.cli.named_evaluators import NamedEvaluators
from calipers.cli.stored_runs import open_or_make, shown_store, store_file
from calipers.data.retry import Retry
from calipers.exchange.received_run import ArrivalJudge, Received, ReceivedRun, unfinished_runs
from calipers.exchange.receiver import Receiver, ReceiverLimits, check_address, load_web
from calipers.exchange.recorded_traces import without_answer
from calipers.plugins import PluginManager
from calipers.process.interrupt import on_interrupt
from calipers.run.runner import Options
from calipers.stats.number_text import plural
from calipers.stores.default_store import DEFAULT
from calipers.stores.run_info import RunInfo
from calipers.stores.store import Store

_MEGABYTE: Final = 1 << 20


@dataclass(frozen=True, kw_only=True)
class ReceiveOptions:
    """The options of `calipers receive`; its help says what they mean."""

    port: int
    host: str
    token: str | None
    name: str | None
    evaluators: Sequence[str]
    wait: float
    max_body: int
    max_rate: int | None
    allow_module: Sequence[str]
    types: Sequence[str]
    evaluator_type: Sequence[str]
    plugin: Sequence[str]
    no_plugins: bool
    max_concurrency: int | Literal["auto"] | None
    evaluator_timeout: float | None
    retry_evaluators: int | None
    store: str | None
    redact: Sequence[str]


def receive(options: ReceiveOptions) -> int:
    """Receive until a signal comes."""
    check_address(options.host, options.token)
    load_web()  # before anything is begun
    with chosen_plugins(options.plugin, installed=not options.no_plugins) as plugins:
        evaluators = _evaluators(options, plugins)
        with open_or_make(options.store, redact=options.redact) as store:
            session = _Session(options, store, evaluators)
            code = session.recover()
            return first_of([code, asyncio.run(session.serve())])


def _evaluators(options: ReceiveOptions, plugins: PluginManager | None) -> list[Any]:
    files = DatasetFiles(
        types=options.types,
        evaluator_types=options.evaluator_type,
        allow_modules=options.allow_module,
        plugins=plugins,
    )
    kinds = [load_object(address) for address in options.evaluator_type]
    if plugins is not None:
        kinds += plugins.get_evaluator_types()
    return NamedEvaluators(files, kinds, options.allow_module).find(options.evaluators)


class _Session:
    """One `calipers receive`."""

    def __init__(self, options: ReceiveOptions, store: Store, evaluators: Sequence[Any]) -> None:
        self.options = options
        self.store = store
        self.evaluators = evaluators
        file = store_file(store)
        self.spool = (
            Path(DEFAULT).parent / "received" if file is None else file.with_name(f"{file.name}.received")
        )
        """Beside the store; in the current folder, if that is on another machine."""

    def recover(self) -> int:
        """Store and judge what processes that were killed had acknowledged."""
        codes = [PASSED]
        for run in unfinished_runs(self.store, self.spool, wait=self.options.wait):
            judge = self._judge(run)
            run.sweep(monotonic(), at_once=True)
            if judge is not None:
                judge.add([place for places in self.store.done(run.info.id) for place in places])
            codes.append(self._finish(run, judge, "an earlier process ended early: "))
        return first_of(codes)

    async def serve(self) -> int:
        """Receive until a signal comes, and say what was kept."""
        options = self.options
        run = ReceivedRun.begin(self.store, self.spool, name=options.name, wait=options.wait)
        judge = self._judge(run)
        limits = ReceiverLimits(body_bytes=options.max_body * _MEGABYTE, spans_per_second=options.max_rate)
        receiver = Receiver(run, judge=judge, token=options.token, limits=limits)
        ended = asyncio.Event()
        with on_interrupt(lambda _: ended.set()):
            try:
                await receiver.open(options.host, options.port)
            except OSError as error:
                if judge is not None:
                    judge.finish()
                run.finish()
                where = f"{options.host}:{options.port}"
                message = (
                    f"cannot listen on {where}: {error.strerror or error}; --port 0 takes any that is free"
                )
                raise CommandError(message, USAGE) from error
            kept = f"kept in {shown_store(self.store)} as run {run.info.id}"
            note(f"Receiving at {receiver.url}/v1/traces, {kept}")
            note("Ctrl-C ends it, and keeps what has arrived")
            await receiver.wait(ended)
            await receiver.close()
        if receiver.error is not None:
            note(
                f"What was acknowledged and not stored is in {run.spool.folder}: the next calipers receive stores it"
            )
            raise CommandError(f"traces could not be stored: {receiver.error}", ERRORED) from receiver.error
        return self._finish(run, judge)

    def _judge(self, run: ReceivedRun) -> ArrivalJudge | None:
        if not self.evaluators:
            return None
        more = self.options.retry_evaluators
        options = Options(
            evaluator_timeout=self.options.evaluator_timeout,
            retry_evaluators=None if more is None else Retry(attempts=more + 1),
            max_concurrency=self.options.max_concurrency,
        )
        return ArrivalJudge(run, self.evaluators, options, tell=note)

    def _finish(self, run: ReceivedRun, judge: ArrivalJudge | None, begin: str = "") -> int:
        """End the run and say what became of it."""
        if judge is not None:
            judge.finish()
        info = run.finish()
        for line in _lines(run.received, info, shown_store(self.store), judge):
            note(f"{begin}{line}")
            begin = ""
        return PASSED if judge is None or judge.error is None else ERRORED


def _lines(received: Received, info: RunInfo | None, store: str, judge: ArrivalJudge | None) -> Iterator[str]:
    if info is None:
        yield "no trace of an agent came, and no run is kept"
    else:
        judged = "" if judge is None else f", {plural(judge.judged, 'judgement')}"
        yield (
            f"{plural(received.attempts, 'attempt')} of {plural(received.spans, 'span')}{judged}, kept in {store}: "
            f"calipers show {info.id}"
        )
    if received.without_conversation:
        yield f"  - without a run of an agent, and not kept: {plural(received.without_conversation, 'trace')}"
    if received.without_answer:
        yield f"  - {without_answer(received.without_answer)}"
    if received.rejoined:
        yield f"  - stored again, since more spans came: {plural(received.rejoined, 'trace')}"
    if received.late:
        yield f"  - too late to be joined to their traces, and not kept: {plural(received.late, 'span')} (--wait)"
    yield from (f"  - {words}" for words in received.notes)
