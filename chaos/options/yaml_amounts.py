"""Durations and counts in YAML, as on the command line; an error names the line."""

import yaml

from chaos.basics.amounts import Amount
from chaos.core.strict_yaml import Source, word


def amount_in(source: Source, node: yaml.Node, what: str, amount: Amount) -> float | int:
    """The number that a value means: seconds, or a count as an int.

    Raises:
        UsageError: the file, the line, what may stand there and what does.
    """
    if isinstance(node, yaml.ScalarNode) and word(node) in ("text", "a whole number", "a number"):
        try:
            return amount.read(node.value)
        except ValueError:
            pass
    raise source.wrong(node, what, amount.wanted)
