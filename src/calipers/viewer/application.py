"""The web application of the viewer: which path is answered by which function, and what is around each answer.

`CALLS` is the route table of the API. Each function runs in a worker thread, with a deadline, and ends when the client leaves. Its answer
becomes JSON with an ETag, which is a hash of what is sent; for a run that is over, and whose answer is settled, the server remembers the tag,
so that it can confirm what a browser has already without making it again. What a function raises becomes a `ProblemAnswer`.
"""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Final
from urllib.parse import parse_qsl

import msgspec
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from .aligned_traces import aligned_traces_answer
from .api_call import ROOT, ApiCall
from .blob_answer import blob_answer
from .case_answer import case_answer
from .case_history import history_answer
from .case_tables import cases_answer, facets_answer, groups_answer, slices_answer
from .compare_answer import compare_answer
from .compared_case import compared_case_answer
from .download import Download
from .events import Watcher
from .export import ExportCall
from .filter_answers import check_answer, complete_answer
from .judges import judges_answer
from .labelling import delete_label, labels_answer, next_label, put_label
from .pages import page_routes
from .refusal import Refusal
from .request_body import PATIENCE, body_of
from .request_threads import RequestThreads, leaving
from .responses import FRESH, as_json, download, is_settled, problem
from .run_answer import run_answer
from .run_list import runs_answer
from .session_facts import session_answer
from .trace_answers import found_steps_answer, steps_answer, trace_answer
from .trend import trend_answer
from .viewed_store import ViewedStore

CALLS: Final[tuple[ApiCall, ...]] = (
    ApiCall("GET", "/session", session_answer),
    ApiCall("GET", "/runs", runs_answer),
    ApiCall("GET", "/trend", trend_answer),
    ExportCall(),
    ApiCall("GET", "/filter/check", check_answer),
    ApiCall("GET", "/filter/complete", complete_answer),
    ApiCall("GET", "/runs/{run}", run_answer),
    ApiCall("GET", "/compare", compare_answer),
    ApiCall("GET", "/compare/{case}", compared_case_answer),
    ApiCall("GET", "/traces", aligned_traces_answer),
    ApiCall("GET", "/runs/{run}/slices", slices_answer),
    ApiCall("GET", "/runs/{run}/facets", facets_answer),
    ApiCall("GET", "/runs/{run}/groups", groups_answer),
    ApiCall("GET", "/runs/{run}/cases", cases_answer),
    ApiCall("GET", "/runs/{run}/cases/{case}", case_answer),
    ApiCall("GET", "/runs/{run}/attempts/{position}/trace", trace_answer),
    ApiCall("GET", "/runs/{run}/attempts/{position}/steps", steps_answer),
    ApiCall("GET", "/runs/{run}/attempts/{position}/find", found_steps_answer),
    ApiCall("GET", "/runs/{run}/attempts/{position}/blob/{name}", blob_answer),
    ApiCall("GET", "/cases/{case}/history", history_answer),
    ApiCall("GET", "/label", labels_answer),
    ApiCall("GET", "/label/next", next_label),
    ApiCall("PUT", "/label", put_label),
    ApiCall("DELETE", "/label", delete_label),
    ApiCall("GET", "/judges", judges_answer),
)
"""Every call of the API."""

MOST_SENT: Final = 1 << 20
"""Bytes of the body of a request."""
_MOST_PARAMETERS: Final = 100
_REMEMBERED: Final = 4096
"""Tags of answers."""


