"""Whether the quota of a queue follows that of the clusters in which its workloads run, and what it is by that.

Rule: docs/rules/multikueue.md#quota
"""

import pytest
from msgspec.structs import replace

from events.amount import UNLIMITED
from events.control import ObjectRemoved
from events.multikueue import (
    MultiKueueClusterObserved,
    MultiKueueConfigObserved,
    MultiKueueSettings,
    QuotaAutomationEnded,
    QuotaAutomationSettled,
    RemoteQueue,
    RemoteQueuesObserved,
)
from events.quota import (
    AdmissionCheckObserved,
    CheckParameters,
    CheckRule,
    ClusterQueueObserved,
    FlavorObserved,
    FlavorQuotas,
    LocalQueueObserved,
    Quota,
    ResourceGroup,
)
from events.settings import SettingsObserved
from projections.checks.quota_automation import GATE, automation_of, followed_local_queues, quotas_to_set
from projections.snapshot import tables_of, world_of
from projections.state_hash import state_hash
from tests.projections.fair_sharing.cohort_world import CohortWorld

ON = SettingsObserved(multikueue=MultiKueueSettings(), gates={GATE: True})
PARAMETERS = CheckParameters(group="kueue.x-k8s.io", kind="MultiKueueConfig", name="all")
CHECK = AdmissionCheckObserved(name="elsewhere", controller="kueue.x-k8s.io/multikueue", parameters=PARAMETERS)
CONFIG = MultiKueueConfigObserved(name="all", clusters=("w1", "w2"), automated=True)
OWN = Quota(resource="cpu", nominal=1_000, borrowing_limit=500)
QUEUE = ClusterQueueObserved(
    name="cq",
    uid="u",
    groups=(
        ResourceGroup(
            resources=("cpu", "memory"),
            flavors=(FlavorQuotas(flavor="default", quotas=(OWN, Quota(resource="memory", nominal=7))),),
        ),
    ),
    checks=(CheckRule(name="elsewhere"),),
)
ONE_FLAVOR = "Quota automation requires that the manager-side ClusterQueue has exactly one ResourceFlavor"


def cluster(name: str, *, active: bool = True) -> MultiKueueClusterObserved:
    return MultiKueueClusterObserved(name=name, location=name, active=active, since=1)


def there(name: str, *local_queues: str, **nominal: int) -> RemoteQueue:
    return RemoteQueue(name=name, local_queues=local_queues, nominal=nominal)


def told(name: str, *queues: RemoteQueue) -> RemoteQueuesObserved:
    return RemoteQueuesObserved(cluster=name, queues=queues)


def manager(settings: SettingsObserved = ON) -> CohortWorld:
    at = CohortWorld(settings)
    for fact in (
        FlavorObserved(name="default"),
        CHECK,
        CONFIG,
        cluster("w1"),
        cluster("w2"),
        QUEUE,
        LocalQueueObserved(namespace="team", name="lq", cluster_queue="cq"),
        LocalQueueObserved(namespace="team", name="other", cluster_queue="cq"),
        LocalQueueObserved(namespace="team", name="foreign", cluster_queue="another"),
    ):
        at.fold(fact)
    return at


def found(at: CohortWorld) -> QuotaAutomationSettled:
    settled = automation_of(at.world, "cq")
    assert settled is not None
    return settled


def test_quota_is_the_sum_over_the_queues_to_which_namesakes_lead_each_once() -> None:
    at = manager()
    at.fold(told("w1", there("a", "team/lq", "team/other", cpu=4_000, memory=5), there("b", "team/foreign", cpu=900)))
    at.fold(told("w2", there("a", "team/other", cpu=1_500), there("c", "team/lq", cpu=100)))
    assert found(at) == QuotaAutomationSettled(
        cluster_queue="cq",
        reason="QuotaAutomated",
        message="ClusterQueue quota is automatically managed based on MultiKueue workers.",
        nominal={"cpu": 5_600, "memory": 5},
        by_cluster={"w1": {"cpu": 4_000, "memory": 5}, "w2": {"cpu": 1_600}},
    )


def test_what_no_worker_has_is_none_and_what_is_unlimited_stays_so() -> None:
    at = manager()
    at.fold(told("w1", there("a", "team/lq", memory=UNLIMITED)))
    at.fold(told("w2", there("a", "team/lq", memory=5)))
    assert found(at).nominal == {"cpu": 0, "memory": UNLIMITED}


