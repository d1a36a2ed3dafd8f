"""What comes over a command's channel: its outputs between lines of our own, and how a machine introduces itself."""

from collections.abc import Callable
from typing import Final

import msgspec

from chaos.core.errors import DeployError
from cluster.host import ControlLink
from cluster.hosts.pipes import OUTPUT_LIMIT_BYTES

Write = Callable[[bytes], object]

_CHATTER_BYTES: Final = 500

# $1: a word after which it is us who speak. $2: the tool's name. Standard input: the tool.
GREET: Final = """\
set -e
cd
umask 077
mkdir -p .chaos/tools
if [ -f ".chaos/tools/$2" ]; then cat > /dev/null; else
  cat > ".chaos/tools/$2.$$"
  mv -f ".chaos/tools/$2.$$" ".chaos/tools/$2"
fi
echo "$1"
pwd -P
id -u
echo "$SSH_CONNECTION"
if sudo -n -k true 2> /dev/null; then echo free; elif command -v sudo > /dev/null; then echo asks; else echo none; fi
python3 -I -S -c 'import sys; print("%d.%d" % sys.version_info[:2])' || echo none
"""


class Greeting(msgspec.Struct, frozen=True, kw_only=True):
    """What a machine said of itself.

    ``folder``: the login's home. ``sudo``: "free" of a password, "asks" for one, or "none". ``python``: the
    release of its python3, "none" without one.
    """

    folder: str
    uid: int
    control: ControlLink | None
    sudo: str
    python: str


def greeting(said: str, word: str) -> Greeting | None:
    """Pure: what a machine said after ``word``; None if that is not what a machine says."""
    lines = said.partition(word + "\n")[2].splitlines()
    if len(lines) != len(Greeting.__struct_fields__) or not lines[1].isdigit():
        return None
    folder, uid, ends, sudo, python = lines
    words = ends.split()
    by_ipv4 = len(words) == 4 and "." in words[0] and ":" not in words[0]  # noqa: PLR2004 - both ends, each with a port
    control = ControlLink(words[0], int(words[3])) if by_ipv4 else None
    return Greeting(folder=folder, uid=int(uid), control=control, sudo=sudo, python=python)


class Stream:
    """One of a command's two outputs: finds the lines of ``ssh_exec`` and passes on what is between."""

    def __init__(self, token: str, write: Write) -> None:
        self._begin = f"{token}\n".encode()
        self._end = f"{token}:".encode()
        self._write = write
        self._pending = b""
        self._begun = False
        self.chatter = b""
        self.returncode: int | None = None

    def feed(self, data: bytes) -> None:
        """Take what has arrived."""
        self._pending += data
        if not self._begun:
            before, found, after = self._pending.partition(self._begin)
            if not found:
                self.chatter = (self.chatter + self._pending)[-_CHATTER_BYTES:]
                self._pending = self._pending[-len(self._begin) :]
                return
            self._begun, self._pending = True, after
            self.chatter = before[-_CHATTER_BYTES:]
        before, found, after = self._pending.partition(self._end)
        if found:
            code, newline, _ = after.partition(b"\n")
            if newline:
                self._write(before)
                self.returncode, self._pending = int(code), b""
            return
        keep = len(self._end) - 1
        if len(self._pending) > keep:
            self._write(self._pending[:-keep])
            self._pending = self._pending[-keep:]


class Bounded:
    """Collects output up to a bound."""

    def __init__(self) -> None:
        self.data = bytearray()

    def __call__(self, data: bytes) -> None:
        """Take some more."""
        self.data += data
        if len(self.data) > OUTPUT_LIMIT_BYTES:
            limit = OUTPUT_LIMIT_BYTES >> 20
            raise DeployError(f"a command wrote more than {limit} MiB; let it write to a file, then get that")


class Plain(Bounded):
    """An output without the tool's lines: it ends with its channel."""

    returncode: int | None = None

    def feed(self, data: bytes) -> None:
        """Take what has arrived."""
        self(data)


Fed = Stream | Plain
