"""Values of a reader as JSON has them."""

from collections.abc import Mapping
from typing import Any


def to_json(value: Any) -> Any:
    """A reader's value as JSON has it: keywords and other types of their own as text."""
    if value is None or type(value) in (bool, int, float, str):  # a reader's own types may be kinds of text
        return value
    if isinstance(value, Mapping):
        return {str(key): to_json(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [to_json(one) for one in value]
    return str(value)