class Application:
    """What answers requests: the route table, the worker threads, and the tags of answers."""

    def __init__(
        self, viewed: ViewedStore, *, calls: Iterable[ApiCall] = CALLS, patience: float = PATIENCE
    ) -> None:
        """An application of a store.

        Args:
            viewed: the store.
            calls: of the API. Those that write are left out where the store is only read.
            patience: seconds that a client may take to send something.
        """
        self.viewed = viewed
        self._patience = patience
        self.calls = tuple(call for call in calls if not (call.writes and viewed.read_only))
        self._workers = RequestThreads()
        self._watcher = Watcher(viewed, self._workers)
        self._tags: OrderedDict[tuple[str, str], str] = OrderedDict()
        """The tags of settled answers, by address and revision of the run."""
        self._lock = threading.Lock()

    def routes(self) -> list[BaseRoute]:
        """The routes of the API and of the pages."""
        by_path: dict[str, dict[str, ApiCall]] = {}
        for call in self.calls:
            by_path.setdefault(call.path, {})[call.method] = call
        found: list[BaseRoute] = [
            Route(f"{ROOT}{path}", self._endpoint(methods), methods=[*methods])
            for path, methods in by_path.items()
        ]
        found.append(Route(f"{ROOT}/events", self._watcher.stream, methods=["GET"]))
        found.append(Route(f"{ROOT}/{{rest:path}}", _no_call))
        return [*found, *page_routes(self.viewed, self._workers, self.answer_at)]

    def end(self) -> None:
        """Say that the server is about to end: streams end by themselves, and so does other work. May be called from a signal handler."""
        self._watcher.end()
        self._workers.end()

    def close(self) -> None:
        """End what is being worked on."""
        self.end()
        self._workers.close()

    # ------------------------------------------------------------------ one request

    def _endpoint(self, methods: Mapping[str, ApiCall]) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            call = methods["GET" if request.method == "HEAD" else request.method]
            try:
                body = await self._sent(request) if call.takes_body else b""
                query = _query_of(request)
                return await self._workers.within(
                    lambda: self._respond(call, request, query, body),
                    call.seconds or self.viewed.deadline,
                    leaving(request),
                )
            except ClientDisconnect:
                return Response(status_code=400)  # no one is there to read it
            except Exception as error:
                return problem(error)

        return endpoint

    async def _sent(self, request: Request) -> bytes:
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise Refusal("bad_request", "the body must be JSON: content-type: application/json")
        return await body_of(request, most=MOST_SENT, seconds=self._patience)

    def _respond(
        self, call: ApiCall, request: Request, query: list[tuple[str, str]], body: bytes
    ) -> Response:
        path: Mapping[str, str] = request.path_params
        known = request.headers.get("if-none-match", "")
        place = None
        if call.method == "GET" and "run" in path:
            place = (str(request.url.path) + "?" + request.url.query, self._revision(path["run"]))
            if known and known == self._tags.get(place):
                return Response(status_code=304, headers={"ETag": known, **FRESH})
        found = call.answer(self.viewed, path, query, body)
        if isinstance(found, Download):
            return download(found, request.headers.get("range", ""))
        sent = msgspec.json.encode(found)
        tag = f'"{hashlib.blake2b(sent, digest_size=12).hexdigest()}"'
        if place is not None and is_settled(found):
            with self._lock:
                self._tags[place] = tag
                if len(self._tags) > _REMEMBERED:
                    self._tags.popitem(last=False)
        if known == tag:
            return Response(status_code=304, headers={"ETag": tag, **FRESH})
        return as_json(sent, accepts=request.headers.get("accept-encoding", ""), tag=tag)

    def answer_at(self, address: str) -> bytes:
        """The answer of a call by its path and query below the root, as JSON.

        Raises:
            Refusal: there is no such call, or it is refused.
        """
        path, _, query = address.partition("?")
        for call in self.calls:
            found = None if call.writes else call.arguments_in(path)
            if found is not None:
                return msgspec.json.encode(call.answer(self.viewed, found, parse_qsl(query)))
        raise Refusal("not_found", f"there is no call {path!r:.200}")

    def _revision(self, run: str) -> str:
        info = self.viewed.find_run(run)
        return f"{info.id} {self.viewed.revision(info.id)}"


def make_starlette(application: Application, routes: Iterable[BaseRoute] = ()) -> Starlette:
    """The application for a server, with further routes before its own."""
    return Starlette(
        routes=[*routes, *application.routes()],
        exception_handlers={404: _no_page, 405: _not_allowed, Exception: _failed},
    )


def _query_of(request: Request) -> list[tuple[str, str]]:
    try:
        return parse_qsl(request.url.query, keep_blank_values=True, max_num_fields=_MOST_PARAMETERS)
    except ValueError:
        raise Refusal("bad_request", f"a request has at most {_MOST_PARAMETERS} parameters") from None


# ---------------------------------------------------------------------- what is not there


async def _no_call(request: Request) -> Response:
    return problem(Refusal("not_found", f"there is no call {request.url.path!r:.200}"))


async def _no_page(request: Request, error: Exception) -> Response:
    del error
    return problem(Refusal("not_found", f"there is no page {request.url.path!r:.200}"))


async def _not_allowed(request: Request, error: Exception) -> Response:
    found = problem(Refusal("not_allowed", f"{request.method} is not allowed here"))
    headers: Mapping[str, str] | None = getattr(error, "headers", None)
    found.headers.update(headers or {})
    return found


async def _failed(request: Request, error: Exception) -> Response:
    del request
    return problem(error)
