"""Logging in: keys, agent and password on our side, the host's key on the other, jump hosts in between.

A host key is accepted if known_hosts has it, or learned when the user asked for that, and said; it is never accepted in
silence, and one that differs from the known one is always refused. Does not keep a password anywhere but in memory,
does not print one, and does not take one from a command line or a file.
"""

import contextlib
import fcntl
import getpass
import logging
import os
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

import paramiko
from paramiko.hostkeys import HostKeyEntry, InvalidHostKey
from paramiko.ssh_exception import (
    AuthenticationException,
    BadAuthenticationType,
    BadHostKeyException,
    PasswordRequiredException,
    SSHException,
)

from chaos.core.clock import Deadline
from chaos.core.errors import CapabilityError, DeadlineError, DeployError, UsageError
from cluster.hosts.ssh.nodes_file import SSH_PORT, Login, Machine

PASSWORD: Final = "CHAOS_SSH_PASSWORD"  # noqa: S105 - the name of a variable
SUDO_PASSWORD: Final = "CHAOS_SUDO_PASSWORD"  # noqa: S105 - likewise
CONNECT_TIMEOUT_S: Final = 20.0
_PASSWORD_HELP: Final = f"give its password by --ask-password or {PASSWORD}"
_KEEPALIVE_S: Final = 10
_SILENCE_MS: Final = 20_000
_SYSTEM_KNOWN_HOSTS: Final = Path("/etc/ssh/ssh_known_hosts")

logging.getLogger("paramiko").addHandler(logging.NullHandler())  # what matters is raised; the rest is noise


