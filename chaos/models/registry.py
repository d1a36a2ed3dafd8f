"""The model of a run by its name."""

from chaos import plugins
from chaos.core.errors import HistoryError
from chaos.core.model import Model, word_table
from chaos.storage.runinfo import RunInfo


@plugins.cache_by_plugins
def model_named(name: str) -> Model:
    """The model of this name.

    Raises:
        UsageError: there is none.
    """
    model: Model = plugins.load("models", name)
    return model


def model_of(run: RunInfo) -> Model:
    """The model whose operations a run recorded.

    Raises:
        UsageError: there is no such model.
        HistoryError: its words had other numbers when the run was recorded.
    """
    model = model_named(run.model)
    known = word_table(model)
    for word, number in run.words.items():
        if known.get(word) != number:
            raise HistoryError(
                f"{run.id}: in its history {number} means {word}, in this chaos the model {run.model} has "
                f"{known.get(word, 'no such word')}; check it with the chaos that wrote it, {run.chaos_version}"
            )
    return model
