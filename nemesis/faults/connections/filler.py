"""Programs that fill something on a host: two commands of a kept change, one begins such a program, one undoes it.

The program and its orders lie in files beside its pid file, so that the change can be taken back without the harness.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from cluster.host import Host
from nemesis.faults.links.kernel_change import Command

# $1 where the pid is, and beside it the program and its orders.
_FILL: Final = 'exec python3 -I -S "$1.py" "$(cat "$1.fill")"'
_BACK: Final = """\
[ -f "$1.py" ] || exit 0
if [ -f "$1" ] && read -r pid < "$1" && grep -qsaF -e "$1.py" "/proc/$pid/cmdline"; then
  kill -TERM "$pid"; left=100
  while [ -d "/proc/$pid" ] && [ "$left" -gt 0 ]; do sleep 0.05; left=$((left - 1)); done
  [ ! -d "/proc/$pid" ] || kill -KILL "$pid"
fi
python3 -I -S "$1.py" "$(cat "$1.back")" && rm -f "$1" "$1.py" "$1.fill" "$1.back"
"""


def filler(
    host: Host, file: str, program: Path, fill: Mapping[str, Any], back: Mapping[str, Any]
) -> tuple[Command, Command]:
    """Put a program on a host; the command that begins it and the one that ends it and undoes what it did.

    Args:
        host: where.
        file: where its pid will be; the names of its files begin so.
        program: it takes JSON as its only argument.
        fill: its orders; it is told its ``pid_file`` as well, and goes on in the background until SIGTERM.
        back: its orders once it has ended, fine to be followed again.
    """
    host.put(program.read_bytes(), f"{file}.py")
    host.put(json.dumps({**fill, "pid_file": file}).encode(), f"{file}.fill")
    host.put(json.dumps(back).encode(), f"{file}.back")
    return ("sh", "-c", _FILL, "fill", file), ("sh", "-c", _BACK, "back", file)
