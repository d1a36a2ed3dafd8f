import os

import pytest
from object_store import ENVIRONMENT

from spark_checkers import session


def pytest_collection_modifyitems(items):
    why = None if os.environ.get("CI") else session.obstacle()  # in CI they fail, they do not skip
    for item in items:
        if why is not None and item.get_closest_marker("spark") is not None:
            item.add_marker(pytest.mark.skip(reason=why))


@pytest.fixture(scope="session", autouse=True)
def _one_session():
    with pytest.MonkeyPatch.context() as patch:
        for name, value in ENVIRONMENT.items():  # executors have the environment of the JVM, which has ours
            patch.setenv(name, value)
        session.start_early()
        yield
        session.stop()
