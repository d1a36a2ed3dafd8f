"""What tab completion offers for a value: a word for each kind of thing, looked up only when somebody presses tab."""

from collections.abc import Callable
from typing import Any

import click

from chaos.cli.completion.kinds import Kind

Offer = Callable[[click.Context, click.Parameter, str], list[Any]]


def offer(kind: Kind) -> Offer:
    """What click asks when such a value is completed."""

    def complete(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[Any]:
        from chaos.cli.completion.candidates import CANDIDATES

        return CANDIDATES[kind](ctx, incomplete)

    return complete
