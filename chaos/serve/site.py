"""What there is to see in a store: which address leads to what, and the pages that are made when they are asked for."""

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal, NamedTuple

from reports.across.index import page, page_link, view
from reports.across.live_page import page as live_page
from reports.across.stores import Store, Stored, StoreReader

LIVE: Final = "live"
NEWS: Final = "live.events"
ARCHIVE: Final = ".zip"

Kind = Literal["index", "live", "news", "archive", "page", "file"]


class Target(NamedTuple):
    """What an address leads to; ``run``: the run that it is about, where it is about one."""

    kind: Kind
    run: Stored | None = None


def target_of(parts: tuple[str, ...], runs: Mapping[str, Stored], pages: frozenset[str]) -> Target:
    """What an address leads to. Pure.

    Args:
        parts: of its path.
        runs: where each run is → the run.
        pages: the addresses of pages that chaos wrote.
    """
    if parts in ((), ("index.html",)):
        return Target("index")
    where, above = "/".join(parts), "/".join(parts[:-1])
    if above in runs and parts[-1] in (LIVE, NEWS):
        return Target("live" if parts[-1] == LIVE else "news", runs[above])
    if where.endswith(ARCHIVE) and where.removesuffix(ARCHIVE) in runs:
        return Target("archive", runs[where.removesuffix(ARCHIVE)])
    return Target("page" if where in pages else "file")


def link_of(run: Stored) -> str:
    """Where a run is shown: its own page, and the live one until that is there."""
    return page_link(run) if run.has_page or run.figures is None else f"{run.where}/{LIVE}"


class Site:
    """The pages of one store. Asked by many threads.

    Args:
        store: a store, or the folder of one matrix.
    """

    def __init__(self, store: Path) -> None:
        self._reader = StoreReader(store)
        self._alone = threading.Lock()
        self.top, self.base = self._reader.top, self._reader.base

    def store(self) -> Store:
        """What lies there now."""
        with self._alone:
            return self._reader.read()

    def target(self, parts: tuple[str, ...]) -> Target:
        """What an address leads to now."""
        store = self.store()
        runs = {run.where: run for run in store.runs if run.figures is not None}
        pages = {f"{where}/report.html" for where in runs} | {f"{one.where}/index.html" for one in store.matrices}
        return target_of(parts, runs, frozenset(pages))

    def index(self) -> str:
        """The page of the store."""
        return page(view(self.store(), link=link_of, archive=lambda run: f"{run.where}{ARCHIVE}", title=self.top.name))

    def live(self, run: Stored) -> str:
        """The page of a run that goes."""
        up = "../" * (run.where.count("/") + 1)
        return live_page(run.id, up, f"../{run.folder.name}{ARCHIVE}")
