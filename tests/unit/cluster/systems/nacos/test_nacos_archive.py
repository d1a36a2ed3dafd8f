"""How a server's command finds its program and the archive of its classes, and what is said where none can be made."""

import subprocess

import pytest
from system_view import view_of

from chaos.core.errors import DeployError
from cluster.systems.nacos import archive
from cluster.systems.nacos.programs import WHOLE
from cluster.systems.nacos.system import Nacos

JAVA = '#!/bin/sh\necho "$@"\n'


@pytest.fixture
def artefacts(tmp_path):
    """Jars, whose names a shell of another language would sort otherwise."""
    lib = tmp_path / "art" / "lib"
    lib.mkdir(parents=True)
    for name in ("b.jar", "A.jar", "chaos.jar"):
        (lib / name).touch()
    return lib.parent


def started(tmp_path, artefacts):
    """The arguments that the start of a server gives to Java, once the server is started for the second time."""
    home, programs = tmp_path / "home", tmp_path / "bin"
    home.mkdir()
    programs.mkdir()
    (programs / "java").write_text(JAVA)
    (programs / "java").chmod(0o755)
    view = view_of(Nacos())
    made = Nacos().launch(view.nodes[0], str(home), str(artefacts), view)
    environment = {**made.env, "PATH": f"{programs}:/usr/bin:/bin"}
    for _ in range(2):
        done = subprocess.run(made.argv, cwd=home, env=environment, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


def test_jars_are_named_alike_wherever_they_are(tmp_path, artefacts):
    arguments = started(tmp_path, artefacts)
    assert arguments[-3:] == ["-cp", "lib/A.jar:lib/b.jar:lib/chaos.jar", "NacosNode"]
    assert (tmp_path / "home" / "lib" / "A.jar").exists()
    assert not [one for one in arguments if "Archive" in one], "there is none"


def test_an_archive_is_used_if_there_is_one(tmp_path, artefacts):
    (artefacts / archive.ARCHIVE).touch()
    assert started(tmp_path, artefacts)[0] == f"-XX:SharedArchiveFile={artefacts}/nacos.jsa"


def test_a_distribution_goes_before_jars(tmp_path, artefacts):
    (artefacts / archive.ARCHIVE).touch()
    (artefacts / WHOLE).parent.mkdir()
    (artefacts / WHOLE).touch()
    arguments = started(tmp_path, artefacts)
    assert arguments[-2:] == ["-jar", f"{artefacts}/{WHOLE}"]
    assert not [one for one in arguments if "Archive" in one], "it has other classes"


def test_a_start_that_cannot_be_compiled_is_told_in_a_line(tmp_path, artefacts, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DeployError, match=r"^NacosNode\.java cannot be compiled: java: .*No such file or directory.*$"):
        archive.finish(artefacts)


def test_without_a_network_of_its_own_there_is_no_archive_and_the_log_says_why(tmp_path, artefacts, monkeypatch):
    programs = tmp_path / "bin"
    programs.mkdir()
    compiler = 'while [ "$1" != -d ]; do shift; done; mkdir -p "$2"; touch "$2/NacosNode.class"'
    (programs / "java").write_text(f"#!/bin/sh\n{compiler}\n")
    (programs / "unshare").write_text("#!/bin/sh\necho unshare failed: Operation not permitted; exit 1\n")
    for program in programs.iterdir():
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    archive.finish(artefacts)
    assert not (artefacts / archive.ARCHIVE).exists()
    assert (artefacts / archive.LOG).read_text() == "unshare failed: Operation not permitted\n"
    assert (artefacts / "lib" / "chaos-nacos-node.jar").exists()


def test_another_start_has_another_folder_in_the_cache(tmp_path, monkeypatch):
    from cluster.systems.nacos import programs

    before = programs.distribution(programs.VERSION).pom
    (tmp_path / "NacosNode.java").write_text("class NacosNode {}")
    monkeypatch.setattr(programs, "SOURCE", tmp_path / "NacosNode.java")
    assert programs.distribution(programs.VERSION).pom != before
