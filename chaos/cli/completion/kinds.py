"""The kinds of values that tab completion knows words for."""

from typing import Literal

Kind = Literal[
    "anomalies",
    "anomalies of the run",
    "backends",
    "bugs",
    "checks",
    "checks with commas",
    "consistency models with commas",
    "files",
    "folders",
    "matrices",
    "models",
    "nemeses",
    "nodes",
    "nodes of the run",
    "occasions",
    "one nemesis",
    "reporters",
    "reporters with commas",
    "runs",
    "runs or files",
    "settings",
    "systems",
    "words of the run",
    "workloads",
]
