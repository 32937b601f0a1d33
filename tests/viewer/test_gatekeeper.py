"""Whoever is not let in gets nothing, whatever the request says of itself: each test asks a real server."""

import http.client
import re
import socket
from contextlib import closing
from itertools import product
from urllib.parse import urlencode

import pytest

from calipers.errors import InvalidOptionError
from calipers.testing import ServedViewer
from calipers.viewer.application import CALLS
from calipers.viewer.gatekeeper import POLICY, Access
from calipers.viewer.pages import FIRST_CALLS
from calipers.viewer.tokens import is_token, new_token

VALUES = {"run": "latest", "case": "c1", "position": "0", "name": "doubling", "rest": "x", "judge": "j"}
METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE")


def filled(path):
    return re.sub(r"\{(\w+)(:path)?\}", lambda found: VALUES.get(found[1], "x"), path)


PAGES = tuple(filled(path) for path, _ in FIRST_CALLS)
API = tuple(dict.fromkeys(f"/api/v1{filled(call.path)}" for call in CALLS))
EVERYTHING = (*PAGES, *API, "/static/viewer.js", "/static/style.css", "/login", "/nowhere", "/api/v1/nowhere")


def refused(answer, *statuses):
    assert answer.status in statuses, (answer.status, answer.text[:200])
    assert "doubling" not in answer.text
    assert "csrf" not in answer.text.replace("x-calipers-csrf", "")
    return True


# ---------------------------------------------------------------------- host


@pytest.mark.parametrize("path", EVERYTHING)
def test_a_foreign_host_is_refused_on_every_route_and_method(viewer, path):
    for method in METHODS:
        answer = viewer.ask(path, method=method, headers={"Host": f"evil.example:{viewer.server.port}"})
        assert answer.status == 400, (method, path)
        assert method == "HEAD" or answer.json()["error"]["code"] == "wrong_host"


@pytest.mark.parametrize(
    "host",
    [
        "",
        "127.0.0.1",
        "127.0.0.1:1",
        "localhost:{port}.evil.example",
        "localhost.:{port}",
        "evil@127.0.0.1:{port}",
        "127.1:{port}",
        "0.0.0.0:{port}",
        "[::ffff:127.0.0.1]:{port}",
        "127.0.0.1:{port},evil.example",
        "LOCALHOST:{port}/",
    ],
)
def test_a_host_is_ours_letter_by_letter(viewer, host):
    answer = viewer.ask("/", headers={"Host": host.format(port=viewer.server.port)})
    assert refused(answer, 400)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LocalHost", "[::1]"])
def test_this_machine_goes_by_its_own_names(viewer, host):
    assert viewer.ask("/", headers={"Host": f"{host}:{viewer.server.port}"}).status == 200


def test_two_hosts_are_none(viewer):
    with closing(http.client.HTTPConnection("127.0.0.1", viewer.server.port, timeout=10)) as connection:
        connection.putrequest("GET", "/", skip_host=True)
        connection.putheader("Host", f"127.0.0.1:{viewer.server.port}")
        connection.putheader("Host", "evil.example")
        connection.endheaders()
        assert connection.getresponse().status == 400


def test_a_page_whose_name_was_turned_to_this_machine_reads_nothing(viewer):
    """DNS rebinding: the browser connects to us, with the name, the origin and the cookies of another site."""
    evil = f"evil.example:{viewer.server.port}"
    headers = {"Host": evil, "Origin": f"http://{evil}", "Sec-Fetch-Site": "same-origin"}
    for path in EVERYTHING:
        assert refused(viewer.ask(path, headers=headers, is_signed_in=False), 400)


# ---------------------------------------------------------------------- origin


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "http://localhost:1",
        "http://127.0.0.1",
        "http://127.0.0.1:{port}.evil.example",
        "file://",
        "ftp://127.0.0.1:{port}",
        "",
    ],
)
@pytest.mark.parametrize("path", EVERYTHING)
def test_a_foreign_origin_is_refused_on_every_route_and_method(viewer, path, origin):
    foreign = origin.format(port=viewer.server.port)
    for method in ("GET", "PUT", "POST", "DELETE"):
        answer = viewer.ask(path, method=method, headers={"Origin": foreign})
        assert refused(answer, 403), (method, path)


@pytest.mark.parametrize("site", ["cross-site", "same-site", "nonsense"])
def test_what_another_site_asks_for_is_refused(viewer, site):
    for path in (*API, "/static/viewer.js"):
        for mode, dest in (("no-cors", "script"), ("cors", "empty"), ("navigate", "document")):
            headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": dest}
            assert refused(viewer.ask(path, headers=headers), 403)


