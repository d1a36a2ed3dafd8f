"""Which of the controllers that contradict each other is to be looked at."""

import msgspec
import pytest

from chaos.core.events import RUN_EVENTS
from chaos.storage.event_files import read_events
from chaos.storage.runinfo import read_run
from chaos.testing.history_files import write_run_folder
from chaos.testing.history_literal import Expected, FaultLiteral, HistoryLiteral, InSyncLiteral, Reign
from checkers.anomalies.contradictions import contradiction
from checkers.history.check_input import Context
from checkers.history.timeline import timeline_of


def found(tmp_path, name, targets):
    """c3 and then c1 each give SyncStateSet 2 to others, under a fault."""
    literal = HistoryLiteral(
        name="two-sets",
        rules=(9,),
        about="",
        ops=(),
        expect=Expected(valid=True),
        faults=(FaultLiteral(name=name, targets=targets, inject=3.0, heal=8.0),),
        controllers=(Reign(node="c3", epoch=1, end=6.0), Reign(node="c1", epoch=2, start=5.0)),
        masters=(Reign(node="b2", epoch=1, end=6.0), Reign(node="b1", epoch=2, start=5.0)),
        in_sync=(
            InSyncLiteral(says="c3", master="b2", members=("b2", "b3"), number=2, start=4.0, end=6.0),
            InSyncLiteral(says="c1", master="b1", members=("b1",), number=2, start=5.0),
        ),
    )
    write_run_folder(literal, tmp_path / "run")
    two = read_run(tmp_path / "run")
    third = msgspec.structs.replace(two.nodes[0], name="c3")
    run = msgspec.structs.replace(two, nodes=(*two.nodes, third))
    events = sorted(read_events(tmp_path / "run" / "history" / RUN_EVENTS), key=lambda event: event.time_ns)
    context = Context(run=run, streams=(), timeline=timeline_of(events, run))
    heard = contradiction(context, "brokers", context.timeline.end_ns)
    assert heard is not None
    blame = heard.blame(context)
    assert blame is not None
    return heard.suspects(context), heard.words(context), blame.fault.id


SAID = "c3{} said at 4.0 s that SyncStateSet number 2 had b2 and b3, and c1 said at 5.0 s"
CUT = ", cut off from most controllers by fault 1 (random-partition) at 3.0 s,"


@pytest.mark.parametrize(
    ("name", "targets", "nodes", "aside"),
    [
        ("random-partition", ("b2", "b3", "c3"), ("c3",), CUT),
        ("random-partition", ("b1", "c1", "c2"), ("c3",), CUT),
        ("random-partition", ("b1",), ("c1", "c2", "c3"), ""),
        ("random-partition-in", ("c3",), ("c1", "c2", "c3"), ""),
    ],
    ids=["on its side", "on the other side", "of a broker", "in one direction"],
)
def test_a_controller_that_was_cut_off_from_most_is_to_be_looked_at(tmp_path, name, targets, nodes, aside):
    suspects, words, fault = found(tmp_path, name, targets)
    assert suspects == nodes
    assert SAID.format(aside) in words
    assert f"fault {fault} ({name}" in words
