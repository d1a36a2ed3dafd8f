"""Faults of system calls without a host: what may be named, how nodes are started, and what probes' words mean."""

import errno
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from leading import subjects_of

from chaos.core.errors import DeployError, UsageError
from cluster.host import NodeSpec
from cluster.system import Launch
from nemesis.arming import arming_for, armings_of, launch_under
from nemesis.faults.disks.diskfs.mounts import DISKS
from nemesis.faults.fault import Scene
from nemesis.faults.syscalls import arming, calls
from nemesis.faults.syscalls.syscall_delay import SyscallDelay, SyscallDelayParams
from nemesis.faults.syscalls.syscall_error import SyscallError, SyscallErrorParams
from nemesis.faults.syscalls.syscall_fault import Returned, named, returned
from nemesis.plan.nemesis_names import parse
from nemesis.targets.targets import Targets
from nemesis.targets.topology import Topology

SPECS = [NodeSpec(name=name, role="broker") for name in ("b1", "b2", "b3")]
TOPOLOGY = Topology.of(SPECS, {"broker": "replica"}, subjects_of(SPECS))
SOURCE = (Path(arming.__file__).parent / "supervisor" / "calls.c").read_text()
LAUNCH = Launch(argv=("server", "-v"), env={}, files={}, ready_pattern="", logs=(), data=())


def test_each_call_is_known_to_the_supervisor_and_none_may_end_a_process():
    every = [call for group in calls.GROUPS.values() for call in group]
    assert len(every) == len(set(every))
    assert [call for call in every if f"CALL({call})" not in SOURCE] == []
    assert SOURCE.count("CALL(") - 1 == len(every), "and it knows no other"
    for never in ("exit", "exit_group", "rt_sigreturn", "execve", "futex", "clock_gettime"):
        assert never not in every
    fields = {field.name for field in msgspec.structs.fields(calls.Calls)}
    assert fields == {*calls.GROUPS, "probability"}
    assert all(calls.PROBED[name] in group for name, group in calls.GROUPS.items())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("leader-syscall-error:exit_group=1", "no parameter 'exit_group'; parameters: open, read,"),
        ("leader-syscall-delay:fdatasinc=1", "no parameter 'fdatasinc'; did you mean fdatasync?"),
        ("leader-syscall-error:errno=0", "errno 0: give a whole number from 1 and up to 133"),
        ("leader-syscall-delay:delay_ms=1", "delay_ms 1: give a number of ms from 5"),
        ("leader-syscall-error:fsync=0.5", "fsync 0.5: give a whole number from 0"),
        ("leader-syscall-error:probability=2", "probability 2: give a number from 0 and up to 1"),
    ],
)
def test_a_wrong_parameter_is_one_line(text, said):
    with pytest.raises(UsageError, match=f"^--nemesis {text}: ") as raised:
        parse(text, TOPOLOGY)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_every_sync_is_hit_where_no_call_is_named():
    assert SyscallErrorParams().every() == {"fsync": 1, "fdatasync": 1}
    assert SyscallErrorParams(write=3).every() == {"write": 3}


def test_what_is_said_of_a_fault():
    params = SyscallErrorParams(fdatasync=1, rename=3, errno=errno.ENOSPC, probability=0.5)
    assert SyscallError.said(params) == "every fdatasync, one in 3 rename (0.5 of them) gives ENOSPC"
    assert SyscallDelay.said(SyscallDelayParams(fsync=1, delay_ms=9000)) == "every fsync waits 9000 ms"
    assert named({"read": 2}, 1) == "one in 2 read"


def test_a_node_is_armed_only_where_something_is_hit():
    assert arming_for(SyscallError.arming, SyscallErrorParams(probability=0)) is None
    assert arming_for(DISKS, SyscallErrorParams()) is DISKS
    assert arming_for(None, SyscallErrorParams()) is None


def test_one_filter_asks_for_the_calls_of_all_planned_faults():
    planned = [
        (arming_for(SyscallError.arming, SyscallErrorParams(fdatasync=1)), ("broker",)),
        (arming_for(SyscallDelay.arming, SyscallDelayParams(rename=2, fdatasync=1)), ("broker", "controller")),
        (arming_for(SyscallDelay.arming, SyscallDelayParams(fdatasync=7)), ("controller",)),
    ]
    armings = armings_of(planned)
    assert sorted(map(sorted, armings.values())) == [["broker", "controller"], ["broker", "controller"]]
    started = launch_under([DISKS, *armings], LAUNCH, "/home/b1")
    head = ("/home/b1/.chaos-supervisor", "run", arming.socket_of("/home/b1"), "node")
    assert started.argv == (*head, "fdatasync+rename+renameat+renameat2", "server", "-v")
    assert launch_under([DISKS], LAUNCH, "/home/b1") == LAUNCH


def test_what_probes_say():
    seen = returned("5 120\nlate\n9 1500\n", 3, "fsync")
    assert seen == [Returned(5, 0.12), Returned(0, float("inf")), Returned(9, 1.5)]
    with pytest.raises(DeployError, match="2 of 3 probes of fsync told what they saw"):
        returned("5 120\nlate", 3, "fsync")


def scene(params: Any) -> Any:
    return Scene(
        cluster=SimpleNamespace(run_id="run", nodes={}),  # type: ignore[arg-type]
        targets=Targets(names=(), participants=(), grudge={}, description=""),
        client=None,  # type: ignore[arg-type]
        params=params,
    )


def test_which_calls_were_hit():
    fails = SyscallError(scene(SyscallErrorParams(errno=errno.ENOSPC)))
    seen = [Returned(number, 0.1) for number in (errno.ENOSPC, errno.EBADF, 0)]
    assert [fails.is_hit(one, 1000) for one in seen] == [True, False, False]
    waits = SyscallDelay(scene(SyscallDelayParams(delay_ms=30)))
    assert [waits.is_hit(Returned(errno.EBADF, ms), 1000) for ms in (30.2, 29.9, 0.01)] == [True, False, False]
    stalls = SyscallDelay(scene(SyscallDelayParams(delay_ms=9000)))
    assert [stalls.is_hit(Returned(0, ms), 400) for ms in (float("inf"), 400.5, 300)] == [True, True, False]
