"""Every help text of the command line, as it was meant: tests/data/help has a file for each command.

Write them again, and look at the difference:

    .venv/bin/python tests/support/help_texts.py && git diff tests/data/help
"""

import sys
from functools import cache
from pathlib import Path

import click

FOLDER = Path(__file__).resolve().parent.parent / "data" / "help"
WIDTH = 80


@cache
def texts() -> dict[str, str]:
    """``run`` → what ``chaos run --help`` prints on a terminal of 80 columns; ``chaos``: what ``chaos --help`` does."""
    from chaos.cli.main import COMMANDS, cli

    top = click.Context(cli, info_name="chaos", terminal_width=WIDTH, **cli.context_settings)
    found = {"chaos": cli.get_help(top)}
    for name in COMMANDS:
        command = cli.get_command(top, name)
        assert command is not None
        found[name] = _help(command, name, top)
        if isinstance(command, click.Group):
            inside = click.Context(command, info_name=name, parent=top)
            found |= {f"{name}-{one}": _help(command.commands[one], one, inside) for one in command.commands}
    return {name: text.rstrip() + "\n" for name, text in found.items()}


def _help(command: click.Command, name: str, parent: click.Context) -> str:
    return command.get_help(click.Context(command, info_name=name, parent=parent, terminal_width=WIDTH))


def main() -> None:
    """Write the files; those of commands that are gone go too."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    made = texts()
    for old in FOLDER.glob("*.txt"):
        if old.stem not in made:
            old.unlink()
    for name, text in made.items():
        (FOLDER / f"{name}.txt").write_text(text)
    print(f"{len(made)} texts in {FOLDER}")


if __name__ == "__main__":
    sys.path.insert(0, str(FOLDER.parent.parent.parent))
    main()
