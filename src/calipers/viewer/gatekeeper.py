"""Who may ask the viewer's server for what. Every request passes here first, static files included.

A page of any site can send requests to a server on this machine, and a site whose name suddenly stands for 127.0.0.1 could read the answers
(DNS rebinding). So, in this order:

1. **Host** must be one of ours, letter by letter. It is checked before anything else; nothing is compared with what the request says of itself.
2. **Method**: GET, HEAD, PUT, POST and DELETE.
3. **Where it comes from**: an `Origin` must be one of ours, and `Sec-Fetch-Site` must not name another site. Another port of this machine is
   another site, too. Only pages may be reached by a link elsewhere: by GET, as a whole window, never in a frame.
4. **Who**: a cookie with a random value of this start of the server. It is given for a token in the address, which opens once, or for the
   password. The token is taken out of the address by a redirect.
5. **Writes** carry a header that only our own page knows, and JSON.

Nothing here allows another origin (CORS), and there are no WebSockets. Tokens and passwords are in no log.
"""

import asyncio
import hmac
import ipaddress
import re
import secrets
from collections import deque
from collections.abc import Iterable
from html import escape
from time import monotonic
from typing import Final
from urllib.parse import parse_qsl, quote, urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from calipers.errors import InvalidOptionError

from .api_call import ROOT
from .refusal import Refusal
from .request_body import PATIENCE, body_of
from .responses import problem
from .tokens import is_token

METHODS: Final = ("GET", "HEAD", "PUT", "POST", "DELETE")
LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
"""The names of this machine for itself."""
CSRF_HEADER: Final = "x-calipers-csrf"
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; media-src 'self'; font-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
"""What a page may load and run: our own files."""
HEADERS: Final[tuple[tuple[str, str], ...]] = (
    ("cache-control", "no-store"),
    ("content-security-policy", POLICY),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("referrer-policy", "no-referrer"),
    ("x-content-type-options", "nosniff"),
    # Else the names in links of a model are looked up, though no one follows them.
    ("x-dns-prefetch-control", "off"),
    ("x-frame-options", "DENY"),
)
"""What every answer carries, unless it says something else itself."""

SHORTEST_PASSWORD: Final = 8
_TRIES: Final = 10
"""Wrong passwords in a minute, after which none is looked at for a while."""
_LOGIN: Final = "/login"
_LONGEST_FORM: Final = 4096


class Access:
    """What lets someone in: the hosts that are ours, tokens, a password, and the value of the cookie."""

    def __init__(self, *, hosts: Iterable[str], name: str, csrf: str, password: str | None = None) -> None:
        """Access for a server.

        Args:
            hosts: what `Host` may say, such as `localhost:8400`.
            name: the end of the cookie's name. It should be the port, since a browser sends the cookies of all ports of a machine to each.
            csrf: what every write has to carry, so that a page of another site cannot make one.
            password: that lets someone in; `None`: only tokens do.

        Raises:
            InvalidOptionError: the password is too short, or a host is none.
        """
        if password is not None and len(password) < SHORTEST_PASSWORD:
            raise InvalidOptionError(f"the password must have at least {SHORTEST_PASSWORD} characters")
        self.hosts = frozenset(_host(each) for each in hosts)
        self.origins = frozenset(f"{scheme}://{host}" for scheme in ("http", "https") for host in self.hosts)
        self.cookie = f"calipers_{name}"
        """The name of the cookie."""
        self.value = secrets.token_urlsafe(32)
        """The value of the cookie: another one at each start."""
        self.csrf = csrf
        self.secret = secrets.token_bytes(32)
        """What tokens are signed with."""
        self._password = password
        self._used: set[str] = set()
        self._failed: deque[float] = deque(maxlen=_TRIES)

    @property
    def has_password(self) -> bool:
        """Whether a password lets someone in."""
        return self._password is not None

    def accepts_cookie(self, given: str | None) -> bool:
        """Whether a cookie is the one that was given out."""
        return given is not None and _same(given, self.value)

    def accepts_token(self, token: str) -> bool:
        """Whether a token is ours, and was not used before. From now on it is used."""
        if token in self._used or not is_token(token, self.secret):
            return False
        self._used.add(token)
        return True

    def accepts_password(self, given: str) -> bool:
        """Whether a password is right.

        Raises:
            Refusal: too many were wrong in the last minute.
        """
        if self._password is None:
            return False
        if len(self._failed) == _TRIES and monotonic() - self._failed[0] < 60:
            raise Refusal("too_many", "too many wrong passwords: wait a minute, then try again")
        if _same(given, self._password):
            return True
        self._failed.append(monotonic())
        return False


