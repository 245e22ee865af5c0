"""Whether a check of other clusters can be used, and which queues can't use it."""

from msgspec.structs import replace

from events.control import ObjectRemoved
from events.multikueue import MultiKueueClusterObserved, MultiKueueConfigObserved, MultiKueueSettings
from events.quota import AdmissionCheckObserved, CheckParameters, CheckRule, FlavorObserved
from events.settings import SettingsObserved
from projections.queues.active_condition import ActiveCondition, check_active, cluster_queue_active, is_ours
from tests.projections.fair_sharing.cohort_world import CohortWorld

SERVED = SettingsObserved(multikueue=MultiKueueSettings())
PARAMETERS = CheckParameters(group="kueue.x-k8s.io", kind="MultiKueueConfig", name="all")
CHECK = AdmissionCheckObserved(name="elsewhere", controller="kueue.x-k8s.io/multikueue", parameters=PARAMETERS)
CONFIG = MultiKueueConfigObserved(name="all", clusters=("w1", "w2"))


def manager(settings: SettingsObserved = SERVED) -> CohortWorld:
    at = CohortWorld(settings)
    at.fold(FlavorObserved(name="default"))
    at.fold(CHECK)
    return at


def cluster(name: str, *, active: bool) -> MultiKueueClusterObserved:
    return MultiKueueClusterObserved(name=name, location=f"{name}-kubeconfig", active=active, since=1)


def test_a_check_is_active_while_one_of_its_clusters_is_connected() -> None:
    at = manager()
    at.fold(CONFIG)
    assert check_active(at.world, "elsewhere") == ActiveCondition(
        False, "NoUsableClusters", "Missing clusters: [w1 w2]"
    )
    at.fold(cluster("w2", active=False))
    assert check_active(at.world, "elsewhere") == ActiveCondition(
        False, "NoUsableClusters", "Missing clusters: [w1], Inactive clusters: [w2]"
    )
    at.fold(cluster("w2", active=True))
    assert check_active(at.world, "elsewhere") == ActiveCondition(True, "SomeActiveClusters", "Missing clusters: [w1]")
    at.fold(cluster("w1", active=True))
    assert check_active(at.world, "elsewhere") == ActiveCondition(True, "Active", "The admission check is active")
    at.fold(ObjectRemoved(kind="MultiKueueCluster", namespace="", name="w2"))
    assert check_active(at.world, "elsewhere").message == "Missing clusters: [w2]"


def test_a_check_that_leads_to_no_configuration_says_why() -> None:
    at = manager()
    for parameters, problem in (
        (None, "missing parameters reference"),
        (replace(PARAMETERS, name=""), "empty name: bad parameters reference"),
        (replace(PARAMETERS, kind="X"), 'wrong kind "X", expecting "MultiKueueConfig": bad parameters reference'),
        (PARAMETERS, 'MultiKueueConfig.kueue.x-k8s.io "all" not found'),
    ):
        at.fold(replace(CHECK, parameters=parameters))
        message = f"Cannot load the AdmissionChecks parameters: {problem}"
        assert check_active(at.world, "elsewhere") == ActiveCondition(False, "BadConfig", message)


def test_where_nobody_here_dispatches_the_check_is_its_controller_s() -> None:
    at = manager(SettingsObserved())
    assert not is_ours(at.world, "elsewhere")
    assert check_active(at.world, "elsewhere").active, "as its controller says"


def test_who_waited_for_a_cluster_is_looked_at_when_it_is_connected() -> None:
    at = manager()
    at.fold(CONFIG)
    at.queue("cq", 1)
    at.fold(replace(at.world.cluster_queues["cq"], checks=(CheckRule(name="elsewhere"),)))
    at.door("lq", "cq")
    at.waiting("one", door="lq")
    assert cluster_queue_active(at.world, "cq").reason == "AdmissionCheckInactive"
    list(at.world.work.take("somebody"))
    at.fold(cluster("w1", active=True))
    assert list(at.world.work.take("somebody")) == ["team/one"]
    assert cluster_queue_active(at.world, "cq").active


def test_a_queue_takes_nothing_in_by_checks_that_can_t_go_together() -> None:
    at = manager()
    at.fold(CONFIG)
    at.fold(cluster("w1", active=True))
    at.fold(replace(CHECK, name="far"))
    at.fold(AdmissionCheckObserved(name="told", controller="example.com/told"))
    nodes = CheckParameters(group="kueue.x-k8s.io", kind="ProvisioningRequestConfig", name="none")
    asking = "kueue.x-k8s.io/provisioning-request"
    at.fold(AdmissionCheckObserved(name="nodes", controller=asking, parameters=nodes))
    at.queue("cq", 1)
    both = "Cannot use multiple MultiKueue AdmissionChecks on the same ClusterQueue, found: far,elsewhere"
    beside = "Cannot use both MultiKueue and ProvisioningRequest AdmissionChecks together, found: elsewhere, nodes"
    for rules, reason, message in (
        ((CheckRule(name="elsewhere"), CheckRule(name="told")), "Ready", ""),
        ((CheckRule(name="far"), CheckRule(name="elsewhere")), "MultipleMultiKueueAdmissionChecks", both),
        (
            (CheckRule(name="elsewhere", flavors=("default",)),),
            "MultiKueueAdmissionCheckAppliedPerFlavor",
            "Cannot specify MultiKueue AdmissionCheck per flavor, found: elsewhere",
        ),
        ((CheckRule(name="nodes"), CheckRule(name="elsewhere")), "AdmissionCheckInactive", beside),
    ):
        at.fold(replace(at.world.cluster_queues["cq"], checks=rules))
        found = cluster_queue_active(at.world, "cq")
        assert found.reason == reason
        assert message in found.message
