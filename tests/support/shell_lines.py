"""Real bash, zsh and fish on terminals of their own: their keys are pressed, and what the line becomes is read."""

import fcntl
import os
import pty
import select
import shutil
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

from repository import ROOT

DEADLINE_S = 180
SHOW = "\x0f"  # Ctrl-O: the shell writes the line to the pipe, and clears it
READY = "ready"

ARGV = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--private"],
}
BEGIN = {
    "bash": r"""
bind -x '"\C-o": printf "%s\n" "$READLINE_LINE" > "$LINES_PIPE"; READLINE_LINE='
source <(chaos completion bash)
""",
    "zsh": r"""
autoload -Uz compinit && compinit -u -d "$HOME/.zcompdump"
show_line() { print -r -- "$BUFFER" > "$LINES_PIPE"; BUFFER= }
zle -N show_line && bindkey '^O' show_line
source <(chaos completion zsh)
""",
    "fish": r"""
bind \co 'commandline > $LINES_PIPE; commandline ""'
chaos completion fish > $HOME/.config/fish/completions/chaos.fish
""",
}
"""What each reads first: what Ctrl-O does, and our script as docs/guide/terminal.md says."""


class Shell:
    """A shell in a home folder of its own, where ``chaos`` is the program of this tree.

    Raises:
        AssertionError: if the shell is not installed.
    """

    def __init__(self, name: str, home: Path) -> None:
        assert shutil.which(name), f"{name} is not installed: .ci/setup test"
        self.name = name
        self.shown = ""
        """All that the terminal has shown since the last line."""
        (home / ".config" / "fish" / "completions").mkdir(parents=True)
        (home / "bin").mkdir()
        program = home / "bin" / "chaos"
        program.write_text(f'#!/bin/sh\nexec env PYTHONPATH="{ROOT}" {sys.executable} -m chaos "$@"\n')
        program.chmod(0o755)
        pipe = home / "lines"
        os.mkfifo(pipe)
        self._lines = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
        self._read = ""
        env = {"PATH": f"{home / 'bin'}:{os.environ['PATH']}", "HOME": str(home), "LINES_PIPE": str(pipe)}
        env |= {"TERM": "xterm", "LANG": "C.UTF-8", "INPUTRC": "/dev/null", "SHELL": f"/usr/bin/{name}"}
        self._terminal, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 200, 400, 0, 0))
        argv = ["setsid", "--ctty", *ARGV[name]]  # fish ends without a terminal that it controls
        self._process = subprocess.Popen(argv, stdin=theirs, stdout=theirs, stderr=theirs, env=env, cwd=home)
        os.close(theirs)
        (home / "begin").write_text(f'{BEGIN[name]}echo {READY} > "$LINES_PIPE"\n')
        os.write(self._terminal, b'source "$HOME/begin"\n')
        assert self._line("its beginning") == READY

    def after(self, keys: str) -> str:
        """Press keys on an empty line; what the line is then."""
        self.shown = ""
        os.write(self._terminal, f"{keys}{SHOW}".encode())
        return self._line(keys)

    def _line(self, keys: str) -> str:
        """The next line of the pipe; meanwhile the terminal is read, which the shell would wait for."""
        end = time.monotonic() + DEADLINE_S
        while "\n" not in self._read:
            left = end - time.monotonic()
            assert left > 0, f"{keys!r} gives no line in {DEADLINE_S} s, but {self.shown!r}"
            ready, _, _ = select.select([self._lines, self._terminal], [], [], left)
            if self._terminal in ready:
                self.shown += os.read(self._terminal, 65536).decode(errors="replace")
            if self._lines in ready:
                self._read += os.read(self._lines, 65536).decode()
        line, _, self._read = self._read.partition("\n")
        return line

    def close(self) -> None:
        """End the shell."""
        self._process.kill()
        self._process.wait()
        os.close(self._terminal)
        os.close(self._lines)
