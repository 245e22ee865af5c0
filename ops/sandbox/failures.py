"""Failures of the sandbox that a person can do something about."""

from ops.sandbox.bench.load import LoadUnreadable
from ops.sandbox.bench.problems import ClusterInUse, KindsMissing, NobodyAdmits, NotMeasured, NotRolled
from ops.sandbox.scenario.node_pools import NodesBroken
from ops.sandbox.scenario.play import ManifestRefused, ScenarioStuck
from ops.sandbox.scenario.script import ScenarioBroken

SANDBOX_FAILURES: tuple[type[Exception], ...] = (
    ClusterInUse,
    KindsMissing,
    LoadUnreadable,
    ManifestRefused,
    NobodyAdmits,
    NodesBroken,
    NotMeasured,
    NotRolled,
    ScenarioBroken,
    ScenarioStuck,
)
