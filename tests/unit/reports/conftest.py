"""Synthetic run folders, rendered once per session, and a headless browser where there is one."""

import fcntl
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import synthetic
from pages import PATIENCE_S, WIDE

from cluster.doctor import find_chromium
from reports import reporter
from reports.folder import read_parts
from reports.page.build import report_data
from reports.page.model import ReportData

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


class OnceAsked(dict[str, Any]):
    """Each value is made when it is first asked for."""

    def __init__(self, make: Callable[[str], Any]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, kind: str) -> Any:
        self[kind] = self._make(kind)
        return self[kind]


def rendered(root: Path, kind: str) -> Path:
    """A rendered run folder of a kind, made by the first process that comes for it."""
    folder, done = root / kind, root / f"{kind}.done"
    with (root / f"{kind}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            reporter.write(synthetic.write(folder, kind))
            done.touch()
    return folder


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One rendered run folder of each kind, the same for all workers; tests must not change them."""
    own = tmp_path_factory.getbasetemp()
    root = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "reported-runs"
    root.mkdir(exist_ok=True)
    return OnceAsked(lambda kind: rendered(root, kind))


@pytest.fixture(scope="session")
def reports_by_kind(folders: dict[str, Path]) -> dict[str, ReportData]:
    """What is said of each kind of run."""
    return OnceAsked(lambda kind: report_data(read_parts(folders[kind])))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A real browser; skipped only where ``chaos doctor`` reports none, and never in CI."""
    program = find_chromium()
    if program is None:
        assert not os.environ.get("CI"), "CI runs without chromium; .ci/setup should have installed it"
        pytest.skip("no chromium on this machine: apt-get install chromium")
    from playwright.sync_api import sync_playwright  # whoever opens no page need not wait for it

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=FLAGS, timeout=PATIENCE_S * 1000)
        yield started
        started.close()


@pytest.fixture
def open_page(browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens a page and, at the end, fails if it logged anything or asked for anything but itself.

    The page is asked for no motion, so that nothing still moves where a test reads or clicks; a test about motion says
    ``motion="no-preference"``.
    """
    contexts, complaints = [], []

    def opened(
        path: Path,
        *,
        scheme: str = "light",
        size: dict[str, int] | None = None,
        at: str = "",
        motion: str = "reduce",
    ) -> Any:
        context = browser.new_context(viewport=size or WIDE, color_scheme=scheme, reduced_motion=motion)
        context.set_default_timeout(PATIENCE_S * 1000)
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
