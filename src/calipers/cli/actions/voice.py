"""Voice files for commands, and what `calipers voice run` does beyond `calipers run`: a voice file as evaluations, and what follows from them together.

The prompts under the conditions of the file are the evaluation that is judged. The same prompts as text, and at each level of a
sweep, support it: they are measured to be compared, and nothing fails because they do not pass.
"""

import dataclasses
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shutil import get_terminal_size
from typing import Any

import click

from calipers.cli.actions.run import RunOptions, Session
from calipers.cli.address import load_object, make_importable
from calipers.cli.dataset_files import in_options
from calipers.cli.message import no_file, note, silence
from calipers.cli.target import Evaluation
from calipers.data.jsonable import plain
from calipers.errors import InvalidOptionError, MissingExtraError
from calipers.files import Problem
from calipers.files.voice_file import Levels, VoiceFile, check_voice_file, load_voice_file, voice_schema
from calipers.plugins import PluginManager
from calipers.report.report import Report
from calipers.voice.cache import AudioCache, check_folder
from calipers.voice.loss_split import LossSplit
from calipers.voice.perturbations import Perturbation
from calipers.voice.sweeps import Sweep
from calipers.voice.transcripts import TranscriptErrors, transcript_errors


@dataclass(frozen=True, kw_only=True)
class VoiceRunOptions(RunOptions):
    """The options of `calipers voice run`; its help says what they mean."""

    file: str
    keep_audio: str | None = None
    cache_dir: str = ".calipers/audio"
    no_cache: bool = False


