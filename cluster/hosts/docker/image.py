"""Images for hosts in containers: what is in them, how they are made, which one a run takes.

The recipe is a Dockerfile of a few lines; where no registry can be reached the same packages are put together by
debootstrap and imported. An image is tagged with the hash of its recipe, so what was made once is found again and a
changed recipe never meets an old image. Systems' own files are not in it: they are mounted. Does not publish anything
and does not install tools.
"""

import contextlib
import hashlib
import io
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from chaos.core.clock import Deadline
from chaos.core.errors import CapabilityError, ChaosError, DeployError
from cluster.cleanup import run_records
from cluster.host import NodeSpec
from cluster.hosts.docker.engine import Engine

SUITE: Final = "bookworm"
BASE: Final = ("iproute2", "iptables", "procps", "python3")
"""What every host needs: the agent and the probes are Python, cuts are iptables, people look with ip and ps."""

PACKAGES: Final = {"java": "openjdk-17-jre-headless"}
"""Program → the package that has it, for what systems need beside the base."""

REPOSITORY: Final = "chaos-host"
SOURCES: Final = ("auto", "registry", "packages")
_BUILD_TIMEOUT_S: Final = 1200.0
_SAY_EVERY_S: Final = 30.0
_POLL_S: Final = 0.2
_LEFT_OUT: Final = ("./var/cache/apt/*", "./var/lib/apt/lists/*", "./usr/share/doc/*", "./usr/share/man/*", "./tmp/*")

# It mounts /proc and more below its target; a cleaner of the target must never see that, nor any of it outlive us.
_ALONE: Final = ("unshare", "--mount", "--pid", "--fork", "--kill-child")

Say = Callable[[str], None]


def packages_for(specs: Iterable[NodeSpec]) -> tuple[str, ...]:
    """Pure: the packages of an image on which all these nodes can run, as far as packages are known."""
    more = {PACKAGES[program] for spec in specs for program in spec.programs if program in PACKAGES}
    return (*BASE, *sorted(more))


def dockerfile(packages: Sequence[str]) -> str:
    """Pure: the recipe."""
    return (
        f"FROM debian:{SUITE}-slim\n"
        "RUN apt-get update \\\n"
        f" && apt-get install -y --no-install-recommends {' '.join(packages)} \\\n"
        " && rm -rf /var/lib/apt/lists/*\n"
    )


def tag_of(packages: Sequence[str]) -> str:
    """Pure: the image's name; it changes with the recipe."""
    return f"{REPOSITORY}:{hashlib.blake2b(dockerfile(packages).encode(), digest_size=6).hexdigest()}"


def find(engine: Engine, reference: str) -> dict[str, Any] | None:
    """What the engine knows of an image; None if it does not have it."""
    from docker.errors import ImageNotFound

    with engine.doing(f"looking for image {reference}"), contextlib.suppress(ImageNotFound):
        return dict(engine.api.inspect_image(reference))
    return None


def image_names(engine: Engine) -> list[str]:
    """The names of the images for hosts that the engine has."""
    with engine.doing("listing images"):
        return sorted(tag for image in engine.api.images(REPOSITORY) for tag in image.get("RepoTags") or ())


def build(engine: Engine, packages: Sequence[str], say: Say, source: str = "auto") -> str:
    """Make the image unless it is there; returns its name.

    ``source``: ``registry``, ``packages``, or ``auto`` for the first that works. ``say`` gets a line per step.

    Raises:
        CapabilityError: debootstrap is missing or may not run; the message ends with what helps.
        DeployError: it could not be made.
    """
    tag = tag_of(packages)
    if find(engine, tag) is not None:
        say(f"image    {tag} is there")
        return tag
    began = time.monotonic()
    if source != "packages":
        say(f"image    {tag}: building it on debian:{SUITE}-slim (once)")
        try:
            _from_registry(engine, packages, tag)
        except ChaosError as error:
            if source == "registry":
                raise
            say(f"image    no registry helps ({error})")
    if find(engine, tag) is None:
        _from_packages(engine, packages, tag, say)
    say(f"image    {tag} made in {time.monotonic() - began:.0f} s")
    return tag


def _from_registry(engine: Engine, packages: Sequence[str], tag: str) -> None:
    recipe = io.BytesIO(dockerfile(packages).encode())
    deadline = Deadline(f"image {tag} to be built", _BUILD_TIMEOUT_S)
    with engine.doing(f"building image {tag}"):
        for step in engine.api.build(fileobj=recipe, tag=tag, rm=True, forcerm=True, decode=True):
            if "error" in step:
                raise DeployError(f"docker: building image {tag}: {' '.join(str(step['error']).split())[:300]}")
            deadline.check(str(step.get("stream", "")).strip()[:100])


def _from_packages(engine: Engine, packages: Sequence[str], tag: str, say: Say) -> None:
    if shutil.which("debootstrap") is None:
        raise CapabilityError(f"docker: image {tag} needs debootstrap: `apt-get install debootstrap`")
    if os.geteuid() != 0:
        raise CapabilityError("docker: only root can make an image from Debian's packages: `sudo chaos image build`")
    say(f"image    {tag}: putting Debian's packages together with debootstrap (once)")
    folder = Path(tempfile.mkdtemp(prefix="image-", dir=run_records.folder().parent))  # /tmp may forbid devices
    try:
        include = f"--include={','.join(packages)}"
        _watch([*_ALONE, "debootstrap", "--variant=minbase", include, SUITE, str(folder / "root")], folder / "log", say)
        left_out = [f"--exclude={pattern}" for pattern in _LEFT_OUT]
        with (
            subprocess.Popen(
                ["tar", "-C", str(folder / "root"), "--numeric-owner", *left_out, "-c", "."], stdout=subprocess.PIPE
            ) as tar,
            engine.doing(f"importing image {tag}"),
        ):
            name, _, version = tag.partition(":")
            engine.api.import_image_from_stream(tar.stdout, repository=name, tag=version)
        if tar.returncode != 0 or find(engine, tag) is None:
            raise DeployError(f"docker: image {tag} could not be imported (tar ended with {tar.returncode})")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _watch(argv: Sequence[str], log: Path, say: Say) -> None:
    """Run a program that takes minutes, within a deadline, telling every now and then where it is."""
    what = argv[len(_ALONE)]
    deadline = Deadline(what, _BUILD_TIMEOUT_S)
    told = time.monotonic()
    with log.open("wb") as out, subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out) as program:
        try:
            while program.poll() is None:
                if deadline.expired():
                    deadline.check(_last(log))
                if time.monotonic() - told > _SAY_EVERY_S:
                    told = time.monotonic()
                    say(f"image    {_last(log)}")
                time.sleep(_POLL_S)
        except BaseException:
            program.kill()
            raise
    if program.returncode != 0:
        raise DeployError(f"{what}: exit {program.returncode}: {_last(log)}")


def _last(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()
    return lines[-1][:200] if lines else "(no output)"
