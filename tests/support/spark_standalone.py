"""A standalone Spark cluster on loopback: a master, two workers, and a Python for executors that lacks our packages."""

import os
import re
import signal
import subprocess
import sys
import venv
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from chaos.core.clock import Deadline

THEIRS = ("numpy", "pandas", "pyarrow", "scipy")  # what PySpark needs in executors, and what is not shipped
FEWER_COMPILERS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_UP_S = 60


class Cluster(NamedTuple):
    """Where the master is, the workers' processes, and the Python of their executors."""

    master: str
    workers: tuple[int, ...]
    python: Path


def _with_needs(names: tuple[str, ...]) -> set[str]:
    """Distributions and all that they need in turn."""
    found: set[str] = set()
    todo = list(names)
    while todo:
        name = todo.pop()
        if name in found:
            continue
        found.add(name)
        needs = [text for text in metadata.requires(name) or () if "extra ==" not in text]
        todo += [match[0] for text in needs if (match := re.match(r"[A-Za-z0-9._-]+", text)) and _is_there(match[0])]
    return found


def _is_there(name: str) -> bool:
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def bare_python(folder: Path, names: tuple[str, ...] = THEIRS) -> Path:
    """An environment with these distributions alone, linked from ours; its folder of programs."""
    venv.create(folder / "env", with_pip=False, symlinks=True)
    linked = folder / "linked"
    linked.mkdir()
    for name in _with_needs(names):
        for top in {file.parts[0] for file in metadata.files(name) or () if file.parts[0] != ".."}:
            place = Path(str(metadata.distribution(name).locate_file(top)))
            if top != "__pycache__" and place.exists():
                (linked / top).symlink_to(place)
    (site,) = (folder / "env" / "lib").glob("python*/site-packages")
    (site / "linked.pth").write_text(f"{linked}\n")
    return folder / "env" / "bin"


class _Daemon:
    """A master or a worker."""

    def __init__(self, kind: str, *argv: str, folder: Path, programs: Path) -> None:
        import pyspark

        home = Path(pyspark.__file__).parent
        environment = {
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(folder),
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_MEMORY": "128m",
            "SPARK_CONF_DIR": str(folder),
            "SPARK_DAEMON_JAVA_OPTS": FEWER_COMPILERS,
            **{name: os.environ[name] for name in ("JAVA_HOME",) if name in os.environ},
        }
        self.kind = kind
        self.log = folder / f"{kind}-{len(list(folder.glob('*.log')))}.log"
        where = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        with self.log.open("wb") as out:
            self.process = subprocess.Popen(
                [home / "bin" / "spark-class", f"org.apache.spark.deploy.{kind}", *where, *argv],
                env=environment,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )

    def up(self, said: str) -> str:
        """Wait until it said so; the first group of what it said."""
        deadline = Deadline(f"{self.kind} to be up", _UP_S)
        while (match := re.search(said, self.log.read_text())) is None:
            deadline.check(self.log.read_text()[-500:])
            Deadline("a moment", 0.1).wait()
        return match[1]

    def end(self) -> None:
        """Kill it and what is in its group; executors' Pythons end with the pipes to their executors."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(timeout=30)


@contextmanager
def standalone(folder: Path) -> Iterator[Cluster]:
    """Bring the cluster up, one core a worker, and take it down."""
    programs = bare_python(folder)
    (folder / "spark-defaults.conf").write_text(f"spark.executor.extraJavaOptions {FEWER_COMPILERS}\n")
    with ExitStack() as stack:

        def daemon(kind: str, *argv: str) -> _Daemon:
            made = _Daemon(kind, *argv, folder=folder, programs=programs)
            stack.callback(made.end)
            return made

        master = daemon("master.Master").up(r"Starting Spark master at (\S+)")
        limits = ("--cores", "1", "--memory", "1g")
        workers = [daemon("worker.Worker", *limits, "--work-dir", str(folder / str(n)), master) for n in range(2)]
        for worker in workers:
            worker.up(r"Successfully (registered) with master")
        yield Cluster(master, tuple(worker.process.pid for worker in workers), programs / "python3")


def parent(pid: int) -> int:
    """The parent of a process; 0 if there is no such process."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def descends(pid: int, ancestors: tuple[int, ...]) -> bool:
    """Whether a process is one of these or a child of one, at any depth."""
    while pid > 1 and pid not in ancestors:
        pid = parent(pid)
    return pid in ancestors


def holder_of(path: Path, ancestors: tuple[int, ...], but: tuple[int, ...] = ()) -> int:
    """The descendant that has a file open, waited for."""
    deadline = Deadline(f"a process to open {path}", _UP_S)
    while True:
        for place in Path("/proc").glob("[0-9]*/fd/*"):
            pid = int(place.parts[2])
            try:
                is_it = place.readlink() == path
            except OSError:
                continue
            if is_it and pid not in but and descends(pid, ancestors):
                return pid
        deadline.check()
        Deadline("a moment", 0.05).wait()


assert sys.platform == "linux", "processes are found in /proc"
