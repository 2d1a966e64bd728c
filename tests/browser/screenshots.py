"""Make the pictures of docs/: python -m tests.browser.screenshots (the demo runs for a minute)."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.chromium import browser
from tests.browser.demo import running

_DOCS = Path(__file__).parents[2] / "docs"
_BUSY_MS = 60_000


def main() -> None:
    """The page by day and by night, and a decision."""
    with running("--speed", "480") as demo, browser() as opened:
        for theme in ("light", "dark"):
            context = opened.new_context(
                viewport={"width": 1360, "height": 980}, color_scheme=theme
            )
            page = context.new_page()
            page.goto(demo.dashboard)
            expect(page.locator(".node .pod").first).to_be_visible(timeout=_BUSY_MS)
            page.wait_for_timeout(_BUSY_MS if theme == "light" else 1000)
            page.screenshot(path=_DOCS / f"dashboard-{theme}.png")
            if theme == "light":
                _decision(page)
            context.close()


def _decision(page: Page) -> None:
    page.locator("#timeline button.disrupt, #timeline button.launch").first.click()
    expect(page.locator("#detail-body .verdict")).to_be_visible()
    page.screenshot(path=_DOCS / "dashboard-decision.png")


if __name__ == "__main__":
    main()