def test_a_cluster_that_is_lost_is_left_out_and_counts_again_when_it_is_back() -> None:
    at = manager()
    at.fold(told("w1", there("a", "team/lq", cpu=4_000)))
    at.fold(told("w2", there("a", "team/lq", cpu=1_000)))
    at.fold(cluster("w1", active=False))
    assert (found(at).nominal["cpu"], list(found(at).by_cluster)) == (1_000, ["w2"])
    at.fold(cluster("w1"))
    assert found(at).nominal["cpu"] == 5_000
    at.fold(ObjectRemoved(kind="MultiKueueCluster", namespace="", name="w1"))
    assert found(at).nominal["cpu"] == 1_000


def test_while_a_cluster_is_connected_that_has_told_nothing_yet_what_was_decided_stands() -> None:
    at = manager()
    at.fold(told("w1", there("a", "team/lq", cpu=4_000)))
    assert automation_of(at.world, "cq") is None
    at.fold(cluster("w2", active=False))
    before = found(at)
    at.fold(before)
    at.fold(cluster("w2"))
    assert found(at) == before
    at.fold(told("w2"))
    assert found(at).by_cluster == {"w1": {"cpu": 4_000}, "w2": {}}


def test_what_is_told_of_a_cluster_that_is_gone_counts_no_more_when_another_of_its_name_comes() -> None:
    at = manager()
    at.fold(cluster("w2", active=False))
    at.fold(told("w1", there("a", "team/lq", cpu=4_000)))
    at.fold(ObjectRemoved(kind="MultiKueueCluster", namespace="", name="w1"))
    at.fold(told("w1", there("a", "team/lq", cpu=4_000)))
    at.fold(cluster("w1"))
    assert automation_of(at.world, "cq") is None


COVERED = (("cpu",), ("cpu", "memory", "pods"), ("cpu", "pods"))
TWO_FLAVORS = replace(QUEUE.groups[0], flavors=(*QUEUE.groups[0].flavors, FlavorQuotas(flavor="spot", quotas=())))


@pytest.mark.parametrize(
    ("fact", "reason", "message"),
    [
        (
            ObjectRemoved(kind="MultiKueueConfig", namespace="", name="all"),
            "UnsupportedConfiguration",
            "The referenced MultiKueueConfig was not found.",
        ),
        (replace(CHECK, parameters=None), "UnsupportedConfiguration", "The referenced MultiKueueConfig was not found."),
        (
            replace(CONFIG, automated=False),
            "NotRequested",
            "MultiKueue manager quota automation has not been requested.",
        ),
        (replace(QUEUE, groups=()), "UnsupportedConfiguration", ONE_FLAVOR),
        (replace(QUEUE, groups=(replace(QUEUE.groups[0], flavors=()),)), "UnsupportedConfiguration", ONE_FLAVOR),
        (replace(QUEUE, groups=(*QUEUE.groups, *QUEUE.groups)), "UnsupportedConfiguration", ONE_FLAVOR),
        (replace(QUEUE, groups=(TWO_FLAVORS,)), "UnsupportedConfiguration", ONE_FLAVOR),
        (
            told("w2", there("c", "team/lq", pods=3, gpu=1)),
            "UnsupportedConfiguration",
            "manager-side coveredResources is missing resources configured on workers: [gpu pods]",
        ),
    ],
)
def test_why_quota_follows_nobody_is_said_in_kueue_s_words(fact: object, reason: str, message: str) -> None:
    at = manager()
    at.fold(told("w1", there("a", "team/lq", cpu=4_000)))
    at.fold(told("w2"))
    at.fold(fact)  # pyright: ignore[reportArgumentType]
    assert (found(at).reason, found(at).message, found(at).nominal) == (reason, message, {})
    counted = {"w1": {"cpu": 4_000}, "w2": {"gpu": 1, "pods": 3}} if "missing" in message else {}
    assert found(at).by_cluster == counted


