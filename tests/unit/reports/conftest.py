"""Synthetic run folders, rendered once per session, and a headless browser where there is one."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import synthetic
from pages import WIDE
from playwright.sync_api import sync_playwright

from cluster.doctor import find_chromium
from reports import reporter
from reports.folder import read_parts
from reports.model import ReportData
from reports.page.build import report_data

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One rendered run folder of each kind; tests must not change them."""
    root = tmp_path_factory.mktemp("runs")
    made = {kind: synthetic.write(root / kind, kind) for kind in synthetic.KINDS}
    for folder in made.values():
        reporter.write(folder)
    return made


@pytest.fixture(scope="session")
def reports_by_kind(folders: dict[str, Path]) -> dict[str, ReportData]:
    """What is said of each kind of run."""
    return {kind: report_data(read_parts(folder)) for kind, folder in folders.items()}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A real browser; skipped only where ``chaos doctor`` reports none, and never in CI."""
    program = find_chromium()
    if program is None:
        assert not os.environ.get("CI"), "CI runs without chromium; .ci/setup should have installed it"
        pytest.skip("no chromium on this machine: apt-get install chromium")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield started
        started.close()


@pytest.fixture
def open_page(browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens a page and, at the end, fails if it logged anything or asked for anything but itself."""
    contexts, complaints = [], []

    def opened(path: Path, *, scheme: str = "light", size: dict[str, int] | None = None, at: str = "") -> Any:
        context = browser.new_context(viewport=size or WIDE, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        own = path.as_uri()
        page.on("request", lambda asked: complaints.append(asked.url) if asked.url.split("#")[0] != own else None)
        page.goto(own + at)
        page.wait_for_selector("body[data-done]")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert complaints == []
