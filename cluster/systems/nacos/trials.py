"""What series try Nacos with."""

from typing import Final

from cluster.trial import Trial

TRIALS: Final = (Trial(name="register", workload="register", main=True),)
"""Leases are not among them: Nacos does not promise that instances outlive a partition."""
