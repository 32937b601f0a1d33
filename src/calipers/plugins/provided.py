"""What plugins of one kind provide, by the names of the plugins."""

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

_Thing = TypeVar("_Thing")


class Provided(Mapping[str, _Thing]):
    """The things that plugins make, by the names of the plugins. Each is made when it is first looked up, and kept."""

    def __init__(self, makers: Mapping[str, Callable[[], _Thing]]) -> None:
        self.makers = makers
        """What makes each of them, or raises a `PluginError`."""
        self._made: dict[str, _Thing] = {}

    def __getitem__(self, name: str) -> _Thing:
        if name not in self._made:
            self._made[name] = self.makers[name]()
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self.makers

    def __iter__(self) -> Iterator[str]:
        return iter(self.makers)

    def __len__(self) -> int:
        return len(self.makers)

    def __repr__(self) -> str:
        return f"Provided({', '.join(self.makers) or 'nothing'})"
