"""The page in a real browser: for whom lists must not jump, and with a cluster that means harm."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import msgspec
import pytest
from playwright.sync_api import Browser, Page, expect

from dovetail.model.snapshot import Snapshot
from dovetail.testing import instance_type, node, node_pool, pod, snapshot
from tests.browser.chromium import browser
from tests.browser.stage import START, Stage

pytestmark = pytest.mark.xdist_group("browser")
_PATIENCE_MS = 30_000
_EVIL = "<img src=x onerror=alert(1)>\x1b[31m\u202e"
_SMALL = instance_type("small", cpu=2, memory="8Gi", price=0.10, zones=("a", "b"))


def _cluster() -> Snapshot:
    nodes = [
        node(f"n{number}", pool="default", type="small", zone=zone, types=(_SMALL,))
        for number, zone in enumerate(("a", "a", "b"))
    ]
    waiting = [pod(name, cpu=1, created_at=START) for name in ("v", "w", "x")]
    pods = [pod("p", cpu=1, node="n1"), *waiting]
    return snapshot(pods=pods, nodes=nodes, node_pools=[node_pool()], types=(_SMALL,))


def _without_pod(cluster: Snapshot, name: str) -> Snapshot:
    staying = tuple(one for one in cluster.pods if one.name != name)
    return msgspec.structs.replace(cluster, pods=staying)


@pytest.fixture(scope="module")
def opened() -> Iterator[Browser]:
    """A browser for all tests of this file."""
    with browser() as found:
        yield found


@pytest.fixture
def stage() -> Stage:
    """Three nodes, and three pods that wait."""
    return Stage(_cluster())


@pytest.fixture
def page(stage: Stage, opened: Browser) -> Iterator[Page]:
    """The page of the stage; a script that runs, or fails, fails the test."""
    complaints: list[str] = []
    with stage.shown():
        context = opened.new_context(color_scheme="light")
        shown = context.new_page()
        shown.set_default_timeout(_PATIENCE_MS)
        shown.on("dialog", lambda dialog: complaints.append(dialog.message))
        shown.on("pageerror", lambda error: complaints.append(str(error)))
        shown.goto(stage.address)
        expect(shown.locator(".node")).to_have_count(3)
        yield shown
        context.close()
    assert not complaints


def _focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.textContent"))


def test_a_list_that_changes_keeps_the_focus(page: Page, stage: Stage) -> None:
    """The pod that has it stays; once that is gone, its neighbour has it."""
    page.locator("#waiting button", has_text="default/w").focus()
    stage.cluster = _without_pod(stage.cluster, "v")
    expect(page.locator("#waiting button")).to_have_count(2)
    assert _focused(page).startswith("default/w")
    stage.cluster = _without_pod(stage.cluster, "w")
    expect(page.locator("#waiting button")).to_have_count(1)
    assert _focused(page).startswith("default/x")
    stage.cluster = _without_pod(stage.cluster, "x")
    expect(page.locator("#waiting")).to_have_text("No pending pods.")
    assert page.evaluate("document.activeElement.id") == "queue"


def test_how_long_a_pod_waits_is_told_although_nothing_else_changes(
    page: Page, stage: Stage
) -> None:
    """Nothing is told about the pod meanwhile."""
    expect(page.locator("#waiting button").first).to_contain_text("for 0 s")
    stage.passes(timedelta(minutes=7))
    expect(page.locator("#waiting button").first).to_contain_text("for 7 min")


def test_arrows_go_from_node_to_node(page: Page, stage: Stage) -> None:
    """One of them is reached by Tab, also when the one that was is gone."""
    stops = page.locator(".node[tabindex='0']")
    expect(stops).to_have_count(1)
    stops.focus()
    for key, want in (("ArrowRight", "n1"), ("ArrowDown", "n2"), ("ArrowUp", "n0"), ("End", "n2")):
        page.keyboard.press(key)
        assert page.evaluate("document.activeElement.dataset.name") == want
    stage.cluster = msgspec.structs.replace(stage.cluster, nodes=stage.cluster.nodes[:2])
    expect(page.locator(".node")).to_have_count(2)
    expect(stops).to_have_count(1)
    page.locator("#find").fill("n1")
    expect(page.locator("#found")).to_have_text("1 of 2 nodes")


def test_a_server_that_comes_back_is_followed_again(opened: Browser, stage: Stage) -> None:
    """Without old lines or nodes that are gone, and with the focus where it was."""
    context = opened.new_context()
    page = context.new_page()
    page.set_default_timeout(_PATIENCE_MS)
    with stage.shown():
        page.goto(stage.address)
        stage.tell("before")
        expect(page.locator("#timeline li")).to_have_count(1)
        page.locator("[data-name='n0']").focus()
    expect(page.locator("#connection")).to_contain_text("not connected")
    stage.cluster = msgspec.structs.replace(stage.cluster, nodes=stage.cluster.nodes[:2])
    again = Stage(stage.cluster)
    again.port = stage.port
    with again.shown():
        expect(page.locator("#connection")).to_have_text("live")
        expect(page.locator(".node")).to_have_count(2)
        expect(page.locator("#timeline li")).to_have_count(0)
        expect(page.locator("#undecided")).to_be_visible()
        assert page.evaluate("document.activeElement.dataset.name") == "n0"
        context.close()


def test_names_that_mean_harm_are_only_text(page: Page, stage: Stage) -> None:
    """Whatever passed through an API server that checks less than it should."""
    harmful = node(_EVIL, pool=_EVIL, zone=_EVIL, type=_EVIL)
    plain = node("plain", pool="", zone="", type="")
    stage.cluster = msgspec.structs.replace(
        stage.cluster,
        nodes=(*stage.cluster.nodes, harmful, plain),
        pods=(*stage.cluster.pods, pod(_EVIL, cpu=1, created_at=START)),
    )
    stage.tell(_EVIL)
    expect(page.locator(".node")).to_have_count(5)
    expect(page.locator(".pool h3", has_text="<img src=x")).to_be_visible()
    expect(page.locator(".pool h3", has_text="no NodePool")).to_be_visible()
    expect(page.locator("#waiting button", has_text="<img src=x")).to_be_visible()
    expect(page.locator("#timeline li", has_text="<img src=x")).to_be_visible()
    page.locator(".node[title^='<img src=x']").click()
    expect(page.locator("#detail-body")).to_contain_text("nobody answers about node/<img src=x")
    assert page.locator("main img").count() == 0


def test_news_are_read_aloud_a_few_at_a_time(page: Page, stage: Stage) -> None:
    """The first at once; those that follow soon together, a little later."""
    spoken = page.locator("#announcer")
    stage.tell("first")
    expect(spoken).to_have_text("first")
    for number in range(3):
        stage.tell(f"then {number}")
    expect(page.locator("#timeline li")).to_have_count(4)
    expect(spoken).to_have_text("then 2, and 2 more")


def test_the_theme_follows_the_system_until_the_button_is_pressed(page: Page) -> None:
    """Also while the page is open."""
    root = page.locator("html")
    page.emulate_media(color_scheme="dark")
    expect(root).to_have_attribute("data-theme", "dark")
    page.emulate_media(color_scheme="light")
    expect(root).to_have_attribute("data-theme", "light")
    page.locator("#theme").click()
    expect(root).to_have_attribute("data-theme", "dark")
    page.emulate_media(color_scheme="dark")
    page.emulate_media(color_scheme="light")
    expect(root).to_have_attribute("data-theme", "dark")
