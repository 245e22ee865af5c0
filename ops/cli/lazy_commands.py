"""The commands of `kuelog` without their code: it is imported when a command is called, so that help and completion are quick."""

import sys
from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup


class _Place(NamedTuple):
    """Where a command is, and what help says of it; a test holds the two together."""

    name: str
    module: str
    attribute: str
    """A typer app, or a function that is a command."""
    summary: str


COMMANDS = (
    _Place(
        "demo",
        "ops.cli.serving.run_commands",
        "demo",
        "Start a whole platform, play a scenario to its end, and prove the run from its log.",
    ),
    _Place(
        "lint",
        "ops.cli.serving.run_commands",
        "lint",
        "Name each mistake in manifests: file, line, what is wrong, what happens because of it, what to write instead.",
    ),
    _Place(
        "up",
        "ops.cli.serving.run_commands",
        "up",
        "Run everything from this machine: bus, services and, unless one is named, a cluster. Ctrl-C stops all of it.",
    ),
    _Place(
        "run",
        "ops.cli.serving.run_commands",
        "run",
        "Run one service against a common bus and a common cluster. Several replicas of any service are safe.",
    ),
    _Place(
        "drift",
        "ops.cli.devices.commands",
        "drift",
        "Where the log, HAMi's annotations and the pods that exist disagree about cards; exit code 1 if they do.",
    ),
    _Place(
        "visibility",
        "ops.cli.serving.visibility_commands",
        "visibility",
        "Serve visibility.kueue.x-k8s.io: who waits for a queue at which position.",
    ),
    _Place(
        "console",
        "ops.cli.serving.console_commands",
        "console",
        "Look at the log in a browser: queues, workloads, the life of each, and cards, now and at any past moment.",
    ),
    _Place(
        "top",
        "ops.cli.questions.commands",
        "top",
        "Who runs and who waits where, with which cards, and when those who wait may start; live on a terminal.",
    ),
    _Place(
        "replay",
        "ops.cli.questions.commands",
        "replay",
        "Fold the log to any point and print what was true; with --verify decide every decision again.",
    ),
    _Place(
        "history",
        "ops.cli.questions.commands",
        "history",
        "The life of an object, moment by moment, each with its place on the log, its cause and its trace.",
    ),
    _Place(
        "explain",
        "ops.cli.questions.commands",
        "explain",
        "Why a workload waits, in numbers, and what would let it in; why it had to stop, by whom, by which rule. Also of a queue.",
    ),
    _Place(
        "whatif",
        "ops.cli.questions.commands",
        "whatif",
        "Fork the log, change it and run on with recorded arrivals and run times in virtual time; print the differences.",
    ),
    _Place(
        "backup",
        "ops.cli.log.life",
        "backup",
        "Sign what there is and copy all of it, to a common end: streams, archive, witness with its private key, saved worlds.",
    ),
    _Place(
        "restore",
        "ops.cli.log.life",
        "restore",
        "Prove a backup, put it onto an empty bus with all of its sequences, and read it back; then services go on from it.",
    ),
    _Place(
        "audit",
        "ops.cli.audit.commands",
        "audit_app",
        "Prove that the log is what it was, hand out proofs, archive it, and ask it in SQL.",
    ),
    _Place(
        "bench",
        "ops.cli.bench.commands",
        "bench_app",
        "Measure the log, the replay, the decisions and the whole way of a job, in one run.",
    ),
    _Place(
        "bill",
        "ops.cli.billing.commands",
        "bill_app",
        "What was held of which cards for how long, and what it costs; exit code 1 if something in it has no price.",
    ),
    _Place(
        "budget",
        "ops.cli.billing.budget",
        "app",
        "Budgets: what is used of each and how long it lasts; approving of more.",
    ),
    _Place(
        "price",
        "ops.cli.billing.price_commands",
        "price_app",
        "Price lists: entered once, in force from a time on, never changed.",
    ),
    _Place(
        "account",
        "ops.cli.billing.price_commands",
        "account_app",
        "Accounts and cost centers: who pays for what, from a time on.",
    ),
    _Place(
        "devices",
        "ops.cli.devices.commands",
        "devices_app",
        "Every card with its slices; what is free in sum and in one piece; what flavors offer beside their quota.",
    ),
    _Place("deploy", "ops.cli.deploy_commands", "deploy_app", "Install kuelog in a cluster."),
    _Place("log", "ops.cli.log.commands", "log_app", "Look after the log itself."),
    _Place(
        "sites", "ops.cli.log.sites", "sites_app", "Logs of sites that are copied at a hub: set up, and how they stand."
    ),
    _Place(
        "adopt",
        "ops.cli.adopt",
        "adopt",
        "Record what a cluster of Kueue's holds as facts, and say what differs; what runs goes on.",
    ),
    _Place(
        "import-pods",
        "ops.cli.import_pods",
        "import_pods",
        "Bring pods that run and that no queue manages into queues: each gets a Workload that holds its quota, and runs on.",
    ),
    _Place(
        "populator",
        "ops.cli.serving.populator_commands",
        "populator",
        "Make a LocalQueue of one name in each namespace that a ClusterQueue selects, until Ctrl-C or SIGTERM; it deletes none.",
    ),
    _Place(
        "convert",
        "ops.cli.convert",
        "convert",
        "Write manifests of v1beta1 and v1alpha2 as v1beta2; everything else goes through as it is.",
    ),
    _Place("create", "ops.cli.kubectl.create", "app", "Create queues and flavors, as kueuectl does."),
    _Place("delete", "ops.cli.kubectl.change", "delete_app", "Delete queues, flavors and workloads, as kueuectl does."),
    _Place(
        "describe",
        "ops.cli.kubectl.describe",
        "app",
        "Show all of a queue, workload or flavor, as kubectl describe does.",
    ),
    _Place(
        "edit",
        "ops.cli.kubectl.pass_through",
        "edit_app",
        "Change queues, workloads and flavors in an editor: handed on to kubectl edit.",
    ),
    _Place(
        "get",
        "ops.cli.kubectl.pass_through",
        "get_app",
        "Show queues, workloads and flavors: handed on to kubectl get.",
    ),
    _Place(
        "list",
        "ops.cli.kubectl.list",
        "app",
        "List queues, workloads, flavors and the pods of a job, as kueuectl does.",
    ),
    _Place(
        "patch",
        "ops.cli.kubectl.pass_through",
        "patch_app",
        "Change fields of queues, workloads and flavors: handed on to kubectl patch.",
    ),
    _Place("resume", "ops.cli.kubectl.change", "resume_app", "Let queues and workloads go on, as kueuectl does."),
    _Place(
        "simulate",
        "ops.cli.simulate",
        "simulate",
        "Play whole platforms with every kind of fault, in virtual time, and hold them against the laws of admission.",
    ),
    _Place("stop", "ops.cli.kubectl.change", "stop_app", "Put queues and workloads on hold, as kueuectl does."),
    _Place(
        "version",
        "ops.cli.kubectl.version",
        "show_version",
        "Which version this is and by which rules it decides, and the images of the services in the cluster, if they are there.",
    ),
)


class LazyCommand(TyperCommand):
    """A command as help and completion see it; the real one takes its place when it is called."""

    def __init__(self, place: _Place) -> None:
        super().__init__(name=place.name, help=place.summary)
        self._place = place

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """The context of the real one, which is what is invoked or completed further."""
        return self.real().make_context(info_name, args, parent=parent, **extra)

    def real(self) -> Any:
        """The command itself, imported now."""
        found = getattr(import_module(self._place.module), self._place.attribute)
        app = typer.Typer(add_completion=False)
        if isinstance(found, typer.Typer):
            app = found
            app._add_completion = False  # pyright: ignore[reportPrivateUsage] - kuelog has its own
        else:
            app.command()(found)
        command = typer.main.get_command(app)
        command.name = self.name
        return command


class LazyGroup(TyperGroup):
    """All commands of kuelog, none of them imported yet."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for place in COMMANDS:
            self.add_command(LazyCommand(place))

    def main(self, *args: Any, **settings: Any) -> Any:
        """Run a command. What was asked wrongly is told in a box on a terminal, in plain lines elsewhere."""
        if not sys.stderr.isatty():
            self.rich_markup_mode = None
        return super().main(*args, **settings)
