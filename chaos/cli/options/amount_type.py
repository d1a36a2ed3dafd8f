"""Numbers on the command line: ``chaos.basics.amounts`` as a type of click's."""

from typing import TYPE_CHECKING, Any

import click

from chaos.basics.amounts import Amount

if TYPE_CHECKING:
    _Type = click.ParamType[float | int]
else:
    _Type = click.ParamType


class AmountType(_Type):
    """A number with bounds; what is wrong with one is told with the text as it was typed and what to give."""

    def __init__(self, amount: Amount) -> None:
        self.amount = amount
        self.name = amount.kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float | int:
        """The number: seconds, or a count as an int."""
        try:
            return self.amount.read(str(value))
        except ValueError as error:
            return self.fail(f"{value}: give {error}", param, ctx)
