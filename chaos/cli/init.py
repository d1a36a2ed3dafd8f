"""``chaos init``: writes a file with every option and setting of a system, to be changed and run."""

import json
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, get_origin, get_type_hints

import click
import yaml

from chaos.cli.completion.values import offer
from chaos.cli.examples import examples
from chaos.cli.options.declared_option import shown_default
from chaos.cli.options.run_options import run_options
from chaos.cli.options.sections import CHECKS, ORDER, SectionOption
from chaos.core.errors import UsageError
from chaos.core.strict_yaml import word
from chaos.options.experiment import DEFAULTS, Experiment
from chaos.options.option_names import long_option

_ELSEWHERE: Final = frozenset({"driver", "pairs", "live"})
"""The file itself, the mapping ``settings:``, and the terminal."""

_LISTS: Final = frozenset(name for name, kind in get_type_hints(Experiment).items() if get_origin(kind) is tuple)
_WIDTH: Final = 110

_HEAD: Final = """\
# Every option of `chaos run` and every setting of {system}, at its default. Run it with
#   chaos run -d {file}
# What you type on the command line wins over what stands here. A line that you remove gets its default, which may
# follow from others. Options without a default are commented out.
"""

_ALLOW: Final = """\
# Findings that are known: they are told, but the exit code is not 1 because of them. In files only.
# allow: [{{anomaly: stale-tail, system: {system}, reason: WHY, until: 2030-01-31}}]"""


@click.command(
    "init",
    epilog=examples(
        "chaos init minimq",
        "chaos init rocketmq --output mine.yaml",
    ),
)
@click.argument("system", shell_complete=offer("systems"))
@click.option(
    "--output",
    type=click.Path(dir_okay=False, allow_dash=True),
    default="chaos.yaml",
    show_default=True,
    metavar="FILE",
    help="Write this file; - prints it.",
)
def init_command(system: str, output: str) -> int:
    """Write a YAML file with every option and setting of SYSTEM at its default, for `chaos run -d`."""
    from chaos import plugins

    plugin = plugins.load("systems", system)()
    text = file_of(plugin, "chaos.yaml" if output == "-" else output)
    if output == "-":
        click.echo(text, nl=False)
        return 0
    try:
        with Path(output).open("x") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(f"{output}: it is there already; remove it, or name another with --output FILE") from None
    except OSError as error:
        raise UsageError(f"{output}: {error.strerror}; name a file that can be written with --output FILE") from None
    click.echo(f"{output}: change it and run it with chaos run -d {output}")
    return 0


def file_of(system: Any, file: str) -> str:
    """The text of the file for a system; ``file``: its name."""
    from chaos import plugins
    from cluster.system import settings_help_of

    workload = plugins.load("workloads", system.workload)()
    defaults = {**DEFAULTS, "system": system.name, "workload": system.workload, "keys": workload.keys}
    out = [_HEAD.format(system=system.name, file=file)]
    for section, options in _sections().items():
        out += [f"# --- {section} ---", *(line for one in options for line in _option(one, defaults))]
        out += [_ALLOW.format(system=system.name), ""] if section == CHECKS else [""]
    out += [f"# --- Settings of {system.name} ---", "settings:"]
    helps = settings_help_of(system)
    values = system.resolve({})
    for name, value in values.items():
        out += [*_comment(helps.get(name, ""), "  "), f"  {name}: {_scalar(value)}"]
    for name in (name for name in helps if name not in values):  # of another mode than the default
        out += [*_comment(helps[name], "  "), f"  # {name}: VALUE"]
    return "\n".join(out) + "\n"


def _sections() -> dict[str, list[SectionOption]]:
    """The options of a run by the heading of their help."""
    command = click.command()(run_options(lambda **_options: 0))
    shown = [one for one in command.params if isinstance(one, SectionOption) and one.name not in _ELSEWHERE]
    return {section: own for section in ORDER if (own := [one for one in shown if one.section == section])}


def _option(option: SectionOption, defaults: Mapping[str, Any]) -> list[str]:
    """Its help and its line; a comment if it has no default."""
    field, about = str(option.name), _comment((option.help or "").partition("  [")[0])
    default = defaults.get(field)
    if default in (None, ()):
        example = "true" if option.is_flag else option.metavar or option.type.name.upper()
        return [*about, f"# {long_option(field)}: {f'[{example}]' if field in _LISTS else example}"]
    value = f"[{', '.join(default)}]" if isinstance(default, tuple) else _scalar(shown_default(field, default))
    return [*about, f"{long_option(field)}: {value}"]


def _comment(text: str, indent: str = "") -> list[str]:
    """A text as comments of at most ``_WIDTH`` columns."""
    begin = f"{indent}# "
    return textwrap.wrap(text, _WIDTH, initial_indent=begin, subsequent_indent=begin, break_long_words=False)


def _scalar(text: str) -> str:
    """A word as YAML has it: as it is, if it is read again as it is."""
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError:
        node = None
    if isinstance(node, yaml.ScalarNode) and node.value == text != "" and word(node) != "nothing":
        return text
    return json.dumps(text, ensure_ascii=False)
