"""One quiet Spark session per process, started in the background if asked early.

On this machine or on a cluster (``set_master``). The JVM writes its chatter into an unnamed file, listens on the
loopback address only unless executors are elsewhere, shows no web page and ends with this process, also by kill -9
(its standard input closes). It needs a Java of at least 17, and every wait has a deadline.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import IO, Any, Final

from chaos.basics import progress
from chaos.core.clock import Deadline
from chaos.core.errors import CapabilityError, ChaosError
from spark_checkers.failure_reasons import cause, last_words
from spark_checkers.masters import EVERYWHERE, Where, reach, resolve_master, settings
from spark_checkers.shipping import Found, Shipped, pack_archive, probe_body, require_nothing_lacking

LEAST_JAVA: Final = 17
TAKEN_IN_S: Final = 180.0
EXECUTORS_S: Final = 60.0
HELP: Final = "apt-get install openjdk-17-jre-headless"
_SETTINGS: Final = {
    "spark.app.name": "chaos",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "1g",
    "spark.driver.maxResultSize": "1g",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1",
    "spark.python.worker.reuse": "true",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


class _Held:
    """The session of this process and what belongs to it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.session: Any = None
        self.context: Any = None
        self.gateway: Any = None
        self.chatter: IO[bytes] | None = None
        self.early: threading.Thread | None = None
        self.where = Where()
        self.folder: tempfile.TemporaryDirectory[str] | None = None
        self.shipped: Shipped | None = None


_held = _Held()
_USERS_PYTHON: Final = os.environ.get("PYSPARK_PYTHON")  # before a session of ours on this machine writes its own


def java() -> tuple[str, int] | None:
    """The Java that would run Spark and its version, None if there is none at all."""
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if program is None or not Path(program).exists():
        return None
    try:
        said = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=30, check=False).stderr
    except (OSError, subprocess.TimeoutExpired):
        return None
    version = re.search(r'version "(?:1\.)?(\d+)', said)
    return (program, int(version.group(1))) if version else None


def obstacle() -> str | None:
    """Why Spark cannot run here, in one line with the command that helps; None if it can."""
    found = java()
    if found is None:
        return f"no Java found, Spark needs {LEAST_JAVA} or newer: {HELP}"
    if found[1] < LEAST_JAVA:
        return f"{found[0]} is Java {found[1]}, Spark needs {LEAST_JAVA} or newer: {HELP}"
    return None


def set_master(where: Where) -> None:
    """Say where the session of this process is to run; one that runs elsewhere ends.

    Raises:
        UsageError: no master that Spark knows.
    """
    resolve_master(where)
    with _held.lock:
        if where != _held.where:
            _end()
            _held.early, _held.where = None, where


def _environment(where: Where, host: str) -> None:
    """What Spark and its Python workers read from the environment."""
    if where.local:
        root = str(Path(__file__).resolve().parent.parent)
        paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
        os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([root, *paths]))
    os.environ["PYSPARK_PYTHON"] = sys.executable if where.local else _USERS_PYTHON or "python3"
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    if host != EVERYWHERE:
        os.environ["SPARK_LOCAL_IP"] = host


class _Late(threading.Timer):
    """A timer that knows whether it went off."""

    fired = False

    def run(self) -> None:
        """Wait, and go off unless it was cancelled."""
        if not self.finished.wait(self.interval):
            self.fired = True
            self.function(*self.args, **self.kwargs)


def _start(where: Where) -> None:
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    progress.current_listener()(f"Spark starts at {where.master}", 0, 0)
    reach(where.master)
    placed = settings(where)
    _environment(where, placed["spark.driver.bindAddress"])
    configuration = SparkConf(loadDefaults=False)
    for name, value in {**_SETTINGS, **placed}.items():
        configuration.set(name, value)
    chatter = tempfile.TemporaryFile()  # noqa: SIM115 - the JVM writes into it as long as it lives
    _held.chatter = chatter
    late: _Late | None = None
    try:
        _held.gateway = launch_gateway(conf=configuration, popen_kwargs={"stdout": chatter, "stderr": chatter})
        late = _Late(TAKEN_IN_S, _held.gateway.proc.kill)  # Spark itself may go on for minutes
        late.start()
        try:
            context = _held.context = SparkContext(conf=configuration, gateway=_held.gateway)
        finally:
            late.cancel()
        context.setLogLevel("OFF")
        if not where.local:
            _await_executors(context, where, placed["spark.driver.host"])
            _ship(context)
        _held.session = SparkSession(context)
    except ChaosError:
        raise
    except Exception as error:
        chatter.seek(0)
        last = last_words(chatter.read().decode(errors="replace")) or str(error)
        if late is not None and late.fired:
            last = f"it was not up in {TAKEN_IN_S:g} s"
        at = "" if where.local else f" at {where.master}"
        raise ChaosError(f"Spark did not start{at}: {last[:300]}; check again with --engine local") from error