def test_a_link_elsewhere_opens_a_page_and_only_as_a_whole_window(viewer):
    def opened(method="GET", **headers):
        given = {f"Sec-Fetch-{name}": value for name, value in headers.items()}
        return viewer.ask("/runs", method=method, headers=given).status

    assert opened(Site="cross-site", Mode="navigate", Dest="document") == 200
    assert opened(Site="none", Mode="navigate", Dest="document") == 200
    assert opened(Site="cross-site", Mode="navigate", Dest="iframe") == 403
    assert opened(Site="cross-site", Mode="no-cors", Dest="image") == 403
    assert opened(Site="cross-site", Mode="cors", Dest="empty") == 403
    assert opened("POST", Site="cross-site", Mode="navigate", Dest="document") == 403


def test_no_answer_allows_another_origin(viewer):
    for path, method in product(EVERYTHING, METHODS):
        for headers in ({}, {"Origin": viewer.url}, {"Origin": "http://evil.example"}):
            asked = {**headers, "Access-Control-Request-Method": "PUT"}
            answer = viewer.ask(path, method=method, headers=asked)
            assert not [name for name in answer.headers if name.startswith("access-control-")]


# ---------------------------------------------------------------------- methods


@pytest.mark.parametrize("path", EVERYTHING)
@pytest.mark.parametrize("method", ["PATCH", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "get"])
def test_other_methods_are_refused(viewer, path, method):
    assert viewer.ask(path, method=method).status in {400, 405}


def test_a_get_changes_nothing(viewer):
    assert [call for call in CALLS if call.method == "GET" and (call.writes or call.takes_body)] == []


def test_there_are_no_web_sockets(viewer):
    headers = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    }
    assert viewer.ask("/", headers=headers).status != 101


# ---------------------------------------------------------------------- tokens and cookies


@pytest.mark.parametrize("path", EVERYTHING)
def test_nothing_is_shown_without_a_cookie(viewer, path):
    for method in ("GET", "PUT", "POST", "DELETE"):
        assert refused(viewer.ask(path, method=method, is_signed_in=False), 401)


@pytest.mark.parametrize("cookie", ["", "x", "{value}x", "{value}; other=1", '"{value}"'])
def test_only_the_very_cookie_lets_someone_in(viewer, cookie):
    access = viewer.server.access
    given = f"{access.cookie}={cookie.format(value=access.value)}"
    answer = viewer.ask("runs", is_signed_in=False, headers={"Cookie": given})
    assert answer.status == (200 if cookie.startswith(("{value};", '"')) else 401)


def test_the_cookie_of_another_port_lets_no_one_in(viewer):
    access = viewer.server.access
    other = f"calipers_{viewer.server.port - 1}={access.value}"
    assert viewer.ask("runs", is_signed_in=False, headers={"Cookie": other}).status == 401


def test_a_token_is_swapped_for_a_cookie_and_leaves_the_address(viewer):
    address = viewer.address("/runs?q=state:finished&q=x%26y")
    answer = viewer.ask(address.removeprefix(viewer.url), is_signed_in=False)
    assert answer.status == 303
    assert answer.headers["location"] == "/runs?q=state%3Afinished&q=x%26y"
    assert answer.headers["cache-control"] == "no-store"
    cookie = answer.headers["set-cookie"]
    name, _, rest = cookie.partition("=")
    assert name == f"calipers_{viewer.server.port}"
    assert {"HttpOnly", "SameSite=lax", "Path=/"} <= set(rest.split("; "))
    assert "Max-Age" not in rest
    assert "expires" not in rest.lower()
    again = viewer.ask("runs", is_signed_in=False, headers={"Cookie": cookie.partition(";")[0]})
    assert again.status == 200


def test_a_token_opens_once(viewer):
    path = viewer.address().removeprefix(viewer.url)
    assert viewer.ask(path, is_signed_in=False).status == 303
    again = viewer.ask(path, is_signed_in=False)
    assert again.status == 401
    assert "calipers view --url" in again.text
    assert viewer.ask(path).status == 303, (
        "who is in already loses the token from the address, and nothing else"
    )


def test_looking_for_a_head_uses_no_token_up(viewer):
    path = viewer.address().removeprefix(viewer.url)
    assert viewer.ask(path, method="HEAD", is_signed_in=False).status == 401
    assert viewer.ask(path, is_signed_in=False).status == 303


