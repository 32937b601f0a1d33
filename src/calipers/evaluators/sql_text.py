"""Evaluators of SQL, which parse it and never run it.

The parser is sqlglot, which reads many dialects and is lenient: to it, `hello` is a column and a half-finished statement
a statement. So text counts as SQL only if each part of it is a complete statement of a known type. What the parser knows
only by its first word (in some dialects `EXPLAIN` or `VACUUM`) does not count. Names of tables and columns are not
checked, and a database may still refuse what passes here.

The text may be wrapped in a Markdown code block. Text that is not SQL fails, and so does an output that is not text.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import local
from typing import Any

from calipers.data.argument_checks import check_text, check_whole_number
from calipers.data.context import EvaluatorContext
from calipers.data.evaluator import Evaluator
from calipers.data.result import EvaluationReason
from calipers.data.value_text import shorten, show, show_typed
from calipers.errors import CalipersError, InvalidOptionError, MissingExtraError

from .code_block import code_in

# By name, because not every supported release of sqlglot has each of them.
_STATEMENTS = (
    "Query", "DML", "DDL", "Values", "Drop", "Alter", "TruncateTable", "Grant", "Revoke", "Transaction", "Commit",
    "Rollback", "Set", "Use", "Describe", "Show", "Pragma", "Analyze", "Comment", "Kill", "LoadData", "Cache",
    "Uncache", "Refresh", "Attach", "Detach", "Install", "Declare",
)  # fmt: skip
_READING = ("Query", "Values", "Describe", "Show")
_WRITING = ("DML", "DDL", "Into", "Lock")


@dataclass
class ParsesAsSQL(Evaluator):
    """The output is one or more complete SQL statements."""

    dialect: str | None = None
    """Whose SQL, such as `"postgres"` or `"sqlite"`; `None` for what most have in common."""
    max_statements: int | None = field(default=None, kw_only=True)
    """How many statements there may be; `None` for any number."""
    evaluation_name: str | None = field(default=None, kw_only=True)
    """What the result is called; `None` for the class's name."""

    def __post_init__(self) -> None:
        check_whole_number("max_statements", self.max_statements, at_least=1, or_none=True)
        _check_dialect(self.dialect)

    def evaluate(self, ctx: EvaluatorContext) -> EvaluationReason:
        """True if it parses; otherwise the reason says where it does not.

        Raises:
            MissingExtraError: sqlglot is not installed.
            CalipersError: the statement is nested too deeply for the parser.
        """
        try:
            statements = _parse(ctx.output, self.dialect)
        except _NotSQLError as error:
            return EvaluationReason(value=False, reason=str(error))
        if self.max_statements is not None and len(statements) > self.max_statements:
            return EvaluationReason(
                value=False,
                reason=f"expected at most {self.max_statements} statements, got {len(statements)}",
            )
        return EvaluationReason(value=True)


@dataclass
class IsReadOnlySQL(Evaluator):
    """The output is SQL that only reads: queries without a write, a lock or a `SELECT INTO` in any part of them.

    A function that writes when a query calls it cannot be seen from the text.
    """

    dialect: str | None = None
    """Whose SQL, such as `"postgres"` or `"sqlite"`; `None` for what most have in common."""
    evaluation_name: str | None = field(default=None, kw_only=True)
    """What the result is called; `None` for the class's name."""

    def __post_init__(self) -> None:
        _check_dialect(self.dialect)

    def evaluate(self, ctx: EvaluatorContext) -> EvaluationReason:
        """True if it only reads; otherwise the reason names what does not.

        Raises:
            MissingExtraError: sqlglot is not installed.
            CalipersError: the statement is nested too deeply for the parser.
        """
        try:
            statements = _parse(ctx.output, self.dialect)
        except _NotSQLError as error:
            return EvaluationReason(value=False, reason=str(error))
        reading, writing = _types(_READING), _types(_WRITING)
        for number, statement in enumerate(statements, 1):
            culprit = statement if not isinstance(statement, reading) else statement.find(*writing)
            if culprit is not None:
                reason = f"statement {number} does more than read, by its {culprit.key}: {_show(statement, self.dialect)}"
                return EvaluationReason(value=False, reason=reason)
        return EvaluationReason(value=True)


class _NotSQLError(Exception):
    """The text is not SQL, and why."""


