"""Plans of older versions: their numbers are the words that there are now, and mean what they meant."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from chaos.core.errors import HistoryError
from nemesis.faults.connections.block_port import BlockPortParams
from nemesis.faults.cuts.staged_heal import StagedHealParams
from nemesis.faults.disks.crash_at import CrashAtFsyncParams, CrashAtParams
from nemesis.faults.disks.disk_error import DiskErrorParams
from nemesis.faults.links.blackhole import BlackholeParams
from nemesis.faults.links.corrupt import CorruptParams
from nemesis.faults.params import plain
from nemesis.faults.syscalls.calls import GROUPS
from nemesis.faults.syscalls.syscall_delay import SyscallDelayParams
from nemesis.faults.syscalls.syscall_error import SyscallErrorParams
from nemesis.plan.plan import Row
from nemesis.plan.plan_file import read_plan

NONE = dict.fromkeys(GROUPS, 0)


def planned(path: Path, fault: str, params: dict[str, Any]) -> Row:
    row = {"row": 1, "at_s": 1, "duration_s": 2, "name": f"leader-{fault}", "selector": "leader", "roles": ["broker"]}
    (path / "plan.jsonl").write_bytes(msgspec.json.encode({**row, "fault": fault, "params": params}) + b"\n")
    (read,) = read_plan(path / "plan.jsonl")
    return read


@pytest.mark.parametrize(
    ("fault", "older", "now"),
    [
        ("blackhole", {"kind": 0}, BlackholeParams("blackhole")),
        ("blackhole", {"kind": 2}, BlackholeParams("prohibit")),
        ("block-port", {"port": 0}, BlockPortParams("all")),
        ("block-port", {"port": 7000}, BlockPortParams(7000)),
        ("corrupt", {"probability": 0.3, "mend": 0}, CorruptParams(0.3, "wrong")),
        ("corrupt", {"probability": 0.3, "mend": 1}, CorruptParams(0.3, "right")),
        ("crash-at-fsync", {"nth": 7, "lose": 1}, CrashAtFsyncParams(7, "lost")),
        ("crash-at-rename", {"nth": 1, "lose": 0}, CrashAtParams(1, "kept")),
        ("disk-error", {"read": 0.0, "write": 0.0, "fsync": 1.0}, DiskErrorParams()),
        ("disk-error", {"read": 0.0, "write": 0.2, "fsync": 0.0}, DiskErrorParams(("write",), 0.2)),
        ("disk-error", {"read": 1.0}, DiskErrorParams(("read", "fsync"), 1.0)),
        ("disk-error", {"fsync": 0.0}, DiskErrorParams(share=0.0)),
        ("staged-heal", {"whole_s": 3.0, "by_node": 0, "order": 4}, StagedHealParams(by="link", order=4)),
        ("staged-heal", {"by_node": 1}, StagedHealParams(by="node")),
        ("syscall-delay", {**NONE, "probability": 1.0, "delay_ms": 9000.0}, SyscallDelayParams(delay_ms=9000.0)),
        ("syscall-delay", {**NONE, "fdatasync": 3}, SyscallDelayParams(("fdatasync",), every=3)),
        ("syscall-delay", {"probability": 0.0}, SyscallDelayParams(share=0.0)),
        (
            "syscall-error",
            {**NONE, "write": 2, "rename": 2, "probability": 0.5, "errno": 28},
            SyscallErrorParams(("write", "rename"), every=2, share=0.5, errno="ENOSPC"),
        ),
    ],
)
def test_numbers_of_older_plans_are_the_words_of_now(fault: str, older: dict[str, Any], now: Any, tmp_path: Path):
    assert planned(tmp_path, fault, older).read_params() == now
    assert planned(tmp_path, fault, {}).read_params() == type(now)(), "what an older plan does not say is the default"
    assert planned(tmp_path, fault, plain(now)).params == plain(now), "a plan of now stays as it is"


@pytest.mark.parametrize(
    ("fault", "older", "said"),
    [
        ("disk-error", {"write": 0.2}, r"write=0\.2, fsync=1: one fault does the same to all that it names now"),
        ("syscall-error", {"write": 2, "fsync": 1}, r"write=2, fsync=1: one fault does the same to all"),
        ("syscall-error", {"errno": 41}, "errno 41: give EIO"),
        ("blackhole", {"kind": 3}, "kind 3: give blackhole, unreachable or prohibit"),
        ("corrupt", {"mend": -1}, "no parameter 'mend'"),
    ],
)
def test_what_cannot_be_asked_for_any_more_is_named(fault: str, older: dict[str, Any], said: str, tmp_path: Path):
    with pytest.raises(HistoryError, match=rf"plan\.jsonl:1: {said}"):
        planned(tmp_path, fault, older)
