"""Of many faults the page shows those that its first sentence names, and those whose outage another row refers to."""

from pathlib import Path

import msgspec
import pytest

from chaos.core.verdict import Headline, Rto
from reports.folder import Parts, read_parts
from reports.page.build import report_data


@pytest.fixture
def many(folders: dict[str, Path]) -> Parts:
    """Twenty faults, of which the first twelve cost something and the others nothing."""
    parts = read_parts(folders["invalid"])
    assert parts.results is not None
    quiet = msgspec.structs.replace(
        parts.results.faults[0], rto=(), lost=0, not_ok=0, note="", proven=True, healed=True
    )
    faults = tuple(msgspec.structs.replace(quiet, id=i, not_ok=max(0, 13 - i)) for i in range(1, 21))
    return msgspec.structs.replace(parts, results=msgspec.structs.replace(parts.results, faults=faults), plan=())


def shown(parts: Parts, sentence: str, fault: int | None = None) -> list[int]:
    assert parts.results is not None
    told = Headline(anomaly="lost-write", fault=fault)
    results = msgspec.structs.replace(parts.results, sentence=sentence, headline=told)
    rows = report_data(msgspec.structs.replace(parts, results=results)).faults
    return [row.id for row in rows if not row.folded]


def test_faults_that_the_sentence_names_are_shown(many: Parts) -> None:
    usual = list(range(1, 9))
    assert shown(many, "Lost.") == usual
    assert shown(many, "c2, cut off by fault 17 (cut) at 46.5 s, and after fault 16 (cut on b3). 20 faults.") == [
        *usual,
        16,
        17,
    ]
    assert shown(many, "Lost.", fault=19) == [*usual, 19]


def test_a_row_whose_outage_another_one_refers_to_is_shown(many: Parts) -> None:
    assert many.results is not None
    outage = Rto(f="send", seconds=3.0, key=0, start_ns=many.run.origin_ns)
    faults = tuple(
        msgspec.structs.replace(one, rto=(outage,) if one.id in (14, 15) else ()) for one in many.results.faults
    )
    parts = msgspec.structs.replace(many, results=msgspec.structs.replace(many.results, faults=faults))
    assert 14 in shown(parts, "Lost.", fault=15)
