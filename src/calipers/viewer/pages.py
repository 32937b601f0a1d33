"""The pages of the viewer: one shell for every address, and the built files beside it.

The browser draws a page from answers of the API. The first answers of a page travel inside of it, so that something is seen after one request:
`FIRST_CALLS` says which they are. An answer that takes long is left out, and the browser asks for it.

The built files (`make web`) are read once and kept compressed.
"""

import asyncio
import gzip
import hashlib
import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl, quote, urlencode

import msgspec
from starlette.convertors import Convertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route
from typing_extensions import override

from calipers.errors import CalipersError
from calipers.views.html.records import embedded_json

from .api_call import ROOT
from .refusal import Refusal
from .request_threads import RequestThreads
from .responses import problem
from .viewed_store import ViewedStore

FIRST_CALLS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("/", ("/runs",)),
    ("/runs", ("/runs?",)),
    ("/runs/{run}", ("/runs/{run}",)),
    ("/runs/{run}/cases", ("/runs/{run}",)),
    ("/runs/{run}/cases/{case}", ("/runs/{run}/cases/{case}",)),
    ("/cases/{case}", ("/cases/{case}/history",)),
    ("/compare", ("/compare?",)),
    ("/compare/{case}", ("/compare/{case}?",)),
    ("/label", ("/label",)),
    ("/judges", ("/judges",)),
    ("/judges/{judge}", ("/judges?judge={judge}",)),
    ("/datasets/{name:any}", ()),
)
"""The addresses of pages, each with the calls that its page makes first, as the browser writes them. A `?` at the end of a call stands for the
query of the page. The session is part of every page."""

SECONDS: Final = 0.7
"""How long a page waits for its first answers."""
TYPES: Final = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
}
"""The types of built files."""

_SHELL: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>Calipers</title>
<link rel="icon" href="/static/favicon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/static/style.css">
</head>
<body>
<div id="app">{words}</div>
<script type="application/json" id="first">{first}</script>
<script type="module" src="/static/viewer.js"></script>
</body>
</html>
"""
_NO_SCRIPT: Final = (
    "<noscript>This page needs JavaScript. `calipers show` says the same in a terminal.</noscript>"
)
NOT_BUILT: Final = (
    "The page of the viewer was not built, so a browser has nothing to show: run `make web` in the folder of Calipers' sources, "
    "then `pip install '.[view]'` there, unless it is installed with --editable"
)
"""What to say where `is_built` says no."""


class _AnyText(Convertor[str]):
    """The rest of a path, whatever it holds: the name of a dataset may have slashes and line breaks."""

    regex = r"(?s:.+)"

    @override
    def convert(self, value: str) -> str:
        return value

    @override
    def to_string(self, value: str) -> str:
        return value


register_url_convertor("any", _AnyText())


class BuiltFile(NamedTuple):
    """A file of the page."""

    body: bytes
    zipped: bytes
    media_type: str
    tag: str


def is_built() -> bool:
    """Whether the page is there: a released package has it, a checkout after `make web`."""
    return "viewer.js" in built_files()


@cache
def built_files() -> Mapping[str, BuiltFile]:
    """The files of the page, by name."""
    folder = files("calipers.viewer") / "static"
    if not folder.is_dir():
        return {}
    found: dict[str, BuiltFile] = {}
    for each in sorted(folder.iterdir(), key=lambda one: one.name):
        suffix = each.name[each.name.rfind(".") :]
        if suffix in TYPES and each.is_file():
            body = each.read_bytes()
            tag = f'"{hashlib.blake2b(body, digest_size=12).hexdigest()}"'
            found[each.name] = BuiltFile(body, gzip.compress(body, 9, mtime=0), TYPES[suffix], tag)
    return found


def page_routes(
    viewed: ViewedStore, workers: RequestThreads, answer: Callable[[str], bytes]
) -> list[BaseRoute]:
    """The routes of the pages and of their files; `answer` gives the JSON of a call of the API."""
    found: list[BaseRoute] = [Route("/static/{name}", _static, methods=["GET"])]
    for path, calls in FIRST_CALLS:
        found.append(Route(path, _page(viewed, workers, answer, calls), methods=["GET"]))
    # An address that was mistyped is opened by a person, who reads a page and no JSON.
    found.append(Route("/{rest:any}", _page(viewed, workers, answer, (), status=404), methods=["GET"]))
    return found


async def _static(request: Request) -> Response:
    name = request.path_params["name"]
    found = built_files().get(name)
    if found is None:
        return problem(Refusal("not_found", f"there is no file {name!r:.100}"))
    headers = {"ETag": found.tag, "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
    if request.headers.get("if-none-match") == found.tag:
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(
            found.zipped, headers={**headers, "Content-Encoding": "gzip"}, media_type=found.media_type
        )
    return Response(found.body, headers=headers, media_type=found.media_type)


def _page(
    viewed: ViewedStore,
    workers: RequestThreads,
    answer: Callable[[str], bytes],
    calls: tuple[str, ...],
    status: int = 200,
) -> Callable[[Request], Any]:
    async def page(request: Request) -> Response:
        run = request.path_params.get("run")
        if run is not None:
            try:
                info = await workers.within(lambda: viewed.find_run(run), SECONDS)
            except CalipersError:
                pass  # the page says what its calls are refused with
            else:
                if info.id != run:
                    return RedirectResponse(_with_id(request, run, info.id), 307)
        wanted = ["/session", *(_written(call, request) for call in calls)]
        answers = await asyncio.gather(*(_first(workers, answer, call) for call in dict.fromkeys(wanted)))
        first = {href: msgspec.Raw(sent) for href, sent in answers if sent is not None}
        words = _NO_SCRIPT if is_built() else f"<p>{NOT_BUILT}</p>"
        text = _SHELL.format(words=words, first=embedded_json(first))
        return Response(
            text, status, headers={"Cache-Control": "no-store"}, media_type="text/html; charset=utf-8"
        )

    return page


def _written(call: str, request: Request) -> str:
    """A call with the values of the page's address, as the browser writes it."""
    path = re.sub(r"\{(\w+)\}", lambda name: quote(request.path_params[name[1]], safe="!'()*~"), call)
    if not path.endswith("?"):
        return path
    given = [(name, value) for name, value in parse_qsl(request.url.query) if value]
    return path[:-1] + (f"?{urlencode(given)}" if given else "")


async def _first(
    workers: RequestThreads, answer: Callable[[str], bytes], call: str
) -> tuple[str, bytes | None]:
    """The address of a call, and its answer; `None` if it is refused or takes long."""
    href = f"{ROOT}{call}"
    try:
        return href, await workers.within(lambda: answer(call), SECONDS)
    except Exception:
        return href, None


def _with_id(request: Request, given: str, run: str) -> str:
    """The address of a page with the id of its run."""
    path = request.url.path.replace(f"/runs/{quote(given)}", f"/runs/{quote(run)}", 1)
    if path == request.url.path:  # what was written otherwise than we would
        rest = request.url.path.split("/", 3)
        path = "/".join(["", "runs", quote(run), *rest[3:]])
    return path + (f"?{request.url.query}" if request.url.query else "")
