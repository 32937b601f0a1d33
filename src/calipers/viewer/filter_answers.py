"""`GET /filter/check` and `GET /filter/complete`: what a filter says so far, and how it may go on.

Filters are read on the server alone, by the grammar that the command line has. Browsers count the characters of a text in UTF-16, so places
in filters are counted so on the way in and out.

A completion replaces the part of a term in which the cursor stands: a field, its key, or a value. Values are those that the cases of the run have, as
far as they have been read, or those that the runs of the store have.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from calipers.errors import FilterError, InvalidOptionError
from calipers.report.attempt_fields import FIELDS, Kind
from calipers.report.attempt_filter import Askable, Wanted, parse_terms
from calipers.stats.number_text import plural

from .case_selection import select
from .facets import facets
from .run_filter import RUN_FIELDS
from .run_index import RunIndex
from .run_list import RunList
from .viewed_store import ViewedStore
from .wire import Completion, CompletionsAnswer, FilterAnswer, FilterTerm, Problem

Of: TypeAlias = Literal["cases", "runs"]
"""What is filtered."""
MOST: Final = 20
"""Completions of one answer."""
_RESULTS: Final[Mapping[str, str]] = {"eval": "assertion", "score": "score", "label": "label"}
"""Fields whose keys are columns of results, of one kind."""


def check_answer(viewed: ViewedStore, *, q: str = "", of: Of = "cases") -> FilterAnswer:
    """The terms of a filter. One that is only half written is no reason to refuse: the answer says what is wrong."""
    del viewed
    try:
        terms = parse_terms(q, _fields(of))
    except FilterError as error:
        problem = Problem(code="bad_filter", message=str(error), at=_units(q, error.at))
        return FilterAnswer(terms=[], problem=problem)
    return FilterAnswer(
        terms=[
            FilterTerm(
                start=_units(q, each.start),
                end=_units(q, each.end),
                text=q[each.start : each.end],
                field=each.term.field,
            )
            for each in terms
        ]
    )


def complete_answer(
    viewed: ViewedStore, *, q: str = "", at: int = 0, of: Of = "cases", run: str = ""
) -> CompletionsAnswer:
    """What may stand at a place of a filter."""
    place = _place(q, at)
    part = _part_at(q, place)
    fields = _fields(of)
    if part.field is None:
        offers = list(_fields_like(part.text, fields))
    elif (found := fields.get(part.field)) is None:
        offers = []
    else:
        index = viewed.index(viewed.find_run(run).id, patience=0) if run and of == "cases" else None
        if part.is_key:
            offers = list(_keys(part, found, index))
        else:
            offers = list(_values(viewed, part, found, index, of))
    start, end = _units(q, part.start), _units(q, part.end)
    return CompletionsAnswer(
        completions=[
            Completion(text=text, about=about, start=start, end=end)
            for text, about in _best(offers, part.text)
            if text != q[part.start : part.end]
        ]
    )


def _fields(of: Of) -> Mapping[str, Askable]:
    return FIELDS if of == "cases" else RUN_FIELDS


# ---------------------------------------------------------------------- where the cursor stands


class _Part(NamedTuple):
    """The part of a term that is being written."""

    start: int
    end: int
    """What a completion replaces."""
    text: str
    """What of it stands before the cursor, without quotes."""
    field: str | None
    """The field whose key or value it is; `None`: it is a field, or a word."""
    key: str = ""
    is_key: bool = False


_TERM: Final = re.compile(
    r"""-?(?P<field>[A-Za-z_]\w*)
        (?:(?P<dot>\.)(?P<key>"(?:[^"\\]|\\.)*"?|[^\s:<>=~"()]*))?
        (?P<sign>:?(?:[<>]=?|=|~)|:)?""",
    re.VERBOSE | re.DOTALL,
)


def _part_at(q: str, place: int) -> _Part:
    """The part of a filter in which a place is."""
    start = _begin_of_term(q, place)
    end = place + len(re.match(r'[^\s()"]*', q[place:])[0])  # type: ignore[index]  # it matches nothing, too
    written = q[start:place]
    found = _TERM.match(written)
    if found is None:
        return _Part(start + written.startswith("-"), end, written.lstrip("-"), None)
    field, key = found["field"], found["key"] or ""
    if found["sign"]:
        before = re.match(
            r'(\(\s*(?:(?:"(?:[^"\\]|\\.)*"|[^\s"()]+)\s+OR\s+)*)?', written[found.end() :], re.DOTALL
        )
        assert before is not None
        first = start + found.end() + before.end()
        return _Part(first, end, _bare(q[first:place]), field, _bare(key))
    if found.end() < len(written):
        return _Part(start, end, written, None)
    if found["dot"]:
        first = start + found.start("key")
        sign = re.match(r"[^\s:<>=~()]*", q[place:])
        return _Part(first, place + len(sign[0]) if sign else place, _bare(key), field, is_key=True)
    return _Part(start + written.startswith("-"), end, field, None)


def _begin_of_term(q: str, place: int) -> int:
    """Where the term begins in which a place is."""
    start, is_quoted, is_inside, is_escaped = 0, False, False, False
    for position, sign in enumerate(q[:place]):
        if is_escaped:
            is_escaped = False
        elif is_quoted:
            is_escaped, is_quoted = sign == "\\", sign != '"'
        elif sign == '"':
            is_quoted = True
        elif sign in "()":
            is_inside = sign == "("
        elif sign.isspace() and not is_inside:
            start = position + 1
    return start


def _bare(text: str) -> str:
    """A text without its quotes, the last of which may not be there yet."""
    if not text.startswith('"'):
        return text
    inside = text[1:-1] if len(text) > 1 and text.endswith('"') and not text.endswith('\\"') else text[1:]
    return re.sub(r"\\(.)", r"\1", inside, flags=re.DOTALL)


# ---------------------------------------------------------------------- what may stand there

_Offer: TypeAlias = tuple[str, str]
"""What to put in, and what it means."""
_SIGNS: Final[Mapping[Kind, str]] = {"number": ">", "seconds": ">", "time": ">"}
"""What stands after fields of some kinds, as a rule."""


def _fields_like(text: str, fields: Mapping[str, Any]) -> Iterator[_Offer]:
    for name, field in fields.items():
        if text.casefold() in name:
            yield f"{name}{'.' if field.is_keyed else _SIGNS.get(field.kind, ':')}", field.about


def _keys(part: _Part, field: Askable, index: RunIndex | None) -> Iterator[_Offer]:
    if index is None or not field.is_keyed or part.field is None:
        return
    wanted = _RESULTS.get(part.field)
    names = [each.name for each in index.columns() if each.kind == wanted] if wanted else []
    sign = _SIGNS.get(field.kind, ":")
    for name in dict.fromkeys([*names, *index.keys(part.field)]):
        yield f"{name if re.fullmatch(_BARE_KEY, name) else _quoted(name)}{sign}", ""


_BARE_KEY: Final = r"[^\s:<>=~\"()]+"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _values(
    viewed: ViewedStore, part: _Part, field: Askable, index: RunIndex | None, of: Of
) -> Iterator[_Offer]:
    """The values of a field, the most frequent first."""
    if of == "runs":
        assert part.field is not None
        counts = _run_values(viewed, part.field, field)
        yield from ((value, plural(counts[value], "run")) for value in field.choices or counts)
        return
    known: dict[str, int] = {}
    if index is not None and field.kind in {"word", "name", "any"}:
        known = _case_values(index, f"{part.field}.{_quoted(part.key)}" if part.key else f"{part.field}")
    for value in field.choices or known:
        yield str(Wanted(value)), plural(known[value], "case") if value in known else ""


def _run_values(viewed: ViewedStore, name: str, field: Askable) -> Counter[str]:
    if field.kind not in {"word", "name"}:
        return Counter()
    read = RUN_FIELDS[name].read
    counts = Counter(value for row in viewed.kept(RunList).rows(viewed) for value in read(row) or ())
    return Counter({str(Wanted(value)): count for value, count in counts.most_common()})


def _case_values(index: RunIndex, name: str) -> dict[str, int]:
    try:
        found = facets(select(index), name, limit=1000)
    except InvalidOptionError:  # what only a comparison knows has no values here
        return {}
    return {each.value: each.cases for each in found.values}


def _best(offers: Iterable[_Offer], text: str) -> list[_Offer]:
    """The offers that fit what was written: those that begin so first, then those that have it in them."""
    wanted = text.casefold()
    bare = [(offer, _bare(offer[0]).casefold()) for offer in offers]
    begin = [offer for offer, value in bare if value.startswith(wanted)]
    inside = [offer for offer, value in bare if wanted in value and not value.startswith(wanted)]
    return [*begin, *inside][:MOST]


# ---------------------------------------------------------------------- places


def _units(text: str, place: int) -> int:
    """A place in a text as a browser counts it."""
    return len(text[:place].encode("utf-16-le", "surrogatepass")) // 2


def _place(text: str, units: int) -> int:
    """A place in a text, from what a browser counts; beyond the end, it is the end."""
    counted = 0
    for place, sign in enumerate(text):
        if counted >= units:
            return place
        counted += 2 if ord(sign) > 0xFFFF else 1
    return len(text)
