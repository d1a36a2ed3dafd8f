"""The options that say on what hosts a cluster runs: the cluster's, Docker's and those of machines by SSH."""

from typing import Final

import click

from chaos.cli.completion.values import offer
from chaos.cli.options.declared_option import option
from chaos.cli.options.sections import CLUSTER, DOCKER, SSH

HOSTS: Final = (
    option(CLUSTER, "ready_deadline_s", "Give up a cluster that is not ready after so long."),
    option(
        CLUSTER,
        "reuse",
        "Use a cluster that is already there; this file has its commands, by role (SSH).",
        shell_complete=offer("files"),
        metavar="FILE",
    ),
    option(DOCKER, "image", "Use this image instead of that of `chaos image build`.", metavar="NAME"),
    option(DOCKER, "cpus", "Limit each node to this many cores, e.g. 0.5.", metavar="NUMBER"),
    option(DOCKER, "memory", "Limit each node's memory, e.g. 512m.", metavar="SIZE"),
    option(
        DOCKER,
        "kill",
        "Let faults of nodes hit the process and its link, or the whole container.",
        type=click.Choice(["process", "container"]),
    ),
    option(
        SSH,
        "nodes_file",
        "Take the machines from this file: YAML, or one [user@]host[:port] a line.",
        shell_complete=offer("files"),
        metavar="FILE",
    ),
    option(SSH, "user", "Log in as this user where the file names none.", "-u", "--username", metavar="NAME"),
    option(SSH, "port", "Connect to this port where the file names none."),
    option(
        SSH,
        "key",
        "Log in with this private key; else with the agent and the usual files.",
        shell_complete=offer("files"),
        metavar="FILE",
    ),
    option(
        SSH,
        "known_hosts",
        "Check host keys against this file.  [default: ~/.ssh/known_hosts]",
        shell_complete=offer("files"),
        metavar="FILE",
    ),
    option(SSH, "accept_new", "Learn host keys that are not known yet.", is_flag=True),
    option(SSH, "ask_password", "Ask for a password; else take it from CHAOS_SSH_PASSWORD.", is_flag=True),
    option(SSH, "install", "Install the system on machines that lack it.", is_flag=True),
    option(SSH, "no_sudo", "Do without sudo where the user is not root.", is_flag=True),
    option(SSH, "watchdog_s", "Let a machine heal itself after so long without us.  [default: 30s]"),
)
