"""The cache of programs: complete or absent. A script named apt-get stands in for apt; dpkg-deb is the real one."""

import subprocess
from pathlib import Path

import pytest

from chaos.core.errors import CapabilityError, DeployError
from cluster.systems._shared.debian import Package, unpack_package

ETCD = Package("etcd", "etcd-server", "3.4.23", "8 MB")
APT = '#!/bin/sh\necho "$@" >> "$CALLS"\n'


@pytest.fixture
def place(tmp_path):
    """An environment with a cache, and an apt-get that gives a package of one program."""
    program = tmp_path / "tree/usr/bin/etcd"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    control = tmp_path / "tree/DEBIAN/control"
    control.parent.mkdir()
    control.write_text("Package: etcd-server\nVersion: 3.4.23-4\nArchitecture: all\nMaintainer: x\nDescription: x\n")
    subprocess.run(["dpkg-deb", "-b", tmp_path / "tree", tmp_path / "made.deb"], check=True, capture_output=True)
    (tmp_path / "tools").mkdir()
    place = {
        "PATH": f"{tmp_path}/tools:/usr/bin:/bin",
        "CHAOS_CACHE": str(tmp_path / "cache"),
        "CALLS": str(tmp_path / "calls"),
        "MADE": str(tmp_path / "made.deb"),
        "TOOLS": str(tmp_path / "tools"),
    }
    apt(place, 'cp "$MADE" etcd-server_3.4.23-4_all.deb')
    return place


def apt(place, does):
    path = Path(place["TOOLS"]) / "apt-get"
    path.write_text(f"{APT}{does}\n")
    path.chmod(0o755)


def test_the_package_is_unpacked_once(place):
    said = []
    folder = unpack_package(ETCD, said.append, place)
    assert (folder / "etcd").stat().st_mode & 0o111
    assert unpack_package(ETCD, said.append, place) == folder
    assert len(said) == 1
    assert Path(place["CALLS"]).read_text() == f"download etcd-server={ETCD.version}*\n"
    assert [path.name for path in folder.parent.iterdir()] == [folder.name], "nothing half-done stays"


def test_without_lists_of_its_own_the_machine_gives_the_package_all_the_same(place):
    apt(place, 'case "$*" in *Dir::State::Lists*) cp "$MADE" etcd-server_3.4.23-4_all.deb;; *) exit 100;; esac')
    folder = unpack_package(ETCD, print, place)
    assert (folder / "etcd").exists()
    plain, update, download = Path(place["CALLS"]).read_text().splitlines()
    assert plain == "download etcd-server=3.4.23*"
    assert update.startswith("-o Dir::State::Lists=")
    assert update.endswith(" update")
    assert download.endswith(" download etcd-server=3.4.23*")
    assert [path.name for path in folder.parent.iterdir()] == [folder.name], "nor do the lists stay"


def test_a_version_that_apt_does_not_know(place):
    apt(place, "echo \"E: Version '3.4.23*' for 'etcd-server' was not found\" >&2; exit 100")
    with pytest.raises(CapabilityError, match="was not found; the sources of Debian 12 have it"):
        unpack_package(ETCD, print, place)
    assert [*Path(place["CHAOS_CACHE"]).iterdir()] == []


def test_a_package_that_cannot_be_unpacked(place):
    apt(place, "echo nonsense > etcd-server_3.4.23-4_all.deb")
    with pytest.raises(DeployError, match="cannot be unpacked"):
        unpack_package(ETCD, print, place)


def test_a_machine_without_apt(place):
    with pytest.raises(CapabilityError, match="here is no apt-get; use Debian 12"):
        unpack_package(ETCD, print, {**place, "PATH": "/nowhere"})


def test_a_cache_that_cannot_be_written(place, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DeployError, match="make it writable or set CHAOS_CACHE"):
        unpack_package(ETCD, print, {**place, "CHAOS_CACHE": str(tmp_path / "file")})


def test_libraries_of_other_packages_are_kept_beside_the_programs(place):
    apt(place, 'for want in "$@"; do case "$want" in download) ;; *) cp "$MADE" "${want%%=*}.deb";; esac; done')
    library = Path(place["MADE"]).parent / "tree/usr/lib/x86_64-linux-gnu/libx.so.2.0"
    library.parent.mkdir(parents=True)
    library.write_text("code")
    library.with_name("libx.so.2").symlink_to("libx.so.2.0")
    tree = Path(place["MADE"]).parent / "tree"
    subprocess.run(["dpkg-deb", "-b", tree, place["MADE"]], check=True, capture_output=True)
    package = Package("etcd", "a", "5:3.4", "1 MB", beside=("b",), libraries=("libx2",))
    folder = unpack_package(package, print, place)
    assert folder.name.startswith("etcd-3.4-"), "a colon would end it where paths are listed"
    assert (folder / "lib/libx.so.2").read_text() == "code"
    assert Path(place["CALLS"]).read_text() == "download a=5:3.4* b=5:3.4* libx2\n"


def test_packages_with_versions_of_their_own_come_along(place):
    package = Package("etcd", "etcd-server", "3.4.23", "8 MB", others=(("etcd-client", "1:3.5"),))
    unpack_package(package, print, place)
    assert Path(place["CALLS"]).read_text() == "download etcd-server=3.4.23* etcd-client=1:3.5*\n"
