"""What is said of an anomaly names the message, the node and the fault, whatever the anomaly."""

from pathlib import Path

import msgspec
import pytest
from history_literals import written
from repository import HISTORIES

from chaos.testing.history_files import NODES, load_history, write_run_folder
from chaos.testing.history_literal import FaultLiteral
from checkers.anomalies.catalogue import kind_of
from checkers.engine import local_engine

LITERALS = {path: written(path) for path in sorted(HISTORIES.glob("*.yaml"))}
INVALID = [path for path, literal in LITERALS.items() if literal["expect"].get("valid") is False]
WITHOUT_FAULTS = [path for path in INVALID if not LITERALS[path].get("faults")]
NAMES = [node.name for node in NODES]
EARLY = FaultLiteral(id=9, name="leader-kill", targets=("b3",), inject=0.05, heal=0.1)
"""Over before anything is sent, and of a node that is in no history."""


@pytest.mark.parametrize(
    ("path", "faults"),
    [*((path, ()) for path in INVALID), *((path, (EARLY,)) for path in WITHOUT_FAULTS)],
    ids=lambda one: one.stem if isinstance(one, Path) else "after a fault" if one else "as it is",
)
def test_the_first_sentence_names_message_node_and_fault(path, faults, tmp_path):
    literal = load_history(path)
    write_run_folder(msgspec.structs.replace(literal, faults=literal.faults + faults), tmp_path / "run")
    results = local_engine.judge(tmp_path / "run")
    assert results.valid is False
    first = next(one for one in results.anomalies.values() if not one.allowed)
    example = first.examples[0]
    assert results.headline is not None
    assert results.anomalies[results.headline.anomaly] == first
    assert results.headline.fault is None or f"fault {results.headline.fault} (" in results.sentence
    told = set(results.headline.nodes)
    assert told == {node for node in NAMES if node.startswith("c")} if "the controllers" in results.sentence else told
    assert all(node in results.sentence for node in told) or "the controllers" in results.sentence
    assert example.node in NAMES
    assert example.node in results.sentence
    if example.value is not None:
        assert example.value in results.sentence
    for name, anomaly in results.anomalies.items():
        for one in anomaly.examples if kind_of(name).rule != "12" else ():
            assert one.node in one.sentence
            assert one.value is None or one.value in one.sentence
            assert one.offset is None or f"offset {one.offset}" in one.sentence
            assert one.key is None or f"queue {one.key}" in one.sentence
            begun = [span for span in results.faults if span.inject_ns is not None and span.inject_ns <= one.at_ns]
            assert (one.fault is not None) >= bool(begun)
            assert one.fault is None or f"fault {one.fault} (" in one.sentence
    if example.fault is not None:
        assert f"fault {example.fault} (" in results.sentence
