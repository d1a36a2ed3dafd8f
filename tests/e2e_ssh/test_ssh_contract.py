"""Machines reached by SSH keep the promises of all hosts."""

import pytest
from host_contract import *  # noqa: F403

pytestmark = pytest.mark.e2e