@pytest.mark.parametrize("path", ["/api/v1/runs", "/static/viewer.js"])
def test_a_token_opens_pages_alone(viewer, path):
    address = f"{path}?token={new_token(viewer.server.access.secret)}"
    answer = viewer.ask(address, is_signed_in=False)
    assert answer.status in {303, 401}
    assert "doubling" not in answer.text


@pytest.mark.parametrize(
    "change", [lambda t: t[:-1], lambda t: t + "A", lambda t: "A" + t[1:], lambda t: t + "="]
)
def test_a_token_that_was_changed_is_none(change):
    secret = b"s" * 32
    token = new_token(secret)
    assert is_token(token, secret)
    changed = change(token)
    assert changed == token or not is_token(changed, secret)
    assert not is_token(token, b"t" * 32)


@pytest.mark.parametrize("text", ["", "x", "é", "====", "A" * 10_000, "\0"])
def test_what_is_no_token_is_refused(text):
    assert not is_token(text, b"s" * 32)


def test_each_start_has_another_cookie_and_other_tokens(store_path):
    def access():
        return Access(hosts=["localhost:1"], name="1", csrf="c")

    one, other = access(), access()
    assert one.value != other.value
    assert one.secret != other.secret
    assert not other.accepts_token(new_token(one.secret))
    assert len(one.value) >= 32


def test_a_redirect_never_leads_elsewhere(viewer):
    for path in ("//evil.example/", "/\\evil.example", "/%2F%2Fevil.example/", "/%0d%0aSet-Cookie:%20a=b"):
        token = new_token(viewer.server.access.secret)
        answer = viewer.ask(f"{path}?token={token}", is_signed_in=False)
        assert answer.status in {303, 400, 401}
        if answer.status == 303:
            assert re.match(r"/[^/\\]", answer.headers["location"])
            assert "a=b" not in answer.headers.get("set-cookie", "")


# ---------------------------------------------------------------------- writes


def test_a_write_needs_the_word_that_only_our_page_knows(viewer):
    for wrong in (None, "", "x", viewer.server.access.csrf + "x"):
        answer = viewer.ask("label", method="PUT", body={}, headers={"X-Calipers-CSRF": wrong})
        assert answer.status == 403
        assert answer.json()["error"]["code"] == "forbidden"


def test_the_word_for_writes_comes_with_the_session(viewer):
    assert viewer.ask("session").json()["csrf"] == viewer.server.access.csrf


# ---------------------------------------------------------------------- headers


@pytest.mark.parametrize("path", EVERYTHING)
@pytest.mark.parametrize("is_signed_in", [True, False])
def test_every_answer_has_the_headers_that_keep_it_in(viewer, path, is_signed_in):
    headers = viewer.ask(path, is_signed_in=is_signed_in).headers
    assert headers["content-security-policy"] == POLICY
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] in {"private, no-cache", "no-cache", "no-store"}
    assert "server" not in headers


