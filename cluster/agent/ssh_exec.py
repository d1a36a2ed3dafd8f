"""The program that runs one command on a host reached by SSH: put there once, started for each command.

SSH itself tells too little: a login shell may print what it likes before a command, an exit by a signal is
lost, and a channel ends only when the last daemon has let go of it. So standard output and standard error get
a line with a token of the caller's before the command and one with its exit code after it; what lies between
is the command's. The token is also in the environment of all that the command starts, which is how it is found
and killed on a time-out. Plain standard library, run by ``python3 -I -S``::

    arguments   token home run-id program argument...

Does not relay data: the command has the channel's own descriptors.
"""

import os
import signal
import sys

TOKEN = "CHAOS_COMMAND"  # noqa: S105 - the name of a variable
"""The environment variable that names the command by which a process was started."""

RUN = "CHAOS_RUN"
_SBIN = ("/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/local/bin", "/usr/bin", "/bin")


def environment(ambient: dict[str, str], token: str, home: str, run_id: str) -> dict[str, str]:
    """Pure: what of the login's environment a command may see: where programs are, and no more."""
    path = [entry for entry in ambient.get("PATH", "").split(":") if entry]
    given = {
        "PATH": ":".join([*path, *[entry for entry in _SBIN if entry not in path]]),
        "LANG": "C.UTF-8",
        "HOME": home,
        "TMPDIR": home + "/tmp",  # noqa: S108 - in the node's own home
        TOKEN: token,
        RUN: run_id,
    }
    return {**given, "JAVA_HOME": ambient["JAVA_HOME"]} if "JAVA_HOME" in ambient else given


def say(text: str) -> None:
    """Write to both streams; a caller that is gone is nobody's loss."""
    for fd in (1, 2):
        try:
            os.write(fd, text.encode())
        except OSError:
            continue


def main(token: str, home: str, run_id: str, argv: list[str]) -> int:
    """Run ``argv`` in ``home`` in a session of its own, to its end."""
    say(token + "\n")
    env = environment(dict(os.environ), token, home, run_id)
    os.environ["PATH"] = env["PATH"]  # posix_spawnp looks for programs in *our* PATH
    try:
        os.chdir(home)
        pid = os.posix_spawnp(
            argv[0],
            argv,
            env,
            setsid=True,
            setsigmask=[],
            setsigdef=[signal.SIGPIPE, signal.SIGXFSZ],
        )
    except OSError as error:
        os.write(2, f"{error.filename or argv[0]}: {error.strerror}".encode())
        code = 127
    else:
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    say(f"{token}:{code}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]))
