"""The page of the demo in a real browser: what a person sees, clicks and hears."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect

from tests.browser.chromium import browser
from tests.browser.demo import Demo, running

pytestmark = pytest.mark.xdist_group("browser")
_PATIENCE_MS = 60_000


@pytest.fixture(scope="module")
def demo() -> Iterator[Demo]:
    """A demo for all tests of this file."""
    with running() as found:
        yield found


@pytest.fixture(scope="module")
def opened() -> Iterator[Browser]:
    """A browser for all tests of this file."""
    with browser() as found:
        yield found


@pytest.fixture
def page(demo: Demo, opened: Browser) -> Iterator[Page]:
    """The page, in a context of its own; anything on its console fails the test."""
    complaints: list[str] = []

    def hear(message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            complaints.append(message.text)

    context = opened.new_context(viewport={"width": 1360, "height": 900}, color_scheme="light")
    shown = context.new_page()
    shown.set_default_timeout(_PATIENCE_MS)
    shown.on("console", hear)
    shown.on("pageerror", lambda error: complaints.append(str(error)))
    shown.goto(demo.dashboard)
    yield shown
    context.close()
    assert not complaints


def test_nodes_appear_and_time_passes(page: Page) -> None:
    """The first thing that anybody sees: boxes with pods in them, and a clock that runs."""
    expect(page.locator(".node .pod").first).to_be_visible()
    before = page.locator("#clock").inner_text()
    expect(page.locator("#clock")).not_to_have_text(before)
    expect(page.locator("[data-figure='nodes']")).not_to_have_text("0")
    expect(page.locator("#connection")).to_have_text("live")


def test_a_decision_says_why(page: Page) -> None:
    """Before, after, why and the money, in a dialog that the keyboard closes."""
    page.locator("#timeline button.launch").first.click()
    body = page.locator("#detail-body")
    expect(body.locator(".verdict")).to_contain_text("did not fit on any existing node")
    for fact in ("before", "after", "money"):
        expect(body.locator("dt", has_text=re.compile(f"^{fact}$"))).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#detail")).not_to_be_visible()


def test_a_pod_that_waits_says_what_would_help(page: Page) -> None:
    """The notebook asks for a GPU, and does not tolerate the taint of the nodes that have one."""
    stuck = page.locator("#waiting button.stuck", has_text="notebook")
    expect(stuck).to_contain_text("What would help: tolerate dedicated=gpu:NoSchedule")
    stuck.click()
    expect(page.locator("#detail-body .verdict")).to_contain_text("It is pending.")


def test_a_node_is_explained_by_the_keyboard(page: Page) -> None:
    """Boxes are buttons: they take the focus, and have a name that can be read aloud."""
    first = page.locator(".node").first
    expect(first).to_have_attribute("aria-label", re.compile(r"\$[0-9.]+ an hour, cpu \d+ %"))
    first.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#detail-title")).to_contain_text("node/")
    expect(page.locator("#detail-body")).to_contain_text("managed by")


def test_the_theme_can_be_switched_and_is_kept(page: Page) -> None:
    """Light becomes dark, also after the page is loaded again."""
    root = page.locator("html")
    expect(root).to_have_attribute("data-theme", "light")
    page.get_by_role("button", name="switch between light and dark").click()
    expect(root).to_have_attribute("data-theme", "dark")
    page.reload()
    expect(root).to_have_attribute("data-theme", "dark")


def test_time_stands_still_when_told_to(page: Page) -> None:
    """And goes on again."""
    page.get_by_role("button", name="paused").click()
    expect(page.locator("[data-rate='0']")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="a day in three minutes").click()
    expect(page.locator("[data-rate='480']")).to_have_attribute("aria-pressed", "true")


def test_pools_show_their_limits_and_calendar(page: Page) -> None:
    """What is used of each limit, and when how many nodes may go."""
    cards = page.locator("#cards article")
    expect(cards).to_have_count(2)
    expect(cards.first).to_contain_text("demo-general")
    expect(cards.first.get_by_role("meter").first).to_be_visible()
    expect(cards.first.locator(".calendar").first).to_contain_text("hour by hour")
