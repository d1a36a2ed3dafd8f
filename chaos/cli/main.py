"""The console script: lazy commands, and exit codes that never collide with verdicts.

click ends usage errors with 2 and aborts with 1, which mean UNKNOWN and FAIL here; both are
remapped in this one place. Imports a command only when it is typed.
"""

import atexit
import contextlib
import importlib
import importlib.util
import io
import os
import re
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import click

from chaos import __version__
from chaos.cli.output import CLOSED_PIPE, complain, discard, refusal
from chaos.core.errors import ChaosError, RunInterrupted, UsageError

PACKAGES: Final = ("chaos", "cluster", "nemesis", "checkers", "spark_checkers", "reports")
COMMANDS: Final = {
    "run": ("chaos.cli.run", "Start a cluster, load it, break it, and judge what it lost."),
    "matrix": ("chaos.cli.matrix", "Make one run for each combination of values in a file."),
    "plan": ("chaos.cli.plan", "Show every fault that a run would do; do nothing."),
    "init": ("chaos.cli.init", "Write a file with every option and setting, to change and run."),
    "replay": ("chaos.cli.plan", "Repeat a stored run: its faults and its load."),
    "hunt": ("chaos.cli.hunt", "Make drawn runs until one fails; make that one smaller."),
    "shrink": ("chaos.cli.shrink", "Find a smallest run that fails as a stored one did."),
    "ls": ("chaos.cli.ls", "List the stored runs with their verdicts."),
    "compare": ("chaos.cli.compare", "Show what differs between stored runs."),
    "show": ("chaos.cli.show", "Print the history of a run as text."),
    "up": ("chaos.cli.manual", "Start a cluster without load and leave it running."),
    "status": ("chaos.cli.manual", "Show every node: state, leader, fault in force."),
    "inject": ("chaos.cli.manual", "Do one fault to the cluster and prove it."),
    "heal": ("chaos.cli.manual", "Undo the fault in force and prove it."),
    "down": ("chaos.cli.manual", "End the cluster; keep its logs."),
    "check": ("chaos.cli.check", "Judge stored runs again, or histories of other tools."),
    "publish": ("chaos.cli.publish", "Write pages and results for any web server."),
    "serve": ("chaos.cli.serve", "Show the runs of a store in a browser, live too."),
    "generate": ("chaos.cli.generate", "Write a history with known anomalies, of any length."),
    "report": ("chaos.cli.report", "Write the reports of stored runs again."),
    "list": ("chaos.cli.inspect", "List systems, backends, workloads, nemeses, bugs, …"),
    "fetch": ("chaos.cli.fetch", "Get what runs of a system need before they do."),
    "image": ("chaos.cli.image", "Make the image for hosts in Docker containers."),
    "completion": ("chaos.cli.completion.shells", "Print the script for tab completion in bash, zsh or fish."),
    "doctor": ("chaos.cli.inspect", "Say what this machine can do, and how to get the rest."),
    "clean": ("chaos.cli.inspect", "Remove what dead runs left behind."),
}


SECTIONS: Final = {
    "Run": ("run", "plan", "init", "replay", "matrix", "hunt", "shrink"),
    "Look": ("ls", "compare", "show", "check", "report", "serve", "publish", "generate"),
    "By hand": ("up", "status", "inject", "heal", "down"),
    "Machine": ("list", "doctor", "fetch", "image", "clean", "completion"),
}
"""The commands as ``--help`` groups them, in the order in which a newcomer needs them."""


