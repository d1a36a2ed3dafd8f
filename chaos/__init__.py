"""chaos: breaks real message brokers on real hosts and proves from the history what they lost.

The package holds the words (``chaos.core``), the phases of a run (``chaos.run.phases_of_a_run``) and the command line
(``chaos.cli``). It does not know any particular system, fault or backend: those are plugins found by name.
"""

from typing import Final

__version__: Final = "0.1.0"
