"""The checks there are, in the order of the verdict table."""

from collections.abc import Collection
from typing import Any, Final, cast

from checkers.assumptions import AssumptionsKernel
from checkers.cluster import roles
from checkers.cluster.progress import ProgressKernel
from checkers.consumers.early_delivery import EarlyKernel
from checkers.consumers.group import GroupKernel
from checkers.consumers.pop import PopKernel
from checkers.history.kernel import QueueKernel
from checkers.log.duplicates import DuplicatesKernel
from checkers.log.failed_read import FailedReadKernel
from checkers.log.linearizable import LinearizableKernel
from checkers.log.loss import LossKernel
from checkers.log.min_in_sync import MinInSyncKernel
from checkers.log.offsets import OffsetsKernel
from checkers.log.order import OrderKernel
from checkers.log.phantom import PhantomKernel
from checkers.log.replicas import ReplicasKernel
from checkers.log.shard_order import ShardOrderKernel
from checkers.recovery.recovery import RecoveryKernel
from checkers.recovery.rpo import RpoKernel
from checkers.recovery.rto import RtoKernel
from checkers.recovery.series import SeriesKernel
from checkers.recovery.service import ServiceKernel

KERNELS: Final[tuple[QueueKernel[Any], ...]] = (
    AssumptionsKernel(),
    LossKernel(),
    DuplicatesKernel(),
    PhantomKernel(),
    FailedReadKernel(),
    OffsetsKernel(),
    LinearizableKernel(),
    OrderKernel(),
    ShardOrderKernel(),
    GroupKernel(),
    PopKernel(),
    EarlyKernel(),
    ReplicasKernel(),
    MinInSyncKernel(),
    RecoveryKernel(),
    ProgressKernel(),
    RtoKernel(),
    RpoKernel(),
)
SERIES: Final = SeriesKernel()
SERVICE: Final = ServiceKernel()
EVERY: Final[tuple[QueueKernel[Any], ...]] = (*KERNELS, cast("QueueKernel[Any]", SERIES), SERVICE)
"""Also the curves and the figures, which are no checks."""


def chosen(only: Collection[str]) -> tuple[QueueKernel[Any], ...]:
    """What is run where only some checks are asked for, by name; all if none is named.

    The assumptions are always judged: without them no other row means anything.
    """
    if not only:
        return EVERY
    return tuple(kernel for kernel in KERNELS if kernel.name in only or kernel.name == AssumptionsKernel.name)


def described() -> list[tuple[str, str]]:
    """Name and one line of help of every check, in the order of the verdict table."""
    rows = [(kernel.name, kernel.help) for kernel in KERNELS]
    at = next(i for i, (name, _) in enumerate(rows) if name == "rto")
    return [*rows[:at], (roles.NAME, roles.HELP), *rows[at:]]
