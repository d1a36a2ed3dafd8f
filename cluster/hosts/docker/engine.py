"""The Docker engine of this machine: found, spoken to, and its words turned into lines for people.

Containers share files and namespaces with the harness, so the engine must be on this machine and reached through a Unix
socket: the one of ``DOCKER_HOST``, of docker's current context, the usual one, or the rootless one of this user.
Everything that is made carries three labels, from which the dead can be told (``labels``, ``is_orphaned``). Does not
make or remove anything.
"""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Self

from chaos.core.clock import boot_id
from chaos.core.errors import CapabilityError, ChaosError, DeadlineError, DeployError
from cluster.agent import linux
from cluster.cleanup import run_records

RUN: Final = "chaos.run"
OWNER: Final = "chaos.owner"
BOOT: Final = "chaos.boot"
"""Labels: the run's id, its harness as ``records.marker`` has it, and the kernel's boot id."""

CALL_TIMEOUT_S: Final = 60
_MINIMUM_API: Final = (1, 40)
_SOCKET: Final = "/var/run/docker.sock"
_START: Final = "`systemctl start docker`, or `dockerd` as root"
_INSTALL: Final = "`apt-get install docker.io`"


class GoneError(DeployError):
    """The engine does not answer any more."""


def labels(run_id: str) -> dict[str, str]:
    """What everything of a run is marked with."""
    return {RUN: run_id, OWNER: run_records.marker(run_id)[run_records.OWNER], BOOT: boot_id()}


def is_orphaned(marks: Mapping[str, str]) -> bool:
    """Whether what carries these labels belongs to a harness that is dead: another boot's, or ended in this one."""
    if RUN not in marks or OWNER not in marks:
        return False
    known = {run_records.RUN: marks[RUN], run_records.OWNER: marks[OWNER]}
    return marks.get(BOOT) != boot_id() or run_records.is_orphaned(known)


class Engine:
    """An engine that answered. ``api``: the SDK's client; ``url``: its socket."""

    def __init__(self, api: Any, url: str) -> None:
        self.api = api
        self.url = url
        with self.doing("asking what it can do"):
            said: dict[str, Any] = api.info()
        self.version = str(said.get("ServerVersion", "?"))
        self.cgroup = str(said.get("CgroupVersion", "1"))
        self.driver = str(said.get("Driver", "?"))
        security = " ".join(said.get("SecurityOptions") or ())
        self.rootless = "name=rootless" in security
        self.remapped = "name=userns" in security
        self.cores = int(said.get("NCPU", 0))
        self.limits_memory = bool(said.get("MemoryLimit"))
        self.limits_cpus = bool(said.get("CpuCfsQuota"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.api.close()

    @property
    def described(self) -> str:
        """One phrase for people."""
        kind = "rootless" if self.rootless else "rootful"
        return f"engine {self.version} at {self.url}, {kind}, cgroup v{self.cgroup}, {self.driver}"

    @contextmanager
    def doing(self, what: str) -> Iterator[None]:
        """Turn what the SDK raises inside into one line that says what was being done.

        Raises:
            DeployError: the engine refused.
            GoneError: it does not answer any more.
            DeadlineError: it did not answer in time.
        """
        import requests
        from docker.errors import APIError, DockerException

        try:
            yield
        except APIError as error:
            said = " ".join(str(error.explanation or error).split())
            raise DeployError(f"docker: {what}: {said}") from None
        except requests.exceptions.Timeout:
            raise DeadlineError(f"docker: waited {CALL_TIMEOUT_S} s for the engine at {self.url}: {what}") from None
        except (requests.exceptions.RequestException, DockerException, OSError) as error:
            raise GoneError(
                f"docker: {what}: the engine at {self.url} does not answer any more ({_cause(error)}); {_START}, "
                "then `chaos clean`"
            ) from None

    def check_enterable(self) -> None:
        """Refuse an engine whose containers' network this user cannot enter.

        Raises:
            CapabilityError: with what helps.
        """
        if self.remapped:
            raise CapabilityError(
                "docker: this engine remaps users (userns-remap), so its containers cannot write into a run's folder; "
                "take `userns-remap` out of /etc/docker/daemon.json"
            )
        if not self.rootless and not linux.capable():
            raise CapabilityError(
                "docker: only root may enter the network of a container of this engine, as load and observers must; "
                "run chaos as root, or use a rootless engine: `dockerd-rootless-setuptool.sh install`"
            )


def connect(timeout_s: int = CALL_TIMEOUT_S) -> Engine:
    """The engine of this machine, alive.

    ``timeout_s``: for this and every later call.

    Raises:
        CapabilityError: none answers, or none that can be used; the message ends with what helps.
    """
    import docker
    import requests
    from docker.errors import DockerException

    url = _url()
    if not url.startswith(("unix://", "http+unix://")):
        raise CapabilityError(
            f"docker: the engine at {url} is not reached through a Unix socket, and hosts share files and namespaces "
            "with this machine; `unset DOCKER_HOST` or `docker context use default`"
        )
    try:
        api = docker.APIClient(base_url=url, version="auto", timeout=timeout_s)
        if tuple(int(part) for part in api.api_version.split(".")) < _MINIMUM_API:
            raise CapabilityError(f"docker: the engine at {url} is older than 19.03; upgrade it")
        return Engine(api, url)
    except (DockerException, requests.exceptions.RequestException, OSError, ChaosError) as error:
        if isinstance(error, CapabilityError):
            raise
        raise _refused(url, _cause(error)) from None


def _url() -> str:
    from docker.context import ContextAPI
    from docker.errors import DockerException
    from docker.utils import kwargs_from_env

    try:
        given = kwargs_from_env().get("base_url")
        given = given or ContextAPI.kwargs_from_context(environment=os.environ).get("base_url")
    except DockerException as error:
        raise CapabilityError(f"docker: its settings cannot be used: {error}; `docker context ls`") from None
    url = str(given or f"unix://{_SOCKET}")
    own = Path(os.environ.get("XDG_RUNTIME_DIR", "/nowhere")) / "docker.sock"
    usual = url.removeprefix("http+").removeprefix("unix://") == _SOCKET
    return f"unix://{own}" if usual and not Path(_SOCKET).exists() and own.is_socket() else url


def _refused(url: str, cause: BaseException) -> CapabilityError:
    if isinstance(cause, PermissionError):
        return CapabilityError(
            f"docker: no permission on {url}; run chaos as root, or use a rootless engine: "
            "`dockerd-rootless-setuptool.sh install`"
        )
    if isinstance(cause, TimeoutError) or "timed out" in str(cause):
        return CapabilityError(f"docker: the engine at {url} does not answer; `systemctl restart docker`")
    reason = getattr(cause, "strerror", None) or " ".join(str(cause).split())[:200]
    helps = _START if shutil.which("dockerd") else _INSTALL
    return CapabilityError(f"docker: no engine answers at {url}: {reason}; {helps}")


def _cause(error: BaseException) -> BaseException:
    """The operating system's error inside the SDK's, or the error itself."""
    todo, seen = [error], set[int]()
    while todo:
        each = todo.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        import requests

        if isinstance(each, OSError) and not isinstance(each, requests.exceptions.RequestException) and each.errno:
            return each
        todo += [inner for inner in (each.__cause__, each.__context__, *each.args) if isinstance(inner, BaseException)]
        reason = getattr(each, "reason", None)
        if isinstance(reason, BaseException):
            todo.append(reason)
    return error