def is_loopback(host: str) -> bool:
    """Whether only programs on this machine reach an address."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


class Gatekeeper:
    """The application that stands before the viewer's own."""

    def __init__(self, app: ASGIApp, access: Access, *, patience: float = PATIENCE) -> None:
        self._app = app
        self._access = access
        self._patience = patience

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name.lower() for name, _ in message["headers"]}
                message["headers"] = [
                    *message["headers"],
                    *((n.encode(), v.encode()) for n, v in HEADERS if n.encode() not in given),
                ]
            await send(message)

        request = Request(scope, receive)
        try:
            answer = await self._answer(request)
        except Exception as error:
            answer = problem(error)
        await (self._app if answer is None else answer)(scope, receive, send_safely)

    async def _answer(self, request: Request) -> Response | None:
        """The answer to a request that goes no further; `None`: it may pass.

        Raises:
            Refusal: it is not allowed.
        """
        self._check_host(request)
        if request.method not in METHODS:
            raise Refusal("not_allowed", f"{request.method:.20} is not allowed: {', '.join(METHODS)} are")
        path: str = request.scope["path"]
        is_api = path.startswith("/api/")
        self._check_origin(request, is_page=not is_api and not path.startswith("/static/"))
        if path == _LOGIN and request.method == "POST" and self._access.has_password:
            return await self._login(request)
        is_in = self._access.accepts_cookie(request.cookies.get(self._access.cookie)) or self._bearer(request)
        token = request.query_params.get("token") if not is_api and request.method == "GET" else None
        if token is not None:
            is_in = is_in or self._access.accepts_token(token)
            return self._entered(_here(request)) if is_in else self._shut(request)
        if not is_in:
            if is_api:
                raise Refusal("signed_out", _HOW_IN)
            return self._shut(request)
        if request.method not in {"GET", "HEAD"} and not _same(
            request.headers.get(CSRF_HEADER, ""), self._access.csrf
        ):
            raise Refusal(
                "forbidden", f"a write needs the header {CSRF_HEADER}, as GET {ROOT}/session gives it"
            )
        return None

    def _check_host(self, request: Request) -> None:
        hosts = request.headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self._access.hosts:
            said = ", ".join(hosts) or "nothing"
            raise Refusal(
                "wrong_host",
                f"this viewer does not answer to the host {said!r:.200}: `calipers view --trusted-host NAME` allows one more",
            )

    def _check_origin(self, request: Request, *, is_page: bool) -> None:
        headers = request.headers
        site, method = headers.get("sec-fetch-site"), request.method
        is_opened = (
            is_page
            and method in {"GET", "HEAD"}
            and headers.get("sec-fetch-mode") == "navigate"
            and headers.get("sec-fetch-dest") == "document"
        )
        if site not in {None, "same-origin", "none"} and not is_opened:
            raise Refusal(
                "forbidden",
                "this request comes from another site, which may not ask this viewer for anything",
            )
        origins = headers.getlist("origin")
        if origins and (len(origins) > 1 or origins[0].lower() not in self._access.origins):
            raise Refusal("forbidden", f"requests from {origins[0]!r:.200} are not allowed")

    def _bearer(self, request: Request) -> bool:
        """Whether a program gives the password."""
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and self._access.accepts_password(given.strip())

    async def _login(self, request: Request) -> Response:
        body = await body_of(request, most=_LONGEST_FORM, seconds=self._patience)
        form = dict(parse_qsl(body.decode("utf-8", "replace")))
        if not self._access.accepts_password(form.get("password", "")):
            await asyncio.sleep(0.5)
            return self._shut(request, wrong=True, to=form.get("next", "/"))
        return self._entered(form.get("next", "/"))

    def _entered(self, to: str) -> Response:
        """On to a page, with the cookie."""
        answer = RedirectResponse(_own_address(to), 303, {"Cache-Control": "no-store"})
        answer.set_cookie(self._access.cookie, self._access.value, httponly=True, samesite="lax", path="/")
        return answer

    def _shut(self, request: Request, *, wrong: bool = False, to: str | None = None) -> Response:
        """A page that says how to get in."""
        headers = {"Cache-Control": "no-store"}
        form = ""
        if self._access.has_password:
            headers["Referrer-Policy"] = (
                "same-origin"  # without a referrer, a form is sent without its origin
            )
            here = _own_address(_here(request) if to is None else to)
            form = _FORM.format(to=escape(here), wrong=_WRONG * wrong)
        return HTMLResponse(_SHUT.format(form=form), 401, headers)


_HOW_IN: Final = (
    "open the address that `calipers view` printed; it opens once, and `calipers view --url` prints another"
)
_SHUT: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<title>Calipers: not signed in</title></head>
<body><h1>Not signed in</h1>{form}
<p>Open the address that <code>calipers view</code> printed. It opens once: <code>calipers view --url</code>, on the machine where the viewer runs,
prints another.</p></body></html>
"""
_WRONG: Final = "<p role=alert>That is not the password.</p>"
_FORM: Final = """{wrong}<form method="post" action="/login"><input type="hidden" name="next" value="{to}">
<label>Password <input type="password" name="password" autocomplete="current-password" required></label> <button>Sign in</button></form>"""


def _here(request: Request) -> str:
    """The address of a request without the token, from the path on; the first page for the one that signs in."""
    path: str = request.scope["path"]
    given = parse_qsl(request.url.query, keep_blank_values=True)
    left = [(name, value) for name, value in given if name != "token"]
    return "/" if path == _LOGIN else path + (f"?{urlencode(left)}" if left else "")


def _own_address(text: str) -> str:
    """An address on this server, whatever the text says: never the beginning of another one, and no line break."""
    path, mark, query = text.partition("?")
    return "/" + quote(path.lstrip("/\\"), safe=_IN_PATHS) + mark + quote(query, safe=_IN_PATHS + "?%")


_IN_PATHS: Final = "/:@!$&'()*+,;=~-._"


def _same(given: str, wanted: str) -> bool:
    """Whether two secrets are the same, in a time that does not tell how far they agree."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode())


_HOST: Final = re.compile(r"(?:[a-z0-9]([a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::\d{1,5})?")


def _host(text: str) -> str:
    found = text.strip().lower()
    if not _HOST.fullmatch(found):
        raise InvalidOptionError(
            f"a trusted host is a name or an address, with a port if it has one, such as evals.example.com or 10.0.0.7:8400; got {text!r}"
        )
    return found
