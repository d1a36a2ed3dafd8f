"""Properties are searched without a clock: a machine that is slow today is no finding.

Tests that make repositories of their own must not meet the one that a hook or a rebase works on, so what git tells such
programs is forgotten.
"""

import os

from hypothesis import HealthCheck, settings

for name in [name for name in os.environ if name.startswith("GIT_")]:
    del os.environ[name]

settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")
