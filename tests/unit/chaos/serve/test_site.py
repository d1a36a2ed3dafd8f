"""Which address leads to what."""

import msgspec
import pytest
from stored_runs import stored

from chaos.serve.site import Target, link_of, target_of

RUN = stored("2026-11-20T22:00:00Z")
RUNS = {RUN.where: RUN}
PAGES = frozenset({f"{RUN.where}/report.html", "matrix-small/index.html"})


@pytest.mark.parametrize(
    ("address", "target"),
    [
        ("", Target("index")),
        ("index.html", Target("index")),
        (f"{RUN.where}/live", Target("live", RUN)),
        (f"{RUN.where}/live.events", Target("news", RUN)),
        (f"{RUN.where}.zip", Target("archive", RUN)),
        (f"{RUN.where}/report.html", Target("page")),
        ("matrix-small/index.html", Target("page")),
        (f"{RUN.where}/nodes/b1/report.html", Target("file")),
        (f"{RUN.where}/run.json", Target("file")),
        ("other/live", Target("file")),
        ("other.zip", Target("file")),
        ("live", Target("file")),
    ],
)
def test_an_address_leads_to_one_thing(address: str, target: Target) -> None:
    assert target_of(tuple(address.split("/")) if address else (), RUNS, PAGES) == target


def test_a_run_without_a_page_is_shown_live_and_one_that_cannot_be_read_is_not() -> None:
    assert link_of(RUN) == f"{RUN.where}/report.html"
    assert link_of(msgspec.structs.replace(RUN, has_page=False)) == f"{RUN.where}/live"
    assert link_of(msgspec.structs.replace(RUN, has_page=False, figures=None)) == ""
