"""Tab completion: ``chaos completion SHELL`` prints the script, and the script asks ``chaos`` what can be typed.

A script sets ``_CHAOS_COMPLETE``, and in ``COMP_WORDS`` and ``COMP_CWORD`` what is typed, as those of click do. Ours
differ from click's where theirs lose words of ours: bash cuts words at ``:``, ``=`` and ``@``, and ``=`` must have no
blank behind it.
"""

import os
from typing import Any, Final

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    split_arg_string,
)

from chaos.cli.examples import examples

VARIABLE: Final = "_CHAOS_COMPLETE"
PROGRAM: Final = "chaos"

_BASH: Final = """\
%(complete_func)s() {
    local response type value
    response=$(env COMP_WORDS="${COMP_LINE:0:COMP_POINT}" COMP_CWORD="$2" \\
        %(complete_var)s=bash_complete "$1" 2> /dev/null)
    COMPREPLY=()
    while IFS=',' read -r type value; do
        case $type in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            open) compopt -o nospace; COMPREPLY+=("$value") ;;
            plain) COMPREPLY+=("$value") ;;
        esac
    done <<< "$response"
}

complete -o nosort -F %(complete_func)s %(prog_name)s
"""

_ZSH: Final = """\
#compdef %(prog_name)s

%(complete_func)s_paths() {
    [[ $PREFIX == -*=* ]] && compset -P 1 '*='
    _path_files "$@"
}

%(complete_func)s() {
    local -a plain described open open_described response
    local type key descr
    response=("${(@f)$(env COMP_WORDS="${words[1,CURRENT]}" COMP_CWORD=$((CURRENT-1)) \\
        %(complete_var)s=zsh_complete ${~words[1]} 2> /dev/null)}")
    for type key descr in ${response}; do
        case $type in
            dir) %(complete_func)s_paths -/ ;;
            file) %(complete_func)s_paths -f ;;
            open) if [[ $descr == _ ]]; then open+=("$key"); else open_described+=("$key":"$descr"); fi ;;
            plain) if [[ $descr == _ ]]; then plain+=("$key"); else described+=("$key":"$descr"); fi ;;
        esac
    done
    (( $#described )) && _describe -V unsorted described -U
    (( $#plain )) && compadd -U -V unsorted -a plain
    (( $#open_described )) && _describe -V unsorted open_described -U -S ''
    (( $#open )) && compadd -U -V unsorted -S '' -a open
    return 0
}

if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    %(complete_func)s "$@"
else
    compdef %(complete_func)s %(prog_name)s
fi
"""

_FISH: Final = """\
function %(complete_func)s
    set -l program (string replace --regex '^~' "$HOME" -- (commandline -opc)[1])
    for line in (env %(complete_var)s=fish_complete COMP_WORDS=(commandline -cp | string collect) \\
            COMP_CWORD=(commandline -ct | string collect --allow-empty) $program 2> /dev/null)
        set -l parts (string split --max 1 "," -- $line)
        switch $parts[1]
            case dir
                __fish_complete_directories
            case file
                complete --do-complete "'' "(commandline -ct | string collect --allow-empty)
            case plain open
                echo $parts[2]
        end
    end
end

complete --no-files --command %(prog_name)s --arguments "(%(complete_func)s)"
"""


def _option_before(word: str) -> str:
    """``--set=`` of ``--set=min``: what click takes off a word before it looks for values."""
    name, equals, _ = word.partition("=")
    return name + equals if equals and name.startswith("-") else ""


class _Whole(ShellComplete):
    """Gives values as the whole word that stands at the cursor is then: behind ``--option=`` that is a part of it."""

    word = ""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem[str]]:
        """What can stand at the cursor."""
        self.word = incomplete
        before = _option_before(incomplete)
        return [
            CompletionItem(before + item.value, type=item.type, help=item.help)
            for item in super().get_completions(args, incomplete)
        ]


class Bash(_Whole, BashComplete):
    """Bash gives the line as it is typed, and the end of its last word, which is all that it wants completed."""

    source_template = _BASH

    def source(self) -> str:
        """The script; nothing is asked of the bash that is here."""
        return ShellComplete.source(self)

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before the cursor and the one at it."""
        line = os.environ["COMP_WORDS"]
        words = split_arg_string(line)[1:]
        return (words, "") if not words or line[-1:].isspace() else (words[:-1], words[-1])

    def format_completion(self, item: CompletionItem[Any]) -> str:
        """``type,value`` from where bash says that the word begins."""
        end = os.environ.get("COMP_CWORD", "")
        kept = len(self.word) - len(end) if self.word.endswith(end) else 0
        return f"{item.type},{item.value[kept:]}"


class Zsh(_Whole, ZshComplete):
    """Zsh takes whole words."""

    source_template = _ZSH


class Fish(_Whole, FishComplete):
    """Fish takes whole words, and puts no blank behind ``=``, ``:`` and ``@`` by itself."""

    source_template = _FISH


SHELLS: Final[dict[str, type[ShellComplete]]] = {"bash": Bash, "zsh": Zsh, "fish": Fish}


def answer(cli: click.Command, instruction: str) -> str:
    """What a script asks for: ``bash_complete`` and the like; nothing if it cannot be known."""
    shell, _, what = instruction.partition("_")
    kind = SHELLS.get(shell)
    if kind is None or what != "complete":
        return ""
    try:
        return kind(cli, {}, PROGRAM, VARIABLE).complete()
    except Exception:  # noqa: BLE001 - whoever presses tab wants words or nothing
        return ""


@click.command(
    "completion",
    epilog=examples(
        "source <(chaos completion bash)",
        "chaos completion fish > ~/.config/fish/completions/chaos.fish",
    ),
)
@click.argument("shell", type=click.Choice(list(SHELLS)), metavar="SHELL")
def completion_command(shell: str) -> int:
    """Print the script that lets a shell complete what you type after `chaos`.

    SHELL is bash, zsh or fish. Put the first example into ~/.bashrc; for zsh, the same with zsh into ~/.zshrc, after
    compinit.
    """
    click.echo(SHELLS[shell](click.Command(PROGRAM), {}, PROGRAM, VARIABLE).source(), nl=False)
    return 0
