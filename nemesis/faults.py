"""Every fault by kind: the catalog's column *how*, as classes."""

from typing import Final

from nemesis.fault import registered
from nemesis.kill import Kill
from nemesis.loss import Loss
from nemesis.partition import Partition
from nemesis.pause import Pause

FAULTS: Final = registered(Kill, Pause, Partition, Loss)
