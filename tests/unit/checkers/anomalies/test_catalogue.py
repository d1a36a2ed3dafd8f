"""One catalogue of anomalies: report, documentation, lists and the order of strength derive from it."""

import re

import pytest
from repository import HISTORIES, ROOT

from chaos.testing.history_files import load_history
from checkers.anomalies import anomalies_page
from checkers.anomalies.catalogue import built_in, kind_of, kinds_named, rank
from checkers.engine.installed_checks import checks
from checkers.kafka.names import STANDS as OF_KAFKA
from checkers.objects.registry import MODELS
from checkers.revisions.judge import KINDS as OF_REVISIONS
from checkers.revisions.watches import KINDS as OF_WATCHES
from checkers.txn.names import CYCLES, SCANS

SEMANTICS = (ROOT / "docs" / "semantics.md").read_text()


@pytest.mark.parametrize("kind", built_in().values(), ids=list(built_in()))
def test_a_kind_says_what_was_seen_and_what_should_have_been(kind):
    texts = (kind.one, kind.many, kind.meaning, kind.expected)
    assert all(texts)
    assert kind.one != kind.many
    assert not any(text.endswith(".") for text in texts)
    assert kind.counted(1) == f"1 {kind.one}"
    assert kind.counted(3) == f"3 {kind.many}"


@pytest.mark.parametrize("kind", built_in().values(), ids=list(built_in()))
def test_where_a_kind_is_defined_there_is_a_rule_or_a_page(kind):
    page = ROOT / "docs" / "reference" / f"{kind.rule}.md"
    if page.exists():
        assert f"`{kind.name}`" in page.read_text()
    else:
        assert re.search(rf"^{kind.rule}\. \*\*", SEMANTICS, re.MULTILINE)


def test_the_order_of_strength_is_that_of_the_contract():
    told = re.search(r"The order of strength is (.*?)\.\n", SEMANTICS, re.DOTALL)
    assert told is not None
    names = [name.strip() for name in told[1].replace("\n", " ").split(",")]
    assert sorted(names, key=rank) == names
    apart = ("12", "models", "transactions")
    ours = [name for name, kind in built_in().items() if "runs" in kind.where and kind.rule not in apart]
    assert names == ours


def test_every_anomaly_of_a_check_is_in_the_catalogue_and_the_other_way_round():
    declared = {kind.name for check in checks().values() for kind in check.anomalies}
    imported = {*OF_KAFKA, *CYCLES, *SCANS, *(name for model in MODELS.values() for name in model.stands)}
    imported |= {*OF_REVISIONS, *OF_WATCHES}
    assert declared | imported == set(built_in())


def test_every_anomaly_of_a_run_has_a_history_that_shows_it():
    shown = {name for path in HISTORIES.glob("*.yaml") for name in load_history(path).expect.anomalies}
    declared = {kind.name for check in checks().values() for kind in check.anomalies}
    elsewhere = {
        "clock": "tests/property/checkers/test_assumptions_clock.py",
        **dict.fromkeys(
            ("id-given-twice", "id-out-of-order"),
            "tests/unit/checkers/coordination/test_distinct_ids.py",
        ),
        **dict.fromkeys(("wrong-total", "negative-balance"), "tests/unit/checkers/txn/test_live_bank.py"),
        **dict.fromkeys(("long-fork", "key-order-cycle"), "tests/unit/checkers/txn/test_live_registers.py"),
        **dict.fromkeys(
            ("lock-held-twice", "write-after-loss", "token-not-rising"),
            "tests/unit/checkers/coordination/test_lock.py",
        ),
        **dict.fromkeys(
            ("permits-exceeded", "permit-given-twice", "permit-released-twice"),
            "tests/unit/checkers/coordination/test_semaphore.py",
        ),
        **dict.fromkeys(
            ("lease-lost-early", "lease-renewed-after-end", "lease-outlived"),
            "tests/unit/checkers/coordination/test_lease.py",
        ),
        **dict.fromkeys(
            (
                *("watch-phantom", "watch-skipped", "watch-torn", "watch-reordered", "watch-duplicate"),
                *("watch-before-start", "watch-wrong-previous"),
            ),
            "tests/unit/checkers/coordination/test_watch.py",
        ),
        **dict.fromkeys(OF_REVISIONS, "tests/unit/checkers/revisions/test_spaces_of_runs.py"),
        **dict.fromkeys(
            ("nonlinearizable", "stale-read", "out-of-bounds"), "tests/unit/checkers/objects/test_live_objects.py"
        ),
    }
    transactional = {name for name in declared if kind_of(name).rule == "transactions"}  # test_live_transactions.py
    assert declared - shown - transactional == elsewhere.keys()
    assert all(name in (ROOT / path).read_text() for name, path in elsewhere.items())


def test_a_name_that_nobody_knows_is_told_plainly():
    kind = kind_of("bit-rot")
    assert (kind.consequence, kind.counted(2), kind.meaning) == ("invalid", "2 bit-rot", "")
    assert rank("bit-rot") > rank("unseen")
    with pytest.raises(KeyError):
        kinds_named("bit-rot")


def test_the_page_is_made_from_the_catalogue():
    assert (ROOT / "docs/reference/anomalies.md").read_text() == anomalies_page.page(), (
        "python -m checkers.anomalies.anomalies_page > docs/reference/anomalies.md"
    )
