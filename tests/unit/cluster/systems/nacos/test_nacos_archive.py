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


def start(tmp_path, artefacts, java):
    """What becomes of the start of a server whose JVM is a shell script."""
    home, programs = tmp_path / "home", tmp_path / "bin"
    home.mkdir(exist_ok=True)
    programs.mkdir(exist_ok=True)
    (programs / "java").write_text(java)
    (programs / "java").chmod(0o755)
    view = view_of(Nacos())
    made = Nacos().launch(view.nodes[0], str(home), str(artefacts), view)
    environment = {**made.env, "PATH": f"{programs}:/usr/bin:/bin"}
    done = subprocess.run(made.argv, cwd=home, env=environment, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done


def started(tmp_path, artefacts):
    """The arguments that the start of a server gives to Java, once the server is started for the second time."""
    start(tmp_path, artefacts, JAVA)
    done = start(tmp_path, artefacts, JAVA)
    assert done.returncode == 0
    return done.stdout.split()


@pytest.mark.parametrize(("ends", "tries", "code"), [(1, 2, 0), (3, 4, 0), (9, 4, 75)])
def test_a_server_that_ends_before_it_serves_starts_again_a_few_times(tmp_path, artefacts, ends, tries, code):
    counted = f"echo >> tries; [ $(wc -l < tries) -gt {ends} ] || exit 75"
    done = start(tmp_path, artefacts, f"#!/bin/sh\n{counted}\n")
    assert done.returncode == code
    assert done.stdout.splitlines() == [
        f"chaos: Nacos ended before it served; start {number} of 4" for number in range(2, tries + 1)
    ]
    assert (tmp_path / "home" / "tries").read_text() == "\n" * tries


@pytest.mark.parametrize("code", [0, 1, 134])
def test_a_server_that_has_served_ends_where_it_ends(tmp_path, artefacts, code):
    """134: the JVM aborted."""
    done = start(tmp_path, artefacts, f"#!/bin/sh\nexit {code}\n")
    assert (done.returncode, done.stdout) == (code, "")


def test_the_node_ends_with_the_code_that_asks_for_another_start():
    assert f"ENDED_BEFORE_IT_SERVED = {archive.ENDED_BEFORE_IT_SERVED};" in archive.SOURCE.read_text()


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
