"""Properties are searched without a clock: a machine that is slow today is no finding.

Tests that make repositories of their own must not meet the one that a hook or a rebase works on, so what git tells such
programs is forgotten. A shell without jobs lets what it starts in the background ignore interrupts, and programs that
tests start would inherit that.
"""

import os
import signal

from hypothesis import HealthCheck, settings

for name in [name for name in os.environ if name.startswith("GIT_")]:
    del os.environ[name]

signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")