def test_the_policy_lets_nothing_in_from_elsewhere():
    rules = dict(rule.strip().split(" ", 1) for rule in POLICY.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["frame-ancestors"] == rules["base-uri"] == "'none'"
    assert rules["require-trusted-types-for"] == "'script'"
    allowed = {word for rule in rules.values() for word in rule.split()}
    assert allowed == {"'none'", "'self'", "blob:", "'script'"}


# ---------------------------------------------------------------------- other addresses, passwords


def test_an_address_of_the_network_needs_a_password_and_a_wildcard_a_name(store_path):
    for host in ("0.0.0.0", "::", "192.0.2.1"):
        with pytest.raises(InvalidOptionError, match="needs a password"), ServedViewer(store_path, host=host):
            pass
    options = {"host": "0.0.0.0", "password": "correct horse"}
    with pytest.raises(InvalidOptionError, match="--trusted-host"), ServedViewer(store_path, **options):
        pass


@pytest.mark.parametrize(
    "name", ["*", "", "http://a.example", "a.example/x", "a b", "a.example:", ".example"]
)
def test_a_trusted_host_is_a_name(store_path, name):
    with (
        pytest.raises(InvalidOptionError, match="trusted host"),
        ServedViewer(store_path, trusted_hosts=[name]),
    ):
        pass


def test_a_password_is_not_too_short(store_path):
    with pytest.raises(InvalidOptionError, match="at least 8"), ServedViewer(store_path, password="short"):
        pass


@pytest.fixture(scope="module")
def shared(store_path):
    """A viewer for a team, behind a proxy with TLS."""
    with ServedViewer(store_path, password="correct horse", trusted_hosts=["evals.example.com"]) as served:
        yield served


def test_a_trusted_host_is_ours_with_and_without_our_port(shared):
    for host in ("evals.example.com", f"evals.example.com:{shared.server.port}", "EVALS.example.com"):
        headers = {"Host": host, "Origin": f"https://{host.lower()}"}
        assert shared.ask("runs", headers=headers).status == 200
    assert shared.ask("runs", headers={"Host": "evals.example.com:1"}).status == 400


def test_a_password_lets_someone_in_and_back_to_the_page(shared):
    closed = shared.ask("/runs?q=a%26b", is_signed_in=False)
    assert closed.status == 401
    assert 'type="password"' in closed.text
    assert 'value="/runs?q=a%26b"' in closed.text
    assert closed.headers["referrer-policy"] == "same-origin", "else the form would be sent without an origin"
    sent = urlencode({"password": "correct horse", "next": "/runs?q=a%26b"}).encode()
    form = {"Content-Type": "application/x-www-form-urlencoded", "Origin": shared.url}
    answer = shared.ask("/login", method="POST", body=sent, headers=form, is_signed_in=False)
    assert (answer.status, answer.headers["location"]) == (303, "/runs?q=a%26b")
    cookie = answer.headers["set-cookie"].partition(";")[0]
    assert shared.ask("runs", is_signed_in=False, headers={"Cookie": cookie}).status == 200


@pytest.mark.parametrize("to", ["//evil.example", "https://evil.example/", "/\\evil.example", "\r\nA: b", ""])
def test_a_login_never_leads_elsewhere(shared, to):
    sent = urlencode({"password": "correct horse", "next": to}).encode()
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = shared.ask("/login", method="POST", body=sent, headers=form, is_signed_in=False)
    assert answer.status == 303
    assert re.match(r"/(?![/\\])", answer.headers["location"])
    assert "a" not in answer.headers


def test_what_is_shown_of_an_address_cannot_become_markup(shared):
    closed = shared.ask("/%22%3E%3Cscript%3Ealert(1)%3C/script%3E", is_signed_in=False)
    assert "<script" not in closed.text


def test_programs_give_the_password_as_a_bearer(shared):
    assert (
        shared.ask("runs", is_signed_in=False, headers={"Authorization": "Bearer correct horse"}).status
        == 200
    )
    assert shared.ask("runs", is_signed_in=False, headers={"Authorization": "Bearer wrong"}).status == 401


def test_a_viewer_without_a_password_has_no_login(viewer):
    assert viewer.ask("/login", method="POST", body=b"password=", is_signed_in=False).status == 401
    assert "password" not in viewer.ask("/", is_signed_in=False).text
    assert viewer.ask("runs", is_signed_in=False, headers={"Authorization": "Bearer "}).status == 401


def test_passwords_cannot_be_tried_without_end():
    access = Access(hosts=["localhost:1"], name="1", csrf="c", password="correct horse")
    assert not any(access.accepts_password("wrong") for _ in range(10))
    with pytest.raises(Exception, match="too many wrong passwords"):
        access.accepts_password("correct horse")


# ---------------------------------------------------------------------- read-only, logs


def test_a_viewer_that_only_reads_has_no_routes_that_write(store_path):
    writing = [call for call in CALLS if call.writes]
    with ServedViewer(store_path, read_only=True) as served:
        assert served.ask("session").json()["read_only"] is True
        for call in writing:
            answer = served.ask(f"/api/v1{filled(call.path)}", method=call.method, body={})
            assert answer.status in {404, 405}


def test_nothing_that_is_logged_has_a_token(store_path, capfd, caplog):
    with ServedViewer(store_path, password="correct horse") as served:
        access = served.server.access
        path = served.address("/runs").removeprefix(served.url)
        served.ask(path, is_signed_in=False)
        served.ask(path, is_signed_in=False)
        served.ask("/nowhere" + path)
        served.ask("runs?nonsense=1")
        with closing(socket.create_connection(("127.0.0.1", served.server.port))) as raw:
            raw.sendall(f"nonsense {path}\r\nCookie: {access.value}\r\n\r\n".encode())
            raw.recv(1000)
    said = "".join([*capfd.readouterr(), caplog.text])
    for secret in (path.partition("token=")[2], access.value, access.csrf, "correct horse"):
        assert secret not in said


def test_a_request_that_never_ends_holds_up_no_one(viewer):
    with closing(socket.create_connection(("127.0.0.1", viewer.server.port))) as slow:
        slow.sendall(b"GET / HTTP/1.1\r\nHost: ")
        assert viewer.ask("session").status == 200