def executors(context: Any) -> int:
    """How many executors there are at the moment; on this machine the driver itself is the one."""
    known: int = context._jsc.sc().getExecutorMemoryStatus().size()  # noqa: SLF001 - there is no public way
    return known if _held.where.local else known - 1


def _await_executors(context: Any, where: Where, host: str) -> None:
    deadline = Deadline(
        f"an executor from {where.master}: its workers are down, have nothing free, or do not reach this driver at "
        f"{host} (--driver-host names another address)",
        EXECUTORS_S,
    )
    while executors(context) == 0:
        deadline.check()
        Deadline("a moment", 0.1).wait()


def _ship(context: Any) -> None:
    """Bring our packages to the executors, and ask those that are there whether anything else is lacking."""
    _held.folder = tempfile.TemporaryDirectory(prefix="chaos-spark-")
    _held.shipped = pack_archive(Path(_held.folder.name))
    context.addArchive(str(_held.shipped.path) + f"#{_held.shipped.name}")
    asked = max(8, 4 * context.defaultParallelism)
    try:
        found = context.parallelize(range(asked), asked).mapPartitions(probe_body(_held.shipped)).collect()
    except Exception as error:
        raise CapabilityError(f"executors cannot run our Python: {cause(str(error))}") from error
    require_nothing_lacking(Found(*one) for one in set(found))


def shipped_archive() -> Shipped | None:
    """What was brought to the executors; None where they are on this machine and lack nothing."""
    return _held.shipped


def session() -> Any:
    """The Spark session of this process, started if it is not up yet.

    Raises:
        CapabilityError: no Java of at least 17, or executors lack something; the message names the command that helps.
        ChaosError: Spark did not start, or nobody answers at its master.
        DeadlineError: the master gave no executor.
    """
    with _held.lock:
        if _held.session is None:
            why = obstacle()
            if why is not None:
                raise CapabilityError(why)
            try:
                _start(resolve_master(_held.where))
            except BaseException:
                _end()
                raise
        return _held.session


def _quietly() -> None:
    try:
        session()
    except ChaosError:
        return  # whoever needs the session gets the same error, then with somebody listening


def is_begun() -> bool:
    """Whether the session of this process is up, or was begun to be started."""
    return _held.early is not None or _held.session is not None


def start_early() -> None:
    """Begin to start the session in the background; ``session`` then waits for it."""
    if _held.early is None:
        _held.early = threading.Thread(target=_quietly, name="spark-start", daemon=True)
        _held.early.start()


def stop() -> None:
    """End the session and its JVM; safe to call twice."""
    with _held.lock:
        _end()
        _held.early, _held.where = None, Where()


def _end() -> None:
    """Leave nothing of a session behind, whether it came up or not."""
    if _held.context is not None:
        (_held.session or _held.context).stop()
    if _held.gateway is not None:
        _held.gateway.shutdown()
        process = getattr(_held.gateway, "proc", None)
        if process is not None:
            process.stdin.close()
            process.wait(timeout=30)
    if _held.chatter is not None:
        _held.chatter.close()
    if _held.folder is not None:
        _held.folder.cleanup()
    _held.session = _held.context = _held.gateway = _held.chatter = _held.folder = _held.shipped = None
    _forget()


def _forget() -> None:
    """Let a later start make a JVM of its own."""
    if "pyspark" not in sys.modules:
        return
    from pyspark import SparkContext

    SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001 - there is no public way
