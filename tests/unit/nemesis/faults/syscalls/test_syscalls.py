"""Faults of system calls without a host: what may be named, how nodes are started, and what probes' words mean."""

import errno
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import pytest
from leading import subjects_of

from chaos.core.errors import DeployError, UsageError
from cluster.host import NodeSpec
from cluster.system import Launch
from nemesis.arming import arming_for, armings_of, launch_under
from nemesis.faults.disks.diskfs.mounts import DISKS
from nemesis.faults.fault import Scene
from nemesis.faults.params import read
from nemesis.faults.syscalls import calls, supervised_start
from nemesis.faults.syscalls.errnos import Errno, number_of
from nemesis.faults.syscalls.syscall_delay import SyscallDelay, SyscallDelayParams
from nemesis.faults.syscalls.syscall_error import SyscallError, SyscallErrorParams
from nemesis.faults.syscalls.syscall_fault import Returned, describe_calls, parse_returned
from nemesis.plan.nemesis_names import parse
from nemesis.targets.targets import Targets
from nemesis.targets.topology import Topology

SPECS = [NodeSpec(name=name, role="broker") for name in ("b1", "b2", "b3")]
TOPOLOGY = Topology.of(SPECS, {"broker": "replica"}, subjects_of(SPECS))
SOURCE = (Path(supervised_start.__file__).parent / "supervisor" / "calls.c").read_text()
LAUNCH = Launch(argv=("server", "-v"), env={}, files={}, ready_pattern="", logs=(), data=())


def test_each_call_is_known_to_the_supervisor_and_none_may_end_a_process():
    every = [call for group in calls.GROUPS.values() for call in group]
    assert len(every) == len(set(every))
    assert [call for call in every if f"CALL({call})" not in SOURCE] == []
    assert SOURCE.count("CALL(") - 1 == len(every), "and it knows no other"
    for never in ("exit", "exit_group", "rt_sigreturn", "execve", "futex", "clock_gettime"):
        assert never not in every
    assert get_args(calls.Call) == tuple(calls.GROUPS)
    assert all(calls.PROBED[name] in group for name, group in calls.GROUPS.items())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("leader-syscall-error:call=exit_group", "call exit_group: give open, read, pread, write,"),
        ("leader-syscall-delay:call=fdatasinc", "or several joined by +; did you mean fdatasync?"),
        ("leader-syscall-delay:call=write+fdatasinc", "did you mean fdatasync?"),
        ("leader-syscall-delay:call=write+write", "call write+write: write is given twice"),
        ("leader-syscall-error:fsync=1", "no parameter 'fsync'; parameters: call, every, share, errno"),
        ("leader-syscall-error:errno=5", "errno 5: give EIO, ENOSPC, ENOMEM, EMFILE, EAGAIN, EINTR or 124 others"),
        ("leader-syscall-error:errno=enospce", "124 others; did you mean ENOSPC?"),
        ("leader-syscall-delay:delay_ms=1", "delay_ms 1: give a number of ms from 5"),
        ("leader-syscall-error:every=0", "every 0: give a whole number from 1"),
        ("leader-syscall-error:share=2", "share 2: give a number from 0 and up to 1"),
    ],
)
def test_a_wrong_parameter_is_one_line(text, said):
    with pytest.raises(UsageError, match=f"^--nemesis {re.escape(text)}: ") as raised:
        parse(text, TOPOLOGY)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_every_sync_is_hit_where_no_call_is_named():
    assert parse("leader-syscall-error", TOPOLOGY).params[0] == ("call", "fsync+fdatasync")


def test_calls_are_named_in_any_order():
    choice = parse("leader-syscall-error:call=rename+write,errno=ENOSPC@broker", TOPOLOGY)
    assert choice.text == "leader-syscall-error:call=write+rename,errno=ENOSPC@broker"
    assert dict(choice.params) == {"call": "write+rename", "every": 1, "share": 1.0, "errno": "ENOSPC"}
    assert read(SyscallErrorParams, dict(choice.params)) == SyscallErrorParams(("write", "rename"), errno="ENOSPC")


def test_errnos_have_the_names_of_the_kernel():
    numbers = [number_of(name) for name in get_args(Errno)]
    assert sorted(numbers) == sorted(errno.errorcode)


def test_what_is_said_of_a_fault():
    params = SyscallErrorParams(("fdatasync", "rename"), share=0.5, errno="ENOSPC")
    assert SyscallError.said(params) == "every fdatasync, every rename (0.5 of them) gives ENOSPC"
    assert SyscallDelay.said(SyscallDelayParams(("fsync",), delay_ms=9000)) == "every fsync waits 9000 ms"
    assert describe_calls(SyscallDelayParams(("read", "write"), every=2)) == "one in 2 read, one in 2 write"


def test_a_node_is_armed_only_where_something_is_hit():
    assert arming_for(SyscallError.arming, SyscallErrorParams(share=0)) is None
    assert arming_for(DISKS, SyscallErrorParams()) is DISKS
    assert arming_for(None, SyscallErrorParams()) is None


def test_one_filter_asks_for_the_calls_of_all_planned_faults():
    planned = [
        (arming_for(SyscallError.arming, SyscallErrorParams(("fdatasync",))), ("broker",)),
        (
            arming_for(SyscallDelay.arming, SyscallDelayParams(("fdatasync", "rename"), every=2)),
            ("broker", "controller"),
        ),
        (arming_for(SyscallDelay.arming, SyscallDelayParams(("fdatasync",), every=7)), ("controller",)),
    ]
    armings = armings_of(planned)
    assert sorted(map(sorted, armings.values())) == [["broker", "controller"], ["broker", "controller"]]
    started = launch_under([DISKS, *armings], LAUNCH, "/home/b1")
    head = ("/home/b1/.chaos-supervisor", "run", supervised_start.socket_of("/home/b1"), "node")
    assert started.argv == (*head, "fdatasync+rename+renameat+renameat2", "server", "-v")
    assert launch_under([DISKS], LAUNCH, "/home/b1") == LAUNCH


def test_what_probes_say():
    seen = parse_returned("5 120\nlate\n9 1500\n", 3, "fsync")
    assert seen == [Returned(5, 0.12), Returned(0, float("inf")), Returned(9, 1.5)]
    with pytest.raises(DeployError, match="2 of 3 probes of fsync told what they saw"):
        parse_returned("5 120\nlate", 3, "fsync")


def scene(params: Any) -> Any:
    return Scene(
        cluster=SimpleNamespace(run_id="run", nodes={}),  # type: ignore[arg-type]
        targets=Targets(names=(), participants=(), grudge={}, description=""),
        client=None,  # type: ignore[arg-type]
        params=params,
    )


def test_which_calls_were_hit():
    fails = SyscallError(scene(SyscallErrorParams(errno="ENOSPC")))
    seen = [Returned(number, 0.1) for number in (errno.ENOSPC, errno.EBADF, 0)]
    assert [fails.is_hit(one, 1000) for one in seen] == [True, False, False]
    waits = SyscallDelay(scene(SyscallDelayParams(delay_ms=30)))
    assert [waits.is_hit(Returned(errno.EBADF, ms), 1000) for ms in (30.2, 29.9, 0.01)] == [True, False, False]
    stalls = SyscallDelay(scene(SyscallDelayParams(delay_ms=9000)))
    assert [stalls.is_hit(Returned(0, ms), 400) for ms in (float("inf"), 400.5, 300)] == [True, True, False]
