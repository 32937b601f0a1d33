"""A browser, and pages opened in it under watch: no request but the file, no dialog, no complaint on the console."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from calipers.views.html import write_html


@dataclass
class Watch:
    """What a page did that a report must not do."""

    url: str
    complaints: list[str] = field(default_factory=list)

    def on(self, page: Any) -> None:
        page.on("request", self.requested)
        page.on("dialog", self.asked)
        page.on("console", lambda message: self.complaints.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("popup", lambda popup: self.complaints.append("opened a window"))

    def requested(self, request: Any) -> None:
        if request.url.partition("#")[0] != self.url:
            self.complaints.append(f"request: {request.url}")

    def asked(self, dialog: Any) -> None:
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()


@pytest.fixture
def visit(browser, tmp_path):
    """Open a report: `visit(report, width=390, fragment="#case-3", **context_options)`."""
    contexts, watches = [], []

    def open_report(
        report, *, width=1280, height=900, fragment="", write_options: dict[str, Any] | None = None, **options
    ):
        path = write_html(report, tmp_path / f"report-{len(contexts)}.html", **(write_options or {}))
        context = browser.new_context(
            viewport={"width": width, "height": height}, offline=True, reduced_motion="reduce", **options
        )
        contexts.append(context)
        context.set_default_timeout(10_000)
        page = context.new_page()
        watches.append(Watch(path.as_uri()))
        watches[-1].on(page)
        page.goto(path.as_uri() + fragment)
        return page

    yield open_report
    for context in contexts:
        context.close()
    assert [complaint for watch in watches for complaint in watch.complaints] == []