class Secret:
    """A password that no ``repr``, log or traceback shows."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return "Secret(…)"

    def reveal(self) -> str:
        """The password, for the one call that needs it."""
        return self._text


def secrets(*, ask: bool) -> tuple[Secret | None, Secret | None]:
    """The passwords for login and for sudo, from the environment or, if ``ask``, the terminal.

    They are taken out of the environment, so that no child inherits them.
    """
    login, sudo = os.environ.pop(PASSWORD, None), os.environ.pop(SUDO_PASSWORD, None)
    if ask and login is None:
        login = getpass.getpass("SSH password: ")
    found = Secret(login) if login else None
    return found, Secret(sudo) if sudo else found


def known_as(login: Login) -> str:
    """Pure: how known_hosts names a host."""
    return login.address if login.port == SSH_PORT else f"[{login.address}]:{login.port}"


class Authenticator:
    """What it takes to get in anywhere: safe to use from several threads.

    Args:
        known_hosts: the user's file of host keys; the system's is read as well.
        accept_new: learn keys of hosts that the files do not name.
        password: for hosts that want one, and for encrypted private keys.
        say: gets one line for each key that was learned.
    """

    def __init__(
        self, known_hosts: Path, *, accept_new: bool, password: Secret | None, say: Callable[[str], None]
    ) -> None:
        self.known_hosts = known_hosts.expanduser()
        self.accept_new = accept_new
        self._password = password
        self._say = say
        self._lock = threading.Lock()

    def enter(self, name: str, machine: Machine) -> tuple[paramiko.SSHClient, ...]:
        """Log in; the machine's client comes first, the one of the jump host it stands on second.

        Raises:
            UsageError: a host key that is not known or not the known one, or a login that is refused.
            DeployError: nobody answers there.
        """
        if machine.jump is None:
            return (self._client(name, machine.login, None),)
        via = self._client(f"{name}'s jump host", machine.jump, None)
        try:
            return (self._client(name, machine.login, via), via)
        except BaseException:
            via.close()
            raise

    def _client(self, name: str, login: Login, via: paramiko.SSHClient | None) -> paramiko.SSHClient:
        deadline = Deadline(f"{name} at {login.address}:{login.port} to let us in", CONNECT_TIMEOUT_S)
        who = f"{name} at {login.address}:{login.port}"
        key = _key(login, self._password)
        client = paramiko.SSHClient()
        for path in (self.known_hosts, _SYSTEM_KNOWN_HOSTS):
            if path.exists():
                add_known(client.get_host_keys(), path.read_text(errors="replace"))
        client.set_missing_host_key_policy(_Learn(self, who))
        with _translated(who, login, self.known_hosts), contextlib.ExitStack() as undo:
            undo.callback(client.close)
            sock = _through(via, login, deadline) if via else _connected(login, deadline)
            undo.callback(sock.close)
            client.connect(
                login.address,
                login.port,
                login.user,
                self._password.reveal() if self._password else None,
                key,
                None,
                deadline.remaining_s(),
                allow_agent=key is None,
                look_for_keys=key is None,
                sock=sock,
                banner_timeout=deadline.remaining_s(),
                auth_timeout=deadline.remaining_s(),
            )
            transport = client.get_transport()
            assert transport is not None
            transport.set_keepalive(_KEEPALIVE_S)
            undo.pop_all()
        return client

    def learn(self, who: str, hostname: str, key: paramiko.PKey) -> None:
        """Add a key to known_hosts, if that was asked for.

        Raises:
            UsageError: it was not, or the key was revoked.
        """
        if not self.accept_new:
            raise UsageError(
                f"{who}: its host key {key.fingerprint} is not in {self.known_hosts}; "
                "compare it and log in once by hand, or give --accept-new"
            )
        line = f"{hostname} {key.get_name()} {key.get_base64()}\n"
        with self._lock:
            self.known_hosts.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with self.known_hosts.open("a+") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                file.seek(0)
                lines = file.read().splitlines(keepends=True)
                if key.get_base64() in revoked_keys(lines):
                    raise UsageError(f"{who}: its host key {key.fingerprint} is revoked in {self.known_hosts}")
                if line not in lines:
                    file.write(line if not lines or lines[-1].endswith("\n") else "\n" + line)
        self._say(f"learned the host key of {who}: {key.fingerprint}, now in {self.known_hosts}")


def revoked_keys(lines: Iterable[str]) -> set[str]:
    """Pure: the keys, in base64, that a known_hosts file withdraws from everybody."""
    fields = [line.split() for line in lines if line.startswith("@revoked")]
    return {words[3] for words in fields if len(words) > 3}  # noqa: PLR2004 - marker, names, type, key


def add_known(keys: paramiko.HostKeys, text: str) -> None:
    """What a known_hosts file says, but for keys that it revokes; lines that nobody understands say nothing."""
    lines = text.splitlines()
    withdrawn = revoked_keys(lines)
    for line in lines:
        if not line.strip() or line.lstrip()[0] in "#@":
            continue
        try:
            entry = HostKeyEntry.from_line(line)
        except (InvalidHostKey, SSHException):
            continue
        if entry is not None and entry.key is not None and entry.key.get_base64() not in withdrawn:
            for name in entry.hostnames or ():
                keys.add(name, entry.key.get_name(), entry.key)


class _Learn(paramiko.MissingHostKeyPolicy):
    """Hands a key that no file names to the authenticator."""

    def __init__(self, authenticator: Authenticator, who: str) -> None:
        self._authenticator = authenticator
        self._who = who

    def missing_host_key(self, client: paramiko.SSHClient, hostname: str, key: paramiko.PKey) -> None:  # noqa: ARG002
        """See ``Authenticator.learn``."""
        self._authenticator.learn(self._who, hostname, key)


def _key(login: Login, password: Secret | None) -> paramiko.PKey | None:
    """The private key to log in with, unlocked by the password if it takes one; None leaves it to paramiko."""
    if login.key is None:
        return None
    path = Path(login.key).expanduser()
    why = "of no known kind"
    for kind in (paramiko.Ed25519Key, paramiko.ECDSAKey, paramiko.RSAKey):
        try:
            return kind.from_private_key_file(str(path), password.reveal() if password else None)
        except FileNotFoundError:
            raise UsageError(f"{login.address}: no private key at {path}; name another with --key or `key:`") from None
        except PasswordRequiredException:
            raise UsageError(f"{login.address}: private key {path} is encrypted; {_PASSWORD_HELP}") from None
        except OSError as error:
            why = error.strerror or str(error)
        except (SSHException, TypeError, ValueError):  # another kind of key, or another password
            continue
    raise UsageError(f"{login.address}: private key {path}: {why}, or the password does not open it")


def _connected(login: Login, deadline: Deadline) -> socket.socket:
    sock = socket.create_connection((login.address, login.port), deadline.remaining_s())
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # a command is several small packets each way
    # A host that vanished without a word is noticed by what it leaves unacknowledged.
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _SILENCE_MS)
    return sock


def _through(via: paramiko.SSHClient, login: Login, deadline: Deadline) -> paramiko.Channel:
    transport = via.get_transport()
    assert transport is not None
    return transport.open_channel(
        "direct-tcpip", (login.address, login.port), ("127.0.0.1", 0), timeout=deadline.remaining_s()
    )


@contextlib.contextmanager
def _translated(who: str, login: Login, known_hosts: Path) -> Iterator[None]:
    """The many ways in which a login fails, each as one line and the right error."""
    user = login.user or getpass.getuser()
    try:
        yield
    except BadHostKeyException as error:
        raise UsageError(
            f"{who}: its host key is {error.key.fingerprint}, but {known_hosts} has {error.expected_key.fingerprint}; "
            f"somebody may be in between; if it was installed anew: ssh-keygen -R '{known_as(login)}'"
        ) from None
    except BadAuthenticationType as error:
        raise UsageError(_refused(who, user, f"it takes {', '.join(error.allowed_types)} only")) from None
    except AuthenticationException as error:
        raise UsageError(_refused(who, user, str(error).strip(" ."))) from None
    except TimeoutError:
        raise DeployError(f"{who}: no answer within {CONNECT_TIMEOUT_S:g} s") from None
    except (SSHException, OSError, EOFError) as error:
        text = " ".join(str(error).split()) or type(error).__name__
        if "No authentication methods" in text:
            raise UsageError(_refused(who, user, "there was no key, no agent and no password to try")) from None
        raise DeployError(f"{who}: no SSH connection: {text}") from None
    except DeadlineError as error:
        raise DeployError(str(error)) from None


def _refused(who: str, user: str, why: str) -> str:
    return (
        f"{who}: login of {user} refused: {why}; give --user, --key or an agent, "
        f"or a password by --ask-password or {PASSWORD}"
    )


def address_of(name: str, machine: Machine) -> str:
    """The IPv4 address by which everybody reaches a machine.

    Raises:
        CapabilityError: the name has none here.
    """
    host = machine.login.address
    try:
        found = socket.getaddrinfo(host, None, socket.AF_INET, socket.SOCK_STREAM)
    except OSError as error:
        raise CapabilityError(
            f"{machine.where}: {name}: {host} has no IPv4 address here ({error.strerror}); write the address instead"
        ) from None
    return str(found[0][4][0])