class VoiceFiles:
    """Reads voice files by what the command line says of them."""

    def __init__(
        self,
        *,
        evaluator_types: Sequence[str] = (),
        allow_modules: Sequence[str] = (),
        plugins: PluginManager | None = None,
    ) -> None:
        """Takes addresses of evaluators, and modules from which the files may take parts as `module:Name`."""
        self._evaluator_types: list[Callable[..., Any]] = [load_object(each) for each in evaluator_types]
        if plugins is not None:
            self._evaluator_types += plugins.get_evaluator_types()
        self._allow_modules = allow_modules
        make_importable(Path.cwd())

    def load(self, path: Path) -> VoiceFile:
        """What a file says."""
        if not path.is_file():
            raise no_file(path)
        with in_options():
            return load_voice_file(
                path, allow_modules=self._allow_modules, evaluator_types=self._evaluator_types
            )

    def check(self, path: Path) -> list[Problem]:
        """All that is wrong with a file."""
        with in_options():
            return check_voice_file(
                path, allow_modules=self._allow_modules, evaluator_types=self._evaluator_types
            )

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of such files."""
        return voice_schema(self._evaluator_types)


class VoiceSession(Session):
    """One `calipers voice run`."""

    options: VoiceRunOptions
    can_name_one = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.file: VoiceFile | None = None
        self.cache: AudioCache | None = None
        """Where sounds are kept; `None` for nowhere."""
        self.main: Evaluation | None = None
        """The prompts as the file says them."""
        self.text: Evaluation | None = None
        """The prompts as text, if they are compared."""
        self.levels: dict[Any, Evaluation] = {}
        """The prompts at each level of the sweep."""
        self.split: LossSplit | None = None
        self.transcripts: TranscriptErrors | None = None
        self.sweep: Sweep | None = None

    # ------------------------------------------------------------------ what to run

    def find(self) -> list[Evaluation]:
        """The prompts of the file, under each condition."""
        files = VoiceFiles(
            evaluator_types=self.options.evaluator_type,
            allow_modules=self.options.allow_module,
            plugins=self.plugins,
        )
        self.file = file = files.load(Path(self.options.file))
        if not self.options.no_cache:
            self.cache = AudioCache(self.folder / self.options.cache_dir)
            self.cache.check_folder()
        if self.options.keep_audio is not None:
            check_folder(self.folder / self.options.keep_audio)
        self.options = dataclasses.replace(
            self.options,
            repeat=self.options.repeat or file.runs,
            max_concurrency=self.options.max_concurrency or file.max_concurrency,
        )
        label, stem = self.options.file, file.path.stem
        self.main = main = Evaluation(label, stem, partial(self._made, file.perturbation), file=file.path)
        others: list[Evaluation] = []
        if file.compare_text:
            make = partial(self._made, None, synthesizer=None)
            self.text = Evaluation(f"{label} as text", f"{stem}-as-text", make, supporting=True)
            others.append(self.text)
        sweep = file.sweep or Levels("", {})
        for level, perturbation in sweep.perturbations.items():
            if perturbation == file.perturbation:
                self.levels[level] = main  # it is measured already
                continue
            name = f"{sweep.label} {'none' if level is None else level}"
            make = partial(self._made, perturbation)
            self.levels[level] = Evaluation(
                f"{label} at {name}", f"{stem}-{_file_name(name)}", make, supporting=True
            )
            others.append(self.levels[level])
        return [main, *others]

    def _made(self, perturbation: Perturbation | None, **options: Any) -> Any:
        assert self.file is not None
        folder = self.options.keep_audio
        task = self.file.task(
            cache=self.cache,
            perturbation=perturbation,
            keep_audio=False if folder is None else self.folder / folder,
            **options,
        )
        return self.file.dataset(), task

    # ------------------------------------------------------------------ what follows

    def conclude(self) -> None:
        """Say where the loss came from, and draw the curve, as far as everything that they are made of was measured."""
        spoken = self._report_of(self.main)
        if spoken is None or self.file is None:
            return
        as_text = self._report_of(self.text)
        levels = {level: self._report_of(each) for level, each in self.levels.items()}
        swept = {level: report for level, report in levels.items() if report is not None}
        try:
            if as_text is not None:
                self.split = LossSplit.of_reports(as_text, spoken)
                self.transcripts = self.split.transcripts
            elif self.file.synthesizer is not None:
                self.transcripts = transcript_errors(spoken)
            if swept and len(swept) == len(levels) and self.file.sweep is not None:
                self.sweep = Sweep.of_reports(swept, label=self.file.sweep.label)
        except (InvalidOptionError, MissingExtraError) as error:  # the reports stand all the same
            note(f"Nothing to compare: {error}")
        for title, text in self._conclusions():
            if self.shows:
                _show(f"\n{title}\n{text}")

    def _conclusions(self) -> Iterator[tuple[str, str]]:
        columns = get_terminal_size().columns
        if self.split is not None:
            yield "Hearing and deciding", self.split.summary(columns=columns)
        elif self.transcripts is not None:
            yield "Hearing", self.transcripts.summary(columns=columns)
        if self.sweep is not None:
            yield "Sweep", self.sweep.plot(columns=columns)

    def _report_of(self, evaluation: Evaluation | None) -> Report | None:
        """The report of an evaluation, if it is whole."""
        for outcome in self.outcomes:
            if evaluation is not None and outcome.label == evaluation.label and outcome.report is not None:
                return outcome.report if outcome.report.incomplete is None else None
        return None

    def digest(self, code: int) -> dict[str, Any]:
        """What `calipers run` would say, and what follows from all evaluations together."""
        return {
            **super().digest(code),
            "transcripts": plain(self.transcripts),
            "deciding": None if self.split is None else plain(self.split.deciding),
            "hearing": None if self.split is None else plain(self.split.hearing),
            "sweep": None
            if self.sweep is None
            else {
                "label": self.sweep.label,
                "points": [{"level": each.level, "rate": plain(each.rate)} for each in self.sweep.points],
            },
        }


def _show(text: str) -> None:
    """Print the text. A reader that has seen enough must not turn a failed run into one that passed."""
    try:
        click.echo(text)
    except BrokenPipeError:
        silence(sys.stdout)


def _file_name(text: str) -> str:
    """A text as a part of the name of a file."""
    return "".join(each if each.isalnum() or each in "-_." else "-" for each in text)
