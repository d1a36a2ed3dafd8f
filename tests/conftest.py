"""For all tests."""

import pytest

pytest.register_assert_rewrite("host_contract")
