"""A scenario as it is written: nodes, steps in time, and expectations."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import msgspec

from events.device import DriftKind
from events.settings import SettingsObserved
from ops.files.manifests import read_manifests
from ops.files.reading import Unreadable, yaml_file
from ops.production.configuration.configuration_file import read_configuration
from ops.sandbox.scenario.left_out import nodes_for
from ops.sandbox.scenario.node_pools import UP_NODES, NodePool


class CardReport(msgspec.Struct, frozen=True, kw_only=True):
    """What the device plugin of a node reports of one card from then on."""

    node: str
    """Its name, such as `gpu-1`."""
    card: str
    """Its UUID, such as `GPU-gpu-1-0`."""
    healthy: bool
    """Whether the plugin says that it is well."""


class NodeReport(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of a node: whether anything is heard of it from then on, or that its object is deleted."""

    node: str
    """Its name."""
    ready: bool | None = None
    """Whether its kubelet answers."""
    gone: bool = False
    """The node is deleted; what runs there ends with it."""

    def __post_init__(self) -> None:
        """Raise `ValueError` where neither is said, or both."""
        if (self.ready is None) is not self.gone:
            raise ValueError(f"node {self.node}: say ready: true, ready: false or gone: true")


class JobStanding(StrEnum):
    """How a job stands."""

    WAITS = "waits"
    """It was tried, and was refused."""
    RUNS = "runs"
    """All of its pods are ready."""
    ENDED = "ended"


class Need(msgspec.Struct, frozen=True, kw_only=True):
    """What has to be seen on the log before a step: a job that stands so, or a difference about cards that is reported."""

    job: str = ""
    """The job that has to stand so, as `namespace/name`."""
    state: JobStanding = JobStanding.RUNS
    """How it has to stand."""
    drift: DriftKind | None = None
    """Or the kind of difference about cards that has to be reported."""
    holder: str = ""
    """Whose: a job, or `pod:namespace/name`."""
    cluster: str = ""
    """Or, of a job, the worker cluster for which it has to be chosen."""

    def describe(self) -> str:
        """The need as text."""
        where = f" in {self.cluster}" if self.cluster else ""
        return (
            f"{self.drift} of {self.holder} is reported"
            if self.drift is not None
            else f"{self.job} {self.state}{where}"
        )


class ScenarioWorker(msgspec.Struct, frozen=True, kw_only=True):
    """A worker cluster, in which jobs of the cluster run that the scenario is about."""

    name: str
    """Its name; a Secret of that name in the namespace kuelog-system holds its kubeconfig."""
    nodes: tuple[NodePool, ...]
    """The nodes of that cluster."""
    apply: tuple[str, ...] = ()
    """Files of the folder that are applied there before the first step."""


class LineReport(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a worker cluster can be reached from then on; it goes on by itself."""

    cluster: str
    """Its name."""
    reached: bool
    """Whether its line is whole."""


class ScenarioStep(msgspec.Struct, frozen=True, kw_only=True):
    """What happens at a time of the scenario, in seconds from its beginning, or later: once all that it needs is so."""

    at: int
    """Seconds of the scenario from its beginning, at the earliest."""
    after: tuple[Need, ...] = ()
    """What has to be so before."""
    apply: tuple[str, ...] = ()
    """Files of the folder that are applied."""
    cards: tuple[CardReport, ...] = ()
    """Cards that fail, or get well."""
    nodes: tuple[NodeReport, ...] = ()
    """Nodes that are lost, or found again."""
    cluster: str = ""
    """The worker cluster in which all this happens; without it, where jobs are submitted."""
    lines: tuple[LineReport, ...] = ()
    """Worker clusters that are cut off, or reached again."""
    say: str = ""
    """What is printed then."""


class Expectation(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One thing that has to be seen to happen to a job; what is named has to hold."""

    job: str
    """As `namespace/name`."""
    waits: bool = False
    """It is refused at first, and gets in later."""
    flavor: str = ""
    """The flavor that it gets, and no other."""
    borrows: bool = False
    """It borrows from its cohort."""
    reclaims: bool = False
    """It takes back what its queue had lent."""
    preempted_by: str = ""
    """The job for which it makes room."""
    runs_again: bool = False
    """It is admitted again after its preemption."""
    refused: str = ""
    """The reason for which it never gets in."""
    clusters: tuple[str, ...] = ()
    """The worker clusters that are chosen for it, one after the other."""
    finished: bool = False
    """It ends well."""


class DriftExpectation(msgspec.Struct, frozen=True, kw_only=True):
    """A difference that has to be reported, and to be resolved later; of a job, or `pod:namespace/name`."""

    kind: DriftKind
    """The kind of difference."""
    holder: str = ""
    """Whose; of anybody without it."""


class Script(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A whole scenario."""

    title: str
    """What it is about, in a line."""
    nodes: tuple[NodePool, ...]
    """The nodes of the cluster."""
    configuration: str = ""
    """The file of its folder with the configuration that is played under; without it the defaults are."""
    workers: tuple[ScenarioWorker, ...] = ()
    """Worker clusters, each with services and a log of its own."""
    steps: tuple[ScenarioStep, ...]
    """What happens, in order."""
    expect: tuple[Expectation, ...] = ()
    """What has to be seen to happen to jobs; without any, every job has to finish."""
    drift: tuple[DriftExpectation, ...] = ()
    """Differences about cards that have to be reported, and resolved."""
    returned: tuple[str, ...] = ()
    """Cards that have to come back into service."""
    short: tuple[str, ...] = ()
    """Flavors whose cards have to be reported short of their quota, and to cover it again."""
    agree: bool = False
    """Whether log and cluster have to agree about every card before each step and at the end."""
    clock_scale: Annotated[int, msgspec.Meta(ge=1)] = 10
    """How many seconds of the scenario a second of the wall is."""
    at_most: int = 600
    """Scenario seconds after which it is over in any case."""
    run_seconds: int = 0
    """How long pods run that do not say so themselves."""


def settings_of(script: Script, folder: Path) -> SettingsObserved | None:
    """The settings that a scenario names. Raises `ConfigurationBroken`."""
    return read_configuration(folder / script.configuration).settings if script.configuration else None


class ScenarioBroken(Exception):
    """A scenario file that can't be read."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{path}: {problem}")


def load(folder: Path) -> Script:
    """The scenario of a folder: its scenario.yaml, or all of its manifests at once, with nodes for their flavors.

    Raises `ScenarioBroken`, and `ManifestBroken` for manifests that can't be read.
    """
    path = folder / "scenario.yaml"
    if not folder.is_dir():
        raise ScenarioBroken(folder, "there is no such folder")
    if not path.exists():
        files = tuple(sorted(one.name for one in folder.glob("*.y*ml")))
        if not files:
            raise ScenarioBroken(folder, "holds no manifests")
        made = nodes_for(read_manifests([folder / name for name in files], loose=True), UP_NODES)
        return Script(
            title=f"the manifests of {folder.name}, as they are",
            nodes=(*UP_NODES, *made),
            steps=(ScenarioStep(at=0, apply=files),),
            run_seconds=30,
        )
    try:
        return msgspec.convert(yaml_file(path), Script)
    except Unreadable as problem:
        raise ScenarioBroken(path, problem.what) from problem
    except msgspec.ValidationError as problem:
        raise ScenarioBroken(path, str(problem)) from problem
