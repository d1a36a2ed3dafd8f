"""examples/ci under the linters of their servers: actionlint for GitHub, and Groovy itself for the Jenkinsfile.

actionlint is built from the Go module proxy and Groovy comes by Maven, each once. Schemas: test_ci_examples.py.
"""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import py4j.java_gateway as java
import pyspark
import pytest
from ci_files import FOLDER, every_step
from repository import ROOT

from cluster.systems._shared import gomodules
from cluster.systems._shared.maven import Distribution, fetch, pom_of

pytestmark = [pytest.mark.e2e, pytest.mark.longer]

ACTIONLINT = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12"
GROOVY = Distribution("groovy", "Groovy", "5.0.8", "8 MB", pom_of("groovy", ["org.apache.groovy:groovy:5.0.8"]))
DEADLINE_S = 300

INSIDE = {
    "": {"pipeline"},
    "pipeline": {"agent", "environment", "options", "parameters", "triggers", "tools", "stages", "post", "libraries"},
    "pipeline/triggers": {"cron", "pollSCM", "upstream"},
    "pipeline/options": {"timeout", "timestamps", "buildDiscarder", "disableConcurrentBuilds", "retry"},
    "pipeline/stages": {"stage"},
    "pipeline/stages/stage": {"steps", "agent", "when", "environment", "options", "post", "tools", "input"},
    "pipeline/stages/stage/steps": {"sh"},
    "pipeline/post": {
        "always",
        "cleanup",
        "failure",
        "success",
        "unstable",
        "unsuccessful",
        "changed",
        "fixed",
        "aborted",
    },
    "pipeline/post/always": {"sh", "junit", "archiveArtifacts", "publishHTML"},
}
"""What the syntax of declarative pipelines lets stand where; of steps and triggers, those of Jenkins and its plugins
that the file says it needs."""


def actionlint(file: Path) -> subprocess.CompletedProcess[str]:
    argv = ["go", "run", ACTIONLINT, "-shellcheck=", "-pyflakes=", str(file)]
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=DEADLINE_S)


@pytest.fixture(scope="module")
def _go() -> None:
    """Go, which ``chaos doctor`` tells of; it fetches a later one by itself."""
    found = gomodules.go_found(os.environ)
    if (found is None or found < gomodules.GO_LEAST) and "CI" not in os.environ:
        pytest.skip(f"no Go here: {gomodules.GO_HELP}")


@pytest.mark.usefixtures("_go")
def test_actionlint_finds_nothing() -> None:
    done = actionlint(FOLDER / "github-actions.yml")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.usefixtures("_go")
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("steps.deployed.outputs", "steps.deploid.outputs"),
        ("!cancelled()", "!canceled()"),
        ("needs: matrix", "needs: matrx"),
        ("ubuntu-latest", "ubuntu-last"),
        ("17 2 * * *", "17 25 * * *"),
    ],
)
def test_actionlint_finds_what_the_schema_does_not(right: str, wrong: str, tmp_path: Path) -> None:
    text = (FOLDER / "github-actions.yml").read_text()
    assert right in text
    file = tmp_path / "nightly.yml"
    file.write_text(text.replace(right, wrong))
    assert actionlint(file).returncode == 1


@pytest.fixture(scope="module")
def groovy() -> Iterator[Any]:
    """A Groovy shell in a JVM of its own."""
    (jar,) = Path(pyspark.__file__).parent.glob("jars/py4j*.jar")
    jars = fetch(GROOVY, print)
    port = java.launch_gateway(jarpath=str(jar), classpath=f"{jars}/lib/*", die_on_exit=True)
    gateway = java.JavaGateway(gateway_parameters=java.GatewayParameters(port=port))
    yield gateway.jvm.groovy.lang.GroovyShell()
    gateway.shutdown()


def seen(groovy: Any, text: str) -> list[tuple[str, str]]:
    """What stands in a Jenkinsfile: the names around it and its own, and what it was given."""
    groovy.setVariable("jenkinsfile", text)
    found = groovy.evaluate((ROOT / "tests" / "support" / "jenkinsfile.groovy").read_text())
    return [(one[0], one[1]) for one in found]


def misplaced(rows: list[tuple[str, str]]) -> list[str]:
    """What may not stand where it does."""
    free = "pipeline/environment"  # has names of its own
    split = [path.rpartition("/")[::2] for path, _ in rows]
    return [f"{outer}/{name}" for outer, name in split if outer != free and name not in INSIDE.get(outer, set())]


def test_groovy_reads_the_jenkinsfile_and_every_part_stands_where_it_may(groovy: Any) -> None:
    rows = seen(groovy, (FOLDER / "Jenkinsfile").read_text())
    assert misplaced(rows) == []
    names = [path for path, _ in rows]
    assert {"pipeline/agent", "pipeline/stages/stage/steps", "pipeline/post/always"} <= set(names)
    shell = [text for path, text in rows if path.endswith("/sh")]
    assert shell == [step.script for step in every_step("Jenkinsfile")], "these are the steps that tests execute"


@pytest.mark.parametrize(
    ("right", "wrong"), [("steps {", "steps "), ("'''", "''"), ("'H 2 * * *')", "'H 2 * * *'"), ("junit '", "junit ''")]
)
def test_groovy_finds_what_it_cannot_read(right: str, wrong: str, groovy: Any) -> None:
    text = (FOLDER / "Jenkinsfile").read_text()
    assert right in text
    with pytest.raises(java.Py4JJavaError, match="MultipleCompilationErrorsException"):
        seen(groovy, text.replace(right, wrong, 1))


@pytest.mark.parametrize(
    ("right", "wrong"), [("stages {", "stagse {"), ("always {", "allways {"), ("    steps {", "    step {")]
)
def test_what_stands_where_it_may_not_is_found(right: str, wrong: str, groovy: Any) -> None:
    text = (FOLDER / "Jenkinsfile").read_text()
    assert right in text
    assert misplaced(seen(groovy, text.replace(right, wrong, 1))) != []
