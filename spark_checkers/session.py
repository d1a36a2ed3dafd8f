"""One quiet Spark session per process, started in the background if asked early.

The JVM writes its chatter into an unnamed file, listens on the loopback address only, shows no web
page and ends with this process, also by kill -9 (its standard input closes). The module refuses to
start without a Java of at least 17.
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

from chaos.core.errors import CapabilityError, ChaosError

LEAST_JAVA: Final = 17
HELP: Final = "apt-get install openjdk-17-jre-headless"
_SETTINGS: Final = {
    "spark.app.name": "chaos",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.default.parallelism": "32",  # slices of the table of shards: small ones, so that two cores stay busy
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.driver.maxResultSize": "1g",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1",
    "spark.python.worker.reuse": "true",
    "spark.task.maxFailures": "1",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


class _Held:
    """The session of this process and what belongs to it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.session: Any = None
        self.gateway: Any = None
        self.chatter: IO[bytes] | None = None
        self.early: threading.Thread | None = None


_held = _Held()


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


def missing() -> str | None:
    """Why Spark cannot run here, in one line with the command that helps; None if it can."""
    found = java()
    if found is None:
        return f"no Java found, Spark needs {LEAST_JAVA} or newer: {HELP}"
    if found[1] < LEAST_JAVA:
        return f"{found[0]} is Java {found[1]}, Spark needs {LEAST_JAVA} or newer: {HELP}"
    return None


def _environment() -> None:
    """What Spark and its Python workers read from the environment."""
    root = str(Path(__file__).resolve().parent.parent)
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([root, *paths]))
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"


def _start(cores: int) -> None:
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    _environment()
    configuration = SparkConf(loadDefaults=False)
    for name, value in {**_SETTINGS, "spark.master": f"local[{cores}]"}.items():
        configuration.set(name, value)
    chatter = tempfile.TemporaryFile()  # noqa: SIM115 - the JVM writes into it as long as it lives
    _held.chatter = chatter
    try:
        _held.gateway = launch_gateway(conf=configuration, popen_kwargs={"stdout": chatter, "stderr": chatter})
        context = SparkContext(conf=configuration, gateway=_held.gateway)
        context.setLogLevel("OFF")
        _held.session = SparkSession(context)
    except Exception as error:
        chatter.seek(0)
        last = chatter.read().decode(errors="replace").strip().splitlines()[-1:] or [str(error)]
        raise ChaosError(f"Spark did not start: {last[0][:300]}; check again with --engine local") from error


def session(cores: int = 2) -> Any:
    """The Spark session of this process, started if it is not up yet.

    Raises:
        CapabilityError: no Java of at least 17; the message names the command that helps.
        ChaosError: Spark did not start.
    """
    with _held.lock:
        if _held.session is None:
            why = missing()
            if why is not None:
                raise CapabilityError(why)
            _start(cores)
        return _held.session


def _quietly() -> None:
    try:
        session()
    except ChaosError:
        return  # whoever needs the session gets the same error, then with somebody listening


def start_early() -> None:
    """Begin to start the session in the background; ``session`` then waits for it."""
    if _held.early is None:
        _held.early = threading.Thread(target=_quietly, name="spark-start", daemon=True)
        _held.early.start()


def stop() -> None:
    """End the session and its JVM; safe to call twice."""
    with _held.lock:
        if _held.session is not None:
            _held.session.stop()
        if _held.gateway is not None:
            _held.gateway.shutdown()
            process = getattr(_held.gateway, "proc", None)
            if process is not None:
                process.stdin.close()
                process.wait(timeout=30)
        if _held.chatter is not None:
            _held.chatter.close()
        _held.session = _held.gateway = _held.chatter = _held.early = None
        _forget()


def _forget() -> None:
    """Let a later start make a JVM of its own."""
    if "pyspark" not in sys.modules:
        return
    from pyspark import SparkContext

    SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001 - there is no public way
