"""Synthetic run folders, rendered once per session, and a headless browser where there is one."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import synthetic

from reports.build import report_data
from reports.folder import read_parts
from reports.html import render
from reports.model import ReportData

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
        render(folder)
    return made


@pytest.fixture(scope="session")
def reports_by_kind(folders: dict[str, Path]) -> dict[str, ReportData]:
    """What is said of each kind of run."""
    return {kind: report_data(read_parts(folder)) for kind, folder in folders.items()}


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Debian's chromium; skipped only where it or its driver is not installed."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no chromium on this machine: apt-get install chromium")
    driver = pytest.importorskip("playwright.sync_api", reason="no playwright: pip install -e '.[dev]'")
    with driver.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield started
        started.close()
