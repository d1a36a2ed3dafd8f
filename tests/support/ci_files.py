"""The shell steps of the files under examples/ci, as their build servers would run them."""

import re
from typing import NamedTuple

import yaml
from repository import ROOT

FOLDER = ROOT / "examples" / "ci"
NAMES = ("github-actions.yml", "gitlab-ci.yml", "Jenkinsfile")
INSTALLS = "make setup"
"""A step with this installs chaos, which needs the network."""


class Step(NamedTuple):
    """Some lines of shell. ``always``: also after a step that failed."""

    script: str
    always: bool


def every_step(name: str) -> list[Step]:
    """The steps of a file in their order."""
    text = (FOLDER / name).read_text()
    return {"github-actions.yml": _github, "gitlab-ci.yml": _gitlab, "Jenkinsfile": _jenkins}[name](text)


def steps(name: str) -> list[Step]:
    """The steps of a file but for the installation, in their order."""
    return [step for step in every_step(name) if INSTALLS not in step.script]


def _github(text: str) -> list[Step]:
    jobs = yaml.safe_load(text)["jobs"].values()
    return [Step(one["run"], "if" in one) for job in jobs for one in job["steps"] if "run" in one]


def _gitlab(text: str) -> list[Step]:
    jobs = [job for job in yaml.safe_load(text).values() if isinstance(job, dict) and "script" in job]
    kinds = (("before_script", False), ("script", False), ("after_script", True))
    return [Step("\n".join(job[kind]), always) for job in jobs for kind, always in kinds if kind in job]


def _jenkins(text: str) -> list[Step]:
    before, _, after = text.partition("post {")
    scripts = re.compile(r"sh '''(.*?)'''", re.DOTALL)
    return [Step(one, always) for part, always in ((before, False), (after, True)) for one in scripts.findall(part)]
