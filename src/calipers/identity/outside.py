"""What code asks of the world around it: files, other programs, and what else its source does not say.

It is told by the names that the code mentions, and the tables below are finite. A function that is handed on, as in
`map(open, paths)`, counts like one that is called. A name counts for what was imported under it, so
`from subprocess import run as go` is no way around them. A function of the project that has such a name is no reader of
files for that: it is looked at itself.
"""

import ast
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from calipers.data.jsonable import loaded_types

from .origin import is_library

FILES = "it reads files, and what is in them may change"
PROGRAMS = "it runs other programs, and what these do may change"
_SUBCLASSES = "it asks for the subclasses of a class, and which there are may change"
_COMMAND_LINE = "it reads what it is given on the command line or as standard input"
_VARIABLES = "it reads environment variables by another way than os.environ"
BY_NAME = "it fetches what it uses by a name in a text, and what that stands for may change"

_PROGRAMS_OF_MODULES = {
    "anyio": "open_process run_process",
    "asyncio": "create_subprocess_exec create_subprocess_shell",
    "ctypes": "CDLL OleDLL PyDLL WinDLL cdll oledll pydll windll",
    "os": (
        "execl execle execlp execlpe execv execve execvp execvpe popen posix_spawn posix_spawnp spawnl spawnle spawnlp "
        "spawnlpe spawnv spawnve spawnvp spawnvpe startfile system"
    ),
    "pexpect": "run spawn",
    "pty": "spawn",
    "subprocess": "Popen call check_call check_output getoutput getstatusoutput run",
    "trio": "open_process run_process",
}

_FILES_OF_MODULES = {
    "PIL.Image": "open",
    "aiofiles": "open",
    "anyio": "open_file",
    "bz2": "BZ2File",
    "dbm": "open",
    "filecmp": "cmp cmpfiles dircmp",
    "fileinput": "FileInput input",
    "glob": "glob iglob",
    "gzip": "GzipFile",
    "importlib.util": "spec_from_file_location",
    "inspect": "findsource getcomments getsource getsourcelines",
    "io": "FileIO",
    "joblib": "load",
    "linecache": "getline getlines",
    "logging.config": "fileConfig",
    "lxml.etree": "iterparse parse",
    "lzma": "LZMAFile",
    "mmap": "mmap",
    "netrc": "netrc",
    "numpy": "fromfile genfromtxt load loadtxt memmap",
    "os": "access fwalk listdir lstat open readlink scandir stat walk",
    "os.path": "exists getatime getctime getmtime getsize isdir isfile islink lexists samefile",
    "pkgutil": "get_data",
    "runpy": "run_path",
    "shelve": "open",
    "shutil": "which",
    "sqlite3": "connect",
    "tarfile": "TarFile open",
    "torch": "load",
    "trio": "open_file",
    "wave": "open",
    "xml.dom.minidom": "parse",
    "xml.etree.ElementTree": "iterparse parse",
    "xml.sax": "parse",
    "zipfile": "PyZipFile ZipFile",
}

_OPENERS = frozenset({"bz2", "codecs", "gzip", "io", "lzma"})
"""Modules with an `open` that takes a file and a mode, as the built-in one does."""
_BY_MODE = {(module,) for module in _OPENERS}

_FUNCTIONS: dict[tuple[str, str], str] = {
    (module, name): reason
    for table, reason in (
        (_PROGRAMS_OF_MODULES, PROGRAMS),
        (_FILES_OF_MODULES, FILES),
        (dict.fromkeys(_OPENERS, "open"), FILES),
        ({"sys": "argv orig_argv stdin"}, _COMMAND_LINE),
        ({"nt": "environ", "posix": "environ"}, _VARIABLES),
        ({"builtins": "eval exec globals", "sys": "modules"}, BY_NAME),
    )
    for module, names in table.items()
    for name in names.split()
}
"""What functions, classes and values of modules do, whatever names they were given."""

_BY_LAST_NAMES: dict[tuple[str, ...], str] = {
    (module.rpartition(".")[2], name): reason for (module, name), reason in _FUNCTIONS.items()
} | {
    (name,): reason
    for (module, name), reason in [(("builtins", "open"), FILES), *_FUNCTIONS.items()]
    if module == "builtins"
}
"""The same by the last part of the module, as in `path.exists`, and of what Python has built in by the name."""

_VALUES = [
    key
    for key in _FUNCTIONS
    if key[0] in {"nt", "posix", "sys"} or key[1] in {"cdll", "oledll", "pydll", "windll"}
]
"""Those that have no name of their own."""

_MODULES_WITH: dict[str, list[str]] = {}
"""The modules that have a function of this name."""
for _module, _name in _FUNCTIONS:
    _MODULES_WITH.setdefault(_name, []).append(_module)

_READERS = frozenset(
    {
        "glob", "iglob", "iterdir", "listdir", "open_binary", "open_code", "open_text", "read_bytes", "read_text", "rglob",
        "run_path", "scandir",
    }
)  # fmt: skip
"""Functions and methods that read files or folders, whatever they are asked of."""

