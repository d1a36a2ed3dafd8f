"""The literals of tests/histories as they are written, for tests that choose among all of them."""

from pathlib import Path
from typing import Any

import yaml


def written(path: Path) -> dict[str, Any]:
    """The mapping of a file. Hundreds are read while tests are collected, so libyaml does it."""
    return yaml.load(path.read_text(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - both are safe
