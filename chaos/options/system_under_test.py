"""The system that an experiment tests, in its version."""

from chaos import plugins
from chaos.options.experiment import Experiment
from cluster.system import System
from cluster.versions import choose_version, variant_of


def system_of(experiment: Experiment) -> System:
    """The system of an experiment, in its version and built as its settings ask for.

    Raises:
        UsageError: the user's own build is not there any more, or not as it was.
    """
    own: System = plugins.load("systems", experiment.system)()
    return variant_of(choose_version(own, experiment.system_version, experiment.artifacts), experiment.settings)
