"""How late an operation of an open load may leave. A load that lags shows less of a system than was asked for."""

from typing import Final

from chaos.core.clock import NS_PER_S

LAG_NS: Final = NS_PER_S // 4
"""An operation that left longer than this after it was due was late."""
LATE_SHARE: Final = 0.01
"""If more than this share of a load was late, nothing is concluded from it."""