def _parse(output: Any, dialect: str | None) -> list[Any]:
    """The statements in the output, at least one."""
    sqlglot = _load()
    reader = _dialect(sqlglot, dialect)
    if not isinstance(output, str):
        raise _NotSQLError(f"expected SQL as text, got {show_typed(output)}")
    try:
        text = code_in(output, ("sql", *(() if dialect is None else (dialect.lower(),))))
    except ValueError as error:
        raise _NotSQLError(str(error)) from None
    try:
        with _quietly():
            found = [statement for statement in reader.parse(text) if statement is not None]
    except sqlglot.errors.ParseError as error:
        raise _NotSQLError(_locate(error)) from None
    except sqlglot.errors.SqlglotError as error:
        raise _NotSQLError(f"not SQL: {shorten(str(error))}") from None
    except RecursionError:
        raise CalipersError(f"the SQL is nested too deeply for the parser: {show(text)}") from None
    if not found:
        raise _NotSQLError(
            "expected SQL, got comments only" if text.strip(" \n\t;") else "expected SQL, got none"
        )
    for number, statement in enumerate(found, 1):
        if problem := _incomplete(sqlglot.exp, statement):
            raise _NotSQLError(f"statement {number} {problem}: {_show(statement, dialect)}")
    return found


def _incomplete(exp: Any, statement: Any) -> str | None:
    """Why a parsed tree is no complete statement, or `None` if it is one."""
    if isinstance(statement, exp.Command):
        return "is known by its first word only and was not parsed"
    if not isinstance(statement, _types(_STATEMENTS)):
        return "is an expression, not a statement"
    for part in statement.find_all(exp.Select, exp.Insert, exp.Update):
        if isinstance(part, exp.Select) and not part.expressions:
            return "selects nothing"
        if isinstance(part, exp.Insert) and not (part.args.get("expression") or part.args.get("default")):
            return "inserts nothing"
        if isinstance(part, exp.Update) and not part.expressions:
            return "sets nothing"
    return None


def _locate(error: Any) -> str:
    place = error.errors[0] if error.errors else None
    if place is None:
        return f"not SQL: {shorten(str(error))}"
    near = f"{place['start_context'][-20:]}{place['highlight']}{place['end_context'][:20]}"
    # Some descriptions quote the parser's own objects.
    what = str(place["description"]).partition(" but got <")[0].partition(" for <class")[0]
    return f"not SQL: {shorten(what)} at line {place['line']} column {place['col']}, near {near!r}"


def _show(node: Any, dialect: str | None) -> str:
    try:
        with _quietly():
            return shorten(str(node.sql(_dialect(_load(), dialect))))
    except Exception:  # what can be parsed cannot always be written again
        return f"a part of type {node.key}"


def _types(names: tuple[str, ...]) -> tuple[Any, ...]:
    exp = _load().exp
    return tuple(getattr(exp, name) for name in names if hasattr(exp, name))


def _dialect(sqlglot: Any, name: str | None) -> Any:
    try:
        return sqlglot.Dialect.get_or_raise(name.lower() if isinstance(name, str) else name)
    except ValueError as error:
        known = ", ".join(sorted(each.value for each in sqlglot.Dialects if each.value))
        raise InvalidOptionError(f"{error} Known dialects: {known}") from error


def _check_dialect(name: str | None) -> None:
    """Refuse a dialect that does not exist, before anything is run; without sqlglot, only a run can tell."""
    if check_text("dialect", name, or_empty=True, or_none=True) is not None:
        with suppress(MissingExtraError):
            _dialect(_load(), name)


class _Quiet(local):
    on = False


_quiet = _Quiet()


@contextmanager
def _quietly() -> Iterator[None]:
    """The parser warns about what it does not know; here that is a result, and a log line for each would be noise."""
    _quiet.on = True
    try:
        yield
    finally:
        _quiet.on = False


def _keep(_: logging.LogRecord) -> bool:
    return not _quiet.on


def _load() -> Any:
    try:
        import sqlglot
    except ImportError as error:
        raise MissingExtraError.of("Reading SQL", "sql") from error
    # Only this module's own parsing is quiet: a program that uses sqlglot itself keeps its warnings.
    logging.getLogger("sqlglot").addFilter(_keep)
    return sqlglot
