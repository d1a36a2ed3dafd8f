"""What systems are offered as: lists and the page of systems derive from it."""

import json

from click.testing import CliRunner
from repository import ROOT

from chaos import plugins
from chaos.cli import systems_page
from chaos.cli.inspect import list_command
from chaos.options.offers import offers
from chaos.testing.fake_system import FakeSystem


class Plain(FakeSystem):
    """A system in one version, whose clients know registers alone."""

    name = "plain"
    help = "of one version"
    at = None  # type: ignore[assignment] - nobody can have another one

    def operations(self, model, settings):
        return super().operations(model, settings) if model == "register" else frozenset()


def test_the_page_is_made_from_the_packages() -> None:
    assert (ROOT / "docs/reference/systems.md").read_text() == systems_page.page(), (
        "python -m chaos.cli.systems_page > docs/reference/systems.md"
    )


def test_every_system_says_what_its_clients_can_do_and_under_which_settings_too() -> None:
    found = {one.name: one for one in offers()}
    assert "idempotent" in found["pulsar"].workloads, "its trials name a setting for it"
    assert found["rabbitmq"].workloads == ("total-queue",)
    assert "queue" not in found["etcd"].workloads
    assert (found["redis"].others, found["redis"].build) == ("", "")
    assert found["etcd"].build == "the program etcd"


def test_a_plugin_is_listed_with_what_it_can_do() -> None:
    with plugins.offered("systems", "plain", Plain):
        (plain,) = [one for one in offers() if one.name == "plain"]
        lines = CliRunner().invoke(list_command, ["systems"], standalone_mode=False).output.splitlines()
        rows = json.loads(CliRunner().invoke(list_command, ["workloads", "--json"], standalone_mode=False).output)
    assert plain.workloads == ("register",)
    assert plain.others == ""
    assert any(line.split()[0] == "plain" and line.endswith("of one version") for line in lines)
    assert "plain" in next(row["systems"] for row in rows if row["name"] == "register")


class NotInstalled(type):
    """What its client needs is not there."""

    @property
    def help(cls) -> str:
        raise ImportError("No module named 'kazoo'")


def test_a_system_that_does_not_load_is_listed_with_its_error() -> None:
    with plugins.offered("systems", "broken", NotInstalled("Broken", (), {})):
        out = CliRunner().invoke(list_command, ["systems"], standalone_mode=False).output
    (line,) = [line for line in out.splitlines() if line.startswith("broken ")]
    assert line.endswith("ImportError: No module named 'kazoo'")
