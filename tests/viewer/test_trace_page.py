"""The trace of an attempt on its page, as a conversation and as a waterfall."""

import pytest

from calipers.stores import SqliteStore
from calipers.testing import ServedViewer
from calipers.viewer.case_id import case_id

from .conftest import in_thread, settled
from .gallery import keep_agent


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """A viewer of an agent with tools, and the address of its cases."""
    path = tmp_path_factory.mktemp("shop") / "runs.db"

    def kept():
        with SqliteStore(path) as store:
            return keep_agent(store)

    run = in_thread(kept)
    with ServedViewer(path) as served:
        yield served, f"/runs/{run}/cases/"


def test_a_conversation_has_what_the_model_said_without_a_press(shop, visit):
    served, cases = shop
    page = visit(served, f"{cases}{case_id('order 9')}?view=talk")
    page.get_by_text("It is lost: I refund it.", exact=True).wait_for()
    assert page.get_by_text("I look the order up.", exact=True).count() == 1


@pytest.mark.parametrize(("case", "step"), [("order 2", "Where is my order 2?"), ("order 9", "refund")])
def test_a_waterfall_opens_at_the_step_that_failed_or_else_at_the_first(shop, visit, case, step):
    served, cases = shop
    page = visit(served, f"{cases}{case_id(case)}?view=waterfall")
    detail = page.get_by_role("region", name="The chosen step")
    detail.locator(".step-name").wait_for()
    settled(page)
    assert step in detail.locator(".step-name").inner_text()
