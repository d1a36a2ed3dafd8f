"""What systems need is looked for where they look for it, and nothing is fetched."""

import platform
from pathlib import Path

import pytest

from cluster.needs import Need, need_of
from cluster.systems._shared import debian, maven
from cluster.systems.etcd.system import PACKAGE
from cluster.systems.rocketmq.artefacts import DISTRIBUTION


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "tools").mkdir()
    return {"PATH": str(tmp_path / "tools"), "CHAOS_CACHE": str(tmp_path / "cache")}


def tools(environment: dict[str, str], *names: str) -> None:
    for name in names:
        path = Path(environment["PATH"]) / name
        path.write_text("#!/bin/sh\nexit 1\n")
        path.chmod(0o755)


def test_etcd_is_there_or_apt_can_fetch_it(environment: dict[str, str]) -> None:
    assert debian.needs(PACKAGE, environment) == Need(
        met=False, detail="it comes from Debian's etcd-server 3.4.23, and here is no apt-get", help="use Debian 12"
    )
    tools(environment, "apt-get", "dpkg-deb")
    fetched = debian.needs(PACKAGE, environment)
    assert fetched.met
    assert "the first run fetches Debian's etcd-server 3.4.23 by apt-get (8 MB) into " in fetched.detail
    folder = Path(environment["CHAOS_CACHE"]) / f"etcd-3.4.23-{platform.machine()}"
    folder.mkdir(parents=True)
    assert debian.needs(PACKAGE, environment) == Need(met=True, detail=f"3.4.23 in {folder}")
    assert debian.unpack_package(PACKAGE, print, environment) == folder, "a run looks there too"


def test_rocketmq_needs_java_and_its_jars_or_maven(environment: dict[str, str]) -> None:
    assert maven.needs(DISTRIBUTION, environment).help == "apt-get install openjdk-17-jre-headless"
    tools(environment, "java")
    without = maven.needs(DISTRIBUTION, environment)
    assert (without.met, without.help) == (False, "apt-get install maven")
    tools(environment, "mvn")
    assert maven.needs(DISTRIBUTION, environment).detail.startswith(
        "the first run fetches the jars of 5.5.0 by Maven into "
    )
    folder = maven.folder_in(DISTRIBUTION, Path(environment["CHAOS_CACHE"]))
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text('{"version": "5.5.0", "files": {}}')
    assert maven.needs(DISTRIBUTION, environment) == Need(met=True, detail=f"5.5.0 in {folder}")


def test_a_system_that_says_nothing_needs_nothing() -> None:
    assert need_of(object()) == Need(met=True, detail="nothing to fetch")
