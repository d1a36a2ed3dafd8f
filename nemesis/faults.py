"""Every fault by kind: the catalog's column *how*, as classes."""

from typing import Final

from nemesis.disconnect import Disconnect
from nemesis.fault import registered
from nemesis.kill import Kill, Restart, Stop
from nemesis.loss import Loss
from nemesis.partition import Partition, PartitionIn, PartitionOut
from nemesis.pause import Pause

FAULTS: Final = registered(Kill, Stop, Restart, Pause, Partition, PartitionIn, PartitionOut, Loss, Disconnect)
