"""Which cluster tests run against: each test of a cluster on the embedded one, and on a real API server where one is named."""

import os
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

from ops.production.process.clock import ScaledClock
from tests.places import CONFORMANCE, KUEUE_DEFINITIONS, SCENARIOS
from tests.stage.api_server import ApiServer
from tests.stage.cluster import Cluster, Embedded
from tests.stage.definitions import definitions_of
from tests.stage.installation import Installation
from tests.stage.real import Real
from tests.stage.stage import SCALE, Stage

ASSETS, KUBECONFIG, HOST = "KUBEBUILDER_ASSETS", "KUELOG_TEST_KUBECONFIG", "KUELOG_TEST_HOST"
ABSENT = (
    f"no real API server: set {ASSETS} to a folder with kube-apiserver and etcd, "
    f"or {KUBECONFIG} to a kubeconfig of a cluster that tests may use"
)
BARE = (
    f"the test plays nodes, Jobs and pods itself: set {ASSETS} to a folder with kube-apiserver and etcd, and without "
    "kube-controller-manager and kube-scheduler"
)
PLAYED = (
    f"the test plays the kubelets, and those of the cluster that {KUBECONFIG} names would too: set {ASSETS} instead"
)

settings.register_profile(
    "each time other examples",
    parent=settings.get_profile("default"),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],  # On a busy machine both say something of the machine.
)
settings.register_profile(
    "ci",
    parent=settings.get_profile("each time other examples"),
    derandomize=True,  # What fails here fails by the change.
    print_blob=True,
)
settings.register_profile(
    "mutants",
    parent=settings.get_profile("ci"),
    phases=(Phase.explicit, Phase.generate),  # One example that fails is enough.
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "each time other examples"))

RECORDED = (
    ("recorded cases of Kueue and HAMi", CONFORMANCE, "KUELOG_CONFORMANCE"),
    ("Kueue's own definitions", KUEUE_DEFINITIONS, "KUELOG_KUEUE_DEFINITIONS"),
    ("scenarios", SCENARIOS, "KUELOG_SCENARIOS"),
)
"""What is not part of the project, where it is looked for, and which setting says where it is."""


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What a clone without the recorded cases could not hold itself against."""
    for what, folder, setting in RECORDED:
        if not folder.is_dir():
            terminalreporter.section(f"NOT CHECKED: {what}", sep="!", red=True, bold=True)
            terminalreporter.line(f"{folder} is not there; set {setting} to where it is.", red=True)


@pytest.fixture(scope="session")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """The real API server of this run."""
    folder = tmp_path_factory.mktemp("real")
    named, assets = os.environ.get(KUBECONFIG), os.environ.get(ASSETS)
    if named:
        found = Installation(Path(named), folder, host=os.environ.get(HOST, "localhost"))
        yield found
        found.stop()
    elif assets:
        server = ApiServer(Path(assets), folder / "server")
        server.start()
        found = Installation(server.kubeconfig, folder, server=server)
        yield found
        found.stop()
        server.stop()
    else:
        pytest.skip(ABSENT)


@pytest.fixture(scope="session")
def installation_on_kueues(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """Another real API server, on which kuelog is installed as where it takes Kueue's place: with Kueue's definitions."""
    assets = os.environ.get(ASSETS)
    if not assets:
        pytest.skip(ABSENT)
    defined = definitions_of("kueue")
    folder = tmp_path_factory.mktemp("kueues")
    server = ApiServer(Path(assets), folder / "server")
    server.start()
    found = Installation(server.kubeconfig, folder, server=server, defined=defined)
    yield found
    found.stop()
    server.stop()


@pytest.fixture
def clock() -> ScaledClock:
    """The clock of kuelog and of whoever plays in a test."""
    return ScaledClock(SCALE)


@pytest.fixture(params=["embedded", "real"])
def cluster_with(request: pytest.FixtureRequest, tmp_path: Path, clock: ScaledClock) -> Callable[..., Cluster]:
    """How the cluster under test is made: with webhooks or without, with controllers or without."""
    if request.param == "embedded":
        return partial(Embedded, tmp_path, clock)
    installation: Installation = request.getfixturevalue("installation")
    if installation.server is None and request.node.get_closest_marker("any_cluster") is None:
        pytest.skip(PLAYED)
    if request.node.get_closest_marker("bare_server") is not None and _has_controllers(installation):
        pytest.skip(BARE)
    return partial(Real, installation, clock)


def _has_controllers(installation: Installation) -> bool:
    server = installation.server
    return server is None or server.has("kube-controller-manager") or server.has("kube-scheduler")


@pytest.fixture
def cluster(cluster_with: Callable[..., Cluster]) -> Cluster:
    """A cluster that is not started yet."""
    return cluster_with()


@pytest.fixture
def real(installation: Installation, clock: ScaledClock) -> Real:
    """A real API server, for what only that does; not started yet."""
    if installation.server is None:
        pytest.skip(PLAYED)
    return Real(installation, clock)


@pytest.fixture
async def stage(tmp_path: Path, cluster: Cluster, clock: ScaledClock) -> AsyncIterator[Stage]:
    """A cluster with a node, a card and a queue, and a bus; no service runs yet."""
    async with Stage(tmp_path, cluster, clock) as found:
        yield found


@pytest.fixture
async def embedded_stage(tmp_path: Path, clock: ScaledClock) -> AsyncIterator[Stage]:
    """A stage on the embedded cluster, for what only that can be made to do."""
    async with Stage(tmp_path, Embedded(tmp_path, clock), clock) as found:
        yield found
