"""The run that kernels ask about where there was none of ours: an imported history.

Promises nothing: what a system may do is not known, and there is one nameless node.
"""

from collections.abc import Mapping

from chaos.models.log.words import MODEL as LOG_MODEL
from chaos.storage.runinfo import Promises, RunInfo


def empty_run_info(queues: int, *, rate: float = 0.0, mix: Mapping[str, float] | None = None) -> RunInfo:
    """What kernels may ask of it.

    Args:
        queues: how many there are.
        rate: operations per second.
        mix: the share of each kind in them.
    """
    return RunInfo(
        id="imported",
        status="ran",
        argv=(),
        chaos_version="",
        schema_version=0,
        boot_id="",
        origin_ns=0,
        origin_utc="",
        system="",
        system_version="",
        backend="",
        workload="",
        model=LOG_MODEL,
        words={},
        nemesis="noop",
        seed=0,
        settings={},
        nodes=(),
        roles={},
        keys=queues,
        rate=rate,
        clients=0,
        workers=0,
        op_timeout_s=0.0,
        time_limit_s=0.0,
        fault_interval_s=0.0,
        fault_duration_s=0.0,
        route_poll_interval_s=None,
        rto_budget_s=None,
        promises=Promises(),
        planned_faults=0,
        mix=dict(mix or {}),
        body_bytes=0,
    )
