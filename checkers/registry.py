"""The checks there are, in the order of the verdict table."""

from collections.abc import Collection
from typing import Any, Final, cast

from checkers import roles
from checkers.assumptions import AssumptionsKernel
from checkers.duplicates import DuplicatesKernel
from checkers.early import EarlyKernel
from checkers.failed_read import FailedReadKernel
from checkers.group import GroupKernel
from checkers.kernel import QueueKernel
from checkers.linearizable import LinearizableKernel
from checkers.loss import LossKernel
from checkers.min_in_sync import MinInSyncKernel
from checkers.offsets import OffsetsKernel
from checkers.order import OrderKernel
from checkers.phantom import PhantomKernel
from checkers.pop import PopKernel
from checkers.progress import ProgressKernel
from checkers.recovery import RecoveryKernel
from checkers.replicas import ReplicasKernel
from checkers.rpo import RpoKernel
from checkers.rto import RtoKernel
from checkers.series import SeriesKernel
from checkers.service import ServiceKernel
from checkers.shard_order import ShardOrderKernel

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
