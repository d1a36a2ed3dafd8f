"""The live page in a real browser, from a real server: it fills, it ends with the verdict, it takes texts as texts."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pages import NARROW, PATIENCE_S, broken_words, hindrances, until
from stored_runs import write

from chaos.cli.live.json_lines import object_of
from chaos.cli.live.news import Board
from chaos.serve.server import Server
from reports import reporter


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """Where a server shows the live page of a run that is over."""
    folder = write(tmp_path / "store" / "g" / "20261121T071500Z-0001", "invalid", system="<b>mq</b>")
    reporter.write(folder)
    board = Board()
    server = Server(tmp_path / "store", "127.0.0.1", 0, lambda event: object_of("event", event, board))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield f"{server.url}g/20261121T071500Z-0001/live"
    server.shutdown()
    thread.join()
    server.close()


def test_the_page_fills_from_the_servers_news_and_ends_with_the_verdict(browser: Any, address: str) -> None:
    context = browser.new_context(viewport=NARROW, reduced_motion="reduce")
    context.set_default_timeout(PATIENCE_S * 1000)
    page, complaints = context.new_page(), []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(address)
    until(page, "document.body.dataset.heard === 'end'")
    assert page.text_content("#stamp") == "FAIL"
    assert "328 acknowledged messages were lost" in page.text_content("#lede")
    assert page.text_content("#title").startswith("<b>mq</b> 5.5.0"), "texts stay texts"
    rows = page.locator("#faults tr")
    assert rows.count() == 3
    assert "leader-partition" in rows.first.text_content()
    assert "healed" in rows.first.text_content()
    assert "brokers: b2 epoch 2" in page.text_content("#leaders")
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
    assert broken_words(page) == []
    assert hindrances(page) == []
    page.set_viewport_size(NARROW)
    page.get_by_role("link", name="the run's page").click()
    page.wait_for_url("**/report.html")
    page.wait_for_selector("body[data-done]")
    assert page.locator(".stamp").first.text_content() == "FAIL"
    page.go_back()
    until(page, "document.body.dataset.heard === 'end'")
    page.get_by_role("link", name="all runs").click()
    page.wait_for_url(lambda url: not url.endswith("/live"))
    page.wait_for_selector("body[data-done]")
    assert page.locator("#runtable tbody tr").count() == 1
    context.close()
    assert complaints == []