class LazyGroup(click.Group):
    """A group that knows its commands' names and help without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """The commands in the order in which a newcomer needs them."""
        return [name for names in SECTIONS.values() for name in names]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import a command's module on first use."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(COMMANDS[cmd_name][0])
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that was typed.

        Raises:
            UsageError: one of its words is empty, as where a script's variable is not set.
        """
        if not ctx.resilient_parsing:
            check_words(args)
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """The commands and options that begin as typed, without importing any."""
        from click.shell_completion import CompletionItem

        commands = [(name, COMMANDS[name][1]) for name in self.list_commands(ctx) if name.startswith(incomplete)]
        found = [CompletionItem(name, help=text) for name, text in commands]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands without importing any."""
        for section, names in SECTIONS.items():
            with formatter.section(section):
                formatter.write_dl([(name, COMMANDS[name][1]) for name in names])


def check_words(words: Sequence[str]) -> None:
    """Check that no word of a command line and no value of an option is empty.

    Raises:
        UsageError: naming the option, or the word before.
    """
    for before, word in pairwise(words):
        if word == "":
            what = before if before.startswith("-") else f"the word after {before}"
            raise UsageError(f"{what}: it is empty; give a value, or leave it out")
        if re.fullmatch(r"--[a-z-]+=", word):
            raise UsageError(f"{word[:-1]}: it is empty; give a value, or leave it out")


_HELP: Final = """Break a real cluster and prove from the history what it lost or got wrong.

\b
Examples:
  chaos run --nemesis leader-kill
  chaos check latest
  chaos COMMAND --help

\b
Exit codes: 0 PASS, 1 FAIL, 2 UNKNOWN, 130 interrupted,
254 bad arguments or configuration, 255 the harness or the deployment broke.
"""


@click.command(cls=LazyGroup, help=_HELP, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="chaos")
def cli() -> None:
    """Hold the commands; each is imported when it is typed."""


def check_one_home() -> None:
    """Check that all our packages come from one place: their names are generic, others may use them too.

    Raises:
        ChaosError: naming both places.
    """
    homes = {}
    for name in PACKAGES:
        spec = importlib.util.find_spec(name)
        places = list(spec.submodule_search_locations or ()) if spec is not None else []
        homes[name] = str(Path(places[0]).resolve().parent) if places else "nowhere"
    for name, home in homes.items():
        if home != homes[PACKAGES[0]]:
            raise ChaosError(
                f"the package {name!r} comes from {home}, but {PACKAGES[0]!r} from {homes[PACKAGES[0]]};"
                " uninstall the other distribution or use a fresh virtual environment"
            )


def _program() -> str:
    """What was typed: another tool may be named ``chaos`` too, so ``python -m chaos`` is said back as it is."""
    return "python -m chaos" if Path(sys.argv[0]).name == "__main__.py" else "chaos"


def run() -> int:
    """Do what the command line says; gives the exit code."""
    try:
        check_one_home()
        if asked := os.environ.get("_CHAOS_COMPLETE"):
            from chaos.cli.completion.shells import answer

            click.echo(answer(cli, asked))
            return 0
        code = cli.main(prog_name=_program(), standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        code = UsageError.exit_code
    except click.ClickException as error:
        from chaos.cli.errors import line_of

        complain(line_of(error))
        code = UsageError.exit_code
    except (click.Abort, KeyboardInterrupt):
        complain("interrupted")
        code = RunInterrupted.exit_code
    except ChaosError as error:
        complain(" ".join(str(error).split()))
        code = error.exit_code
    except (BrokenPipeError, SystemExit):  # click's own end for a broken pipe is 1, which says FAIL here
        discard(1)
        discard(2)
        code = CLOSED_PIPE
    except Exception as error:  # noqa: BLE001 - whatever broke is the harness, and 1 would say FAIL
        code = _broke(error)
    return code if isinstance(code, int) else 0


def _broke(error: Exception) -> int:
    """Say what nobody expected: a file or stream that the machine refuses in one line, all else with where it was."""
    if isinstance(error, OSError) and (text := refusal(error)):
        complain(text)
        return UsageError.exit_code
    import traceback

    traceback.print_exc()
    return ChaosError.exit_code


def main() -> None:
    """Entry point; ends the process."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without our letters still takes the line
    ended: list[int] = []
    atexit.register(_leave, ended)  # before any other function is registered, so it is called after all of them
    ended.append(run())
    sys.exit(ended[0])


def _leave(ended: list[int]) -> None:
    """End the process with its exit code, without the destructors of C++ libraries.

    A thread of Arrow that wakes up while Python ends can abort the process (apache/arrow#34314). Its exit code would be
    134 then, and not the verdict's.
    """
    if not ended:
        return
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):  # None if it was closed before we began
            stream.flush()
    os._exit(ended[0])