@pytest.mark.parametrize(
    "fact",
    [
        SettingsObserved(multikueue=MultiKueueSettings()),
        SettingsObserved(gates={GATE: True}),
        replace(QUEUE, checks=()),
        replace(CHECK, controller="example.com/other"),
        ObjectRemoved(kind="AdmissionCheck", namespace="", name="elsewhere"),
        ObjectRemoved(kind="ClusterQueue", namespace="", name="cq"),
    ],
)
def test_without_the_gate_or_a_check_of_other_clusters_nobody_asks(fact: object) -> None:
    at = manager()
    for name in ("w1", "w2"):
        at.fold(told(name))
    at.fold(fact)  # pyright: ignore[reportArgumentType]
    assert automation_of(at.world, "cq") is None
    assert followed_local_queues(at.world) is None


def test_those_local_queues_are_asked_for_whose_queue_follows() -> None:
    at = manager()
    assert followed_local_queues(at.world) == {"team/lq", "team/other"}
    at.fold(replace(CONFIG, automated=False))
    assert followed_local_queues(at.world) is None


def test_quota_is_set_without_limits_where_it_is_another() -> None:
    at = manager()
    assert quotas_to_set(at.world, "cq") is None, "nothing was decided"
    at.fold(told("w1", there("a", "team/lq", cpu=1_000, memory=7)))
    at.fold(told("w2"))
    at.fold(found(at))
    wanted = (Quota(resource="cpu", nominal=1_000), Quota(resource="memory", nominal=7))
    assert quotas_to_set(at.world, "cq") == wanted, "the limit goes"
    group = QUEUE.groups[0]
    at.fold(replace(QUEUE, groups=(replace(group, flavors=(FlavorQuotas(flavor="default", quotas=wanted),)),)))
    assert quotas_to_set(at.world, "cq") is None
    at.fold(QUEUE)
    assert quotas_to_set(at.world, "cq") == wanted
    at.fold(QuotaAutomationEnded(cluster_queue="cq"))
    assert quotas_to_set(at.world, "cq") is None


@pytest.mark.parametrize(
    "groups",
    [
        (),
        (replace(QUEUE.groups[0], flavors=()),),
        (TWO_FLAVORS,),
        (*QUEUE.groups, *QUEUE.groups),
        *((replace(QUEUE.groups[0], resources=covered),) for covered in COVERED),
    ],
)
def test_quota_that_was_decided_is_not_set_once_the_queue_is_such_that_it_is_decided_about_first(
    groups: tuple[ResourceGroup, ...],
) -> None:
    at = manager()
    at.fold(told("w1", there("a", "team/lq", cpu=1_000)))
    at.fold(told("w2"))
    at.fold(found(at))
    assert quotas_to_set(at.world, "cq") is not None
    at.fold(replace(QUEUE, groups=groups))
    assert quotas_to_set(at.world, "cq") is None


def test_quota_that_follows_no_more_stays_as_it_is() -> None:
    at = manager()
    at.fold(replace(CONFIG, automated=False))
    at.fold(found(at))
    assert quotas_to_set(at.world, "cq") is None


@pytest.mark.parametrize("kind", ["AdmissionCheck", "MultiKueueConfig", "MultiKueueCluster", "ClusterQueue"])
def test_an_object_that_goes_takes_nothing_along_of_another_kind_that_has_its_name(kind: str) -> None:
    at = manager()
    for one in ("cq", "w2"):
        at.fold(told("w1"))
        at.fold(told("w2"))
        at.fold(found(at))
        at.fold(ObjectRemoved(kind=kind, namespace="", name=one))
        gone = (kind, one)
        assert ("cq" in at.world.quota_automation) is (gone != ("ClusterQueue", "cq"))
        assert ("w2" in at.world.remote_queues) is (gone != ("MultiKueueCluster", "w2"))
        at.fold(QUEUE)


def test_what_was_told_and_decided_is_saved_with_the_world() -> None:
    at = manager()
    at.fold(told("w1", there("a", "team/lq", cpu=1_000)))
    at.fold(told("w2"))
    before = state_hash(at.world)
    at.fold(found(at))
    assert state_hash(at.world) != before
    before = state_hash(at.world)
    at.fold(told("w2", there("a", "team/lq", cpu=1_000)))
    assert state_hash(at.world) != before
    again = world_of(tables_of(at.world))
    assert state_hash(again) == state_hash(at.world)
    assert again.quota_automation == at.world.quota_automation and again.remote_queues == at.world.remote_queues
