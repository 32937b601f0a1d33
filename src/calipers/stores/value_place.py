"""A folder or a bucket that large values are moved to, through fsspec.

A value is an object with a name that is made here: its hash, and a random part, so no two uploads have one name, and an object is
written once. Nothing that a model wrote is part of a name. A place is stored with the values that are in it, so its address may hold no
password: those who read it bring their own credentials, by the environment.
"""

import contextlib
import os
import re
import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from calipers.errors import InvalidOptionError, MissingExtraError, StoreError

FORMS: Final = "a folder, file:///folder, s3://bucket/folder, or another address that fsspec knows"
_TRIED_AGAIN: Final = 30.0
"""Seconds for which a place that cannot be reached is not asked again."""
_SAID: Final = 200
"""Characters of another program's message that are shown."""


def place_address(place: str | os.PathLike[str]) -> str:
    """The address of a place as it is stored: with its scheme, absolute, and without a slash at its end.

    Raises:
        InvalidOptionError: it is none, or holds what must not be stored.
    """
    text = os.fspath(place)
    scheme = re.match(r"([a-zA-Z][a-zA-Z0-9+.-]+):", text)  # two letters at least: C:\values is a path
    if scheme is None or scheme[1].lower() == "file":
        return _folder(text)
    parts = urlsplit(text)
    if parts.password is not None or parts.query or parts.fragment:
        raise InvalidOptionError(
            f"the address of a place for large values is kept in the store, so it may hold neither a password nor options: write "
            f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}, and give credentials by the environment"
        )
    if "://" not in text or "::" in text or parts.scheme in {"http", "https"}:
        raise InvalidOptionError(f"a place for large values is {FORMS}; got {text!r}")
    if not (parts.netloc + parts.path).strip("/"):
        raise InvalidOptionError(f"{text!r} names no bucket: write {parts.scheme}://bucket/folder")
    _check_text(text)
    return text.rstrip("/")


def _folder(text: str) -> str:
    path = text
    if path[:5].lower() == "file:":
        parts = urlsplit(text)
        path = unquote(parts.path)
        if parts.netloc or not path.startswith("/"):
            raise InvalidOptionError(f"{text!r} names no folder: write file:///folder, with three slashes")
    _check_text(path)
    if not path:
        raise InvalidOptionError(f"a place for large values is {FORMS}; got {text!r}")
    absolute = Path(path).absolute()
    if absolute.exists() and not absolute.is_dir():
        raise InvalidOptionError(f"{os.fspath(absolute)!r} is not a folder: large values go into one")
    return f"file://{absolute.as_posix()}"


def _check_text(text: str) -> None:
    if re.search(r"[*?\[\]\x00-\x1f\ud800-\udfff]", text):
        raise InvalidOptionError(
            f"the address of a place may have none of * ? [ ] and no control characters, got {text!r}"
        )


def new_name(digest: bytes) -> str:
    """The name of a new object for the value of a hash."""
    return f"{digest.hex()[:2]}/{digest.hex()}-{secrets.token_hex(6)}"


class ValuePlace:
    """A folder or a bucket, opened when it is first used."""

    def __init__(self, address: str) -> None:
        """Take the address, as `place_address` gives it."""
        self.address = address
        self._folder = Path(address.removeprefix("file://")) if address.startswith("file://") else None
        self._failed: tuple[float, str] | None = None
        """When it could not be reached, and why."""

    # ------------------------------------------------------------------ the two kinds

    def _opened(self) -> tuple[Any, str]:
        """The file system of fsspec, and the path of the place in it."""
        try:
            import fsspec
        except ImportError:
            raise MissingExtraError.of(f"large values in {self.address}", "remote-values") from None
        try:
            found, path = fsspec.core.url_to_fs(self.address)
        except ImportError as error:  # of the package for this kind of place
            raise StoreError(f"{self.address} needs another package: {_said(error)}") from None
        except ValueError as error:
            raise StoreError(
                f"fsspec knows no place such as {self.address} ({_said(error)}): it takes {FORMS}"
            ) from None
        return found, str(path).rstrip("/")

    def _fetched(self, names: Sequence[str]) -> dict[str, bytes | str]:
        if self._folder is not None:
            return {name: _read(self._folder / name) for name in names}
        system, path = self._opened()
        found = system.cat([f"{path}/{name}" for name in names], on_error="return")
        # The keys may be spelled in another way than they were asked for.
        by_end = {"/".join(each.split("/")[-2:]): body for each, body in found.items()}
        errors = [body for body in found.values() if isinstance(body, BaseException)]
        lost = [error for error in errors if not isinstance(error, FileNotFoundError)]
        if lost and len(errors) == len(found):
            raise lost[0]  # it is the place that cannot be reached
        return {name: _body(by_end.get(name)) for name in names}

    # ------------------------------------------------------------------ what is done there

    def put(self, bodies: Mapping[str, bytes]) -> None:
        """Write objects, and see that they are there as they were given.

        Raises:
            StoreError: they are not.
            MissingExtraError: fsspec is not installed.
        """
        try:
            if self._folder is not None:
                for name, body in bodies.items():
                    _write(self._folder / name, body)
            else:
                system, path = self._opened()
                paths = {f"{path}/{name}": body for name, body in bodies.items()}
                # Buckets have no folders, and asked for one, some clients make a bucket that is not there.
                for each in () if system.async_impl else {each.rpartition("/")[0] for each in paths}:
                    system.makedirs(each, exist_ok=True)
                system.pipe(paths)
            there = self._fetched([*bodies])
        except (StoreError, MissingExtraError):
            raise
        except Exception as error:
            raise StoreError(f"large values cannot be written to {self.address}: {_said(error)}") from error
        for name, body in bodies.items():
            found = there[name]
            if found != body:
                why = found if isinstance(found, str) else "it is not what was written"
                raise StoreError(f"a large value cannot be read back from {self.address}: {why}")

    def get(self, names: Sequence[str]) -> dict[str, bytes | str]:
        """The objects of some names; a text in the place of one says why it cannot be read."""
        if self._failed is not None:
            when, why = self._failed
            if time.monotonic() - when < _TRIED_AGAIN:
                return dict.fromkeys(names, why)
        self._failed = None
        try:
            return self._fetched(names)
        except Exception as error:
            why = _said(error)
            self._failed = (time.monotonic(), why)
            return dict.fromkeys(names, why)

    def remove(self, names: Iterable[str]) -> str | None:
        """Remove objects; those that are not there count as removed. Returns why it failed; `None` if it did not."""
        wanted = list(names)
        try:
            if self._folder is not None:
                for name in wanted:
                    (self._folder / name).unlink(missing_ok=True)
                return None
            system, path = self._opened()
            for name in wanted:
                with contextlib.suppress(FileNotFoundError):
                    system.rm_file(f"{path}/{name}")
        except Exception as error:
            return _said(error)
        return None


def _read(path: Path) -> bytes | str:
    try:
        return path.read_bytes()
    except OSError as error:
        return f"{type(error).__name__}: {error.strerror}"


def _write(path: Path, body: bytes) -> None:
    """Write a new file, so that it is there after a power failure, too."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("xb") as file:
        file.write(body)
        file.flush()
        os.fsync(file.fileno())
    if os.name == "posix":
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _body(found: Any) -> bytes | str:
    if isinstance(found, bytes | bytearray | memoryview):
        return bytes(found)
    return "it is not there" if found is None else _said(found)


def _said(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:_SAID]}" if text else type(error).__name__