_ASKED_OF_PATHS = frozenset({"exists", "is_dir", "is_file", "lstat", "readlink", "stat"})
"""Methods that look at a path, where they are given nothing."""

_OF_PATHS = _ASKED_OF_PATHS | {"open"}
"""Methods that count where they are handed on, if they are those of a path."""

_FRAMES = frozenset({"__globals__", "f_globals"})
"""Attributes that hold all names of a module."""

_DATA_READERS = frozenset(
    {
        "dotenv_values", "from_pretrained", "imread", "load_dataset", "load_dotenv", "read_avro", "read_csv",
        "read_database", "read_excel", "read_feather", "read_fwf", "read_hdf", "read_html", "read_ipc", "read_json",
        "read_ndjson", "read_orc", "read_parquet", "read_pickle", "read_sas", "read_spss", "read_sql", "read_sql_query",
        "read_sql_table", "read_stata", "read_table", "read_xml", "scan_csv", "scan_ipc", "scan_ndjson", "scan_parquet",
    }
)  # fmt: skip
"""Functions of libraries for data and models, as `pandas.read_csv`."""

_MAKERS = frozenset({"__init__", "__new__", "__post_init__"})


class Outside(NamedTuple):
    """Something outside that code asks for."""

    chain: tuple[str, ...]
    """The name that it asks by, with its attributes, such as `("subprocess", "run")`; empty if it is computed."""
    reason: str
    """Why that cannot be known."""


def outside(node: ast.AST) -> Iterator[Outside]:
    """What code asks of the outside. What an object asks for when it is made is among its attributes by now."""
    known = imported_names(node)
    own = _bound_in(node)
    called = {id(each.func) for each in ast.walk(node) if isinstance(each, ast.Call)}
    holders = {id(each.value) for each in ast.walk(node) if isinstance(each, ast.Attribute)}
    parses = parses_settings(node)

    def full_name(child: ast.AST) -> tuple[str, ...]:
        chain = chain_of(child) or ()
        return (*known.get(chain[0], chain[:1]), *chain[1:]) if chain else ()

    waiting = [node]
    while waiting:
        child = waiting.pop()
        waiting.extend(each for each in ast.iter_child_nodes(child) if not _makes_objects(each))
        chain: tuple[str, ...] = ()
        if isinstance(child, ast.Call):
            chain, reason = chain_of(child.func) or (), _asked_by(child, full_name(child.func), parses=parses)
            if module := _looked_through(child):
                yield Outside((*module, "__dict__"), BY_NAME)
        elif isinstance(child, ast.Name | ast.Attribute) and isinstance(child.ctx, ast.Load):
            chain = chain_of(child) or ()
            reason = _mentioned(
                child, full_name(child), called=id(child) in called, holds=id(child) in holders
            )
        elif isinstance(child, ast.Constant) and is_file_url(child.value):
            reason = FILES
        else:
            continue
        if reason is not None and not (len(chain) == 1 and chain[0] in own):
            yield Outside(chain, reason)


def _bound_in(node: ast.AST) -> set[str]:
    """The names that code gives to something itself: its functions, classes, parameters and variables."""
    found: set[str] = set()
    bodies = (each.body for each in ast.walk(node) if isinstance(each, ast.ClassDef))
    attributes = {
        id(each)
        for body in bodies
        for part in body
        if isinstance(part, ast.Assign | ast.AnnAssign)
        for each in ast.walk(part)
    }
    for each in ast.walk(node):
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(each.name)
        elif isinstance(each, ast.arg):
            found.add(each.arg)
        elif isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store) and id(each) not in attributes:
            found.add(each.id)
    return found


def _mentioned(
    node: ast.Name | ast.Attribute, full: tuple[str, ...], *, called: bool, holds: bool
) -> str | None:
    """Why what an expression stands for cannot be known, called or handed on; `holds`: an attribute of it is asked for.

    Its full name is that under which it was imported, empty if it is computed. A call says more: the mode of an `open`.
    """
    name = last_name(node)
    if called and name == "open" and (len(full) == 1 or full[-2:-1] in _BY_MODE):
        return None
    if reason := _BY_LAST_NAMES.get(full[-2:]):
        return reason
    if isinstance(node, ast.Name):
        return FILES if full[-1] in _READERS | _DATA_READERS and not holds else None
    if name == "__subclasses__":
        return _SUBCLASSES
    if name in _FRAMES or (name == "__dict__" and full):
        return BY_NAME
    if called:
        return None
    if name in _READERS | _DATA_READERS and full[:1] not in {("self",), ("cls",)}:
        return FILES
    holder = last_name(node.value).lower()
    return FILES if name in _OF_PATHS and ("path" in holder or "file" in holder) else None


def parses_settings(node: ast.AST) -> bool:
    """Whether code names a `ConfigParser`, whose `read` reads files."""
    named = (last_name(each) for each in ast.walk(node) if isinstance(each, ast.Name | ast.Attribute))
    imported = (path[-1] for path in imported_names(node).values())
    return any(name.endswith("ConfigParser") for name in (*named, *imported))


