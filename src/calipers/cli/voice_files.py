"""Voice files for commands, read with the evaluators and modules that the command line names."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from calipers.cli.address import load_object, make_importable
from calipers.cli.dataset_files import in_options
from calipers.cli.message import no_file
from calipers.files import Problem
from calipers.files.voice_file import VoiceFile, check_voice_file, load_voice_file, voice_schema
from calipers.plugins import PluginManager


class VoiceFiles:
    """Reads voice files by what the command line says of them."""

    def __init__(
        self,
        *,
        evaluator_types: Sequence[str] = (),
        allow_modules: Sequence[str] = (),
        plugins: PluginManager | None = None,
    ) -> None:
        """A reader.

        Args:
            evaluator_types: addresses of evaluators that the files may name.
            allow_modules: modules from which the files may take parts and evaluators as `module:Name`.
            plugins: whose evaluators the files may name.

        Raises:
            CommandError: an address leads nowhere.
        """
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