def calls_read(node: ast.AST) -> bool:
    """Whether code calls a `read` with something to read, or hands a `read` on."""
    called: dict[int, ast.Call] = {
        id(each.func): each for each in ast.walk(node) if isinstance(each, ast.Call)
    }
    return any(
        isinstance(each, ast.Attribute)
        and each.attr == "read"
        and ((call := called.get(id(each))) is None or bool(call.args or call.keywords))
        for each in ast.walk(node)
    )


def is_parser_of_settings(thing: Any) -> bool:
    """Whether this is a `ConfigParser` or a class of such."""
    kinds = loaded_types("configparser", "RawConfigParser")
    return issubclass(thing, kinds) if isinstance(thing, type) else isinstance(thing, kinds)


def is_file_url(value: Any) -> bool:
    """Whether this is the address of a file, which functions for addresses open."""
    return isinstance(value, str) and value[:7].lower() == "file://"


def is_opener(thing: Any) -> bool:
    """Whether this is an `open` that takes a file and a mode."""
    return thing is not None and any(
        getattr(sys.modules.get(module), "open", None) is thing for module in _OPENERS
    )


def done_by(thing: Any, name: str = "") -> str | None:
    """Why the outcome of what a name stands for cannot be known, if it asks the outside; an `open` is told by its mode."""
    for module, value in _VALUES if thing is not None else ():
        if getattr(sys.modules.get(module), value, None) is thing:
            return _FUNCTIONS[module, value]
    own = getattr(thing, "__name__", None)
    if not isinstance(own, str):
        return None
    if own == "read" and thing is getattr(
        getattr(sys.modules.get("configparser"), "RawConfigParser", None), "read", None
    ):
        return FILES
    if isinstance(thing, types.MethodType):
        if own in _OF_PATHS and isinstance(thing.__self__, Path):
            return FILES
        thing = thing.__func__
    if own in _READERS | _DATA_READERS and isinstance(thing, types.FunctionType) and is_library(thing):
        return FILES
    for module in _MODULES_WITH.get(own, ()):
        if getattr(sys.modules.get(module), own, None) is thing and not (
            module in _OPENERS and name == "open"
        ):
            return _FUNCTIONS[module, own]
    return None


def done_in(module: types.ModuleType, name: str) -> str | None:
    """Why what a module has under a name cannot be known, if it is one of those that ask the outside."""
    return None if name == "open" and module.__name__ in _OPENERS else _FUNCTIONS.get((module.__name__, name))


def _asked_by(call: ast.Call, full: tuple[str, ...], *, parses: bool) -> str | None:
    name, chain = last_name(call.func), chain_of(call.func) or ()
    if name in _READERS or (name in _DATA_READERS and chain[:1] not in {("self",), ("cls",)}):
        return FILES
    if name in _ASKED_OF_PATHS and isinstance(call.func, ast.Attribute) and not call.args:
        return FILES
    if name == "read" and call.args and (parses or "config" in "".join(chain[:-1]).lower()):
        return FILES
    if name == "open":
        function = isinstance(call.func, ast.Name) or full[:1] in _BY_MODE
        given = [*call.args[1 if function else 0 :]]
        modes = [*given[:1], *(each.value for each in call.keywords if each.arg == "mode")]
        texts = [
            mode.value for mode in modes if isinstance(mode, ast.Constant) and isinstance(mode.value, str)
        ]
        named = [mode for mode in texts if set(mode) <= set("rwaxbt+")]
        writes = any(set("wax") & set(mode) and "+" not in mode for mode in named)
        if (function or not call.args or named) and not writes:
            return FILES
    return None


def _looked_through(call: ast.Call) -> tuple[str, ...]:
    """What a call takes by a name that the source does not say, as `vars(x)` and `getattr(x, name)` do."""
    match call:
        case ast.Call(func=ast.Name(id="vars"), args=[thing]):
            return chain_of(thing) or ()
        case ast.Call(func=ast.Name(id="getattr"), args=[thing, name, *_]) if not isinstance(
            name, ast.Constant
        ):
            return chain_of(thing) or ()
        case _:
            return ()


def _makes_objects(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (
        node.name in _MAKERS or any(last_name(each) == "classmethod" for each in node.decorator_list)
    )


def imported_names(node: ast.AST) -> dict[str, tuple[str, ...]]:
    """What the imports inside of some code call things, and what these are."""
    found: dict[str, tuple[str, ...]] = {}
    for child in ast.walk(node):
        if isinstance(child, ast.Import):
            for alias in child.names:
                path = tuple(alias.name.split("."))
                found |= {alias.asname: path} if alias.asname else {path[0]: path[:1]}
        elif isinstance(child, ast.ImportFrom) and child.module and not child.level:
            path = tuple(child.module.split("."))
            found |= {alias.asname or alias.name: (*path, alias.name) for alias in child.names}
    return found


def chain_of(node: ast.AST) -> tuple[str, ...] | None:
    """A name with the attributes that are read from it; `None` for another expression."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return (node.id, *reversed(names)) if isinstance(node, ast.Name) else None


def last_name(node: ast.AST) -> str:
    """The name that is called or read at the end of an expression; empty if there is none."""
    while isinstance(node, ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
