"""Workloads that run on other clusters: decided from facts, with neither bus nor cluster.

Rule: docs/rules/multikueue.md#dispatch
"""

import pytest
from msgspec.structs import replace

from events.application import DecisionApplied
from events.catalogue import AnyEvent
from events.control import ObjectRemoved
from events.multikueue import (
    INCREMENTAL,
    ClusterChosen,
    ClustersNamed,
    ClustersNominated,
    MultiKueueClusterObserved,
    MultiKueueConfigObserved,
    MultiKueueSettings,
    RemoteCheckSettled,
    RemoteCondition,
    RemoteGateOpened,
    RemoteJobRefused,
    RemoteJobSynced,
    RemoteWorkloadGone,
    RemoteWorkloadObserved,
)
from events.quota import AdmissionCheckObserved, CheckParameters, CheckRule, FlavorObserved, LocalQueueObserved
from events.settings import SettingsObserved
from events.topology import DelayedTopology, TopologyObserved, TopologyRequest
from events.upkeep import DiscardReason, WorkloadDiscarded
from events.variants import VariantSubmitted
from events.workload import (
    CheckReported,
    CheckState,
    CheckStatus,
    Owner,
    PodSetAssignment,
    PodsGone,
    WorkloadChanged,
    WorkloadDeleted,
    WorkloadFinished,
    WorkloadSubmitted,
)
from projections.checks.dispatch import ROUND
from projections.snapshot import tables_of, world_of
from projections.state_hash import state_hash
from projections.workloads.pod_sets_digest import pod_sets_digest
from projections.workloads.timeline import describe
from services.multikueue.decide import MultiKueue
from services.multikueue.plan import plan
from services.multikueue.reconcile import LOST, NO_LONGER_THERE
from services.multikueue.remote_plan import RemoteJob, RemotePlan
from tests.stories.small_world import Story, job, platform, queue

KEY = "team/a"
CONFIG = MultiKueueConfigObserved(name="all", clusters=("w2", "w1", "w3", "w4"))
PARAMETERS = CheckParameters(group="kueue.x-k8s.io", kind="MultiKueueConfig", name="all")
CHECK = AdmissionCheckObserved(name="mk", controller="kueue.x-k8s.io/multikueue", parameters=PARAMETERS)
LOST_AFTER = 900_000
IN_A_RACK = TopologyRequest(required="rack")


def cluster(name: str, *, active: bool = True, since: int = 0) -> MultiKueueClusterObserved:
    return MultiKueueClusterObserved(name=name, uid=f"uid-{name}", location=name, active=active, since=since)


def delegated(name: str = "a", **owner: str) -> WorkloadSubmitted:
    found = job(name)
    return replace(
        found,
        owner=replace(found.owner or Owner(kind="", name="", uid=""), **owner),
        spec=replace(found.spec, managed_by="kueue.x-k8s.io/multikueue"),
    )


class Manager(Story):
    """A queue whose workloads run on other clusters, of which w1 and w2 are connected."""

    def __init__(self, **rule: object) -> None:
        super().__init__()
        self.deciders.insert(1, MultiKueue())
        wanted = replace(queue("cq", nominal=8), checks=(CheckRule(name="mk"),))
        settings = SettingsObserved(multikueue=replace(MultiKueueSettings(), **rule))
        self.told(settings, *platform(), CONFIG, cluster("w1"), cluster("w2"), CHECK, wanted)
        self.version = 0

    def after(self, *facts: AnyEvent) -> list[AnyEvent]:
        self.told(*facts)
        return list(self.decided())

    def copy(
        self,
        name: str,
        *,
        counts: int = 1,
        asks: str = "",
        reason: str = "",
        max_execution: int | None = None,
        **since: int,
    ) -> list[AnyEvent]:
        """The copy in a cluster stands so: by condition, since when it is True."""
        self.version += 1
        conditions = {kind: RemoteCondition(since=at, reason=reason) for kind, at in since.items()}
        return self.after(
            RemoteWorkloadObserved(
                cluster=name,
                workload=KEY,
                uid=f"copy-{name}",
                version=self.version,
                queue="lq",
                counts={"main": counts},
                asks=asks,
                max_execution=max_execution,
                conditions=conditions,
            )
        )

    @property
    def check(self) -> tuple[CheckState, str]:
        found = self.world.workloads[KEY].checks["mk"]
        return found.state, found.message

    @property
    def assignments(self) -> tuple[PodSetAssignment, ...]:
        admission = self.world.workloads[KEY].admission
        assert admission is not None
        return admission.assignments

    @property
    def plan(self) -> RemotePlan:
        return plan(self.world, KEY)

    def synced(self) -> list[AnyEvent]:
        found = self.world.dispatches[KEY]
        return self.after(RemoteJobSynced(workload=KEY, cluster=found.cluster, decision=found.decision))


def kinds(said: list[AnyEvent]) -> list[str]:
    return [type(event).__name__ for event in said]


def running(**rule: object) -> Manager:
    told = Manager(**rule)
    told.after(delegated())
    told.copy("w1", QuotaReserved=1, Admitted=5)
    told.synced()
    assert told.world.workloads[KEY].admitted
    return told


def test_pods_that_run_elsewhere_are_placed_there_and_need_no_domain_here() -> None:
    """No node here has the topology by which they are placed: they lie on those of the worker."""
    told = Manager()
    flavor = FlavorObserved(name="v100", node_labels={"card": "v100"}, topology="racks")
    told.told(TopologyObserved(name="racks", levels=("rack", "kubernetes.io/hostname")), flavor)
    asked = delegated()
    (main,) = asked.spec.pod_sets
    told.after(replace(asked, spec=replace(asked.spec, pod_sets=(replace(main, topology=IN_A_RACK),))))
    (waiting,) = told.assignments
    assert waiting.topology is None and waiting.delayed_topology is DelayedTopology.PENDING
    told.copy("w1", QuotaReserved=1, Admitted=5)
    said = told.synced()
    assert "WorkloadAdmitted" in kinds(said) and "SecondPassFailed" not in kinds(said)
    assert ("placed", "by the cluster in which it runs") in [describe(one) for one in said]
    (placed,) = told.assignments
    assert placed == replace(waiting, delayed_topology=DelayedTopology.READY)
    said = told.after(RemoteWorkloadGone(cluster="w1", workload=KEY))
    said = [*said, *told.after(PodsGone(workload=KEY, decision=f"LOG_0/{told.world.workloads[KEY].stops.stopped_by}"))]
    assert "QuotaReserved" in kinds(said) and told.assignments == (waiting,), "it is placed anew, wherever it goes"


def test_no_cards_are_held_here_for_what_runs_elsewhere_and_it_waits_for_none() -> None:
    """The cards that are registered here are those of others; how many there are says nothing of the workers."""
    told = Manager()
    asked = delegated()
    (main,) = asked.spec.pod_sets
    said = told.after(replace(asked, spec=replace(asked.spec, pod_sets=(replace(main, count=8),))))
    assert "QuotaReserved" in kinds(said), "more than there are here"
    told.copy("w1", counts=8, QuotaReserved=1, Admitted=5)
    said = told.synced()
    assert "WorkloadAdmitted" in kinds(said) and not told.world.cards.holdings


def test_who_holds_quota_is_tried_in_all_clusters_that_are_connected() -> None:
    told = Manager()
    said = told.after(delegated())
    assert [one for one in said if isinstance(one, ClustersNominated)] == [
        ClustersNominated(workload=KEY, check="mk", clusters=("w1", "w2"))
    ]
    assert told.check == (CheckState.PENDING, "") and not told.world.workloads[KEY].admitted
    assert told.plan.make == ("w1", "w2")
    said = told.after(cluster("w3"))
    assert [one for one in said if isinstance(one, ClustersNominated)] == [
        ClustersNominated(workload=KEY, check="mk", clusters=("w1", "w2", "w3"))
    ]


def test_the_copy_that_was_admitted_first_wins_and_the_others_go_before_the_job_is_made() -> None:
    told = Manager()
    told.after(delegated())
    assert told.copy("w1", QuotaReserved=1) == [], "quota alone is not enough"
    assert told.copy("w2", QuotaReserved=2, Admitted=3) == [ClusterChosen(workload=KEY, check="mk", cluster="w2")]
    assert told.plan.remove == (("w1", "copy-w1"),)
    assert told.plan.run is None, "not before the loser is gone"
    assert told.copy("w1", QuotaReserved=1, Admitted=9) == [], "too late"
    told.after(RemoteWorkloadGone(cluster="w1", workload=KEY))
    decision = told.world.dispatches[KEY].decision
    assert told.plan.run == RemoteJob(cluster="w2", decision=decision, make=True)
    assert not told.world.workloads[KEY].admitted
    assert kinds(told.synced()) == ["RemoteCheckSettled", "WorkloadAdmitted"]
    assert told.check == (CheckState.READY, 'The workload was admitted on "w2"')
    assert told.plan.run == RemoteJob(cluster="w2", decision=decision, make=False)


def test_of_two_that_were_admitted_the_earlier_by_their_own_clocks_is_chosen() -> None:
    told = Manager()
    told.after(delegated())
    told.deciders = told.deciders[:1]
    told.copy("w1", Admitted=9)
    told.deciders.append(MultiKueue())
    assert told.copy("w2", Admitted=8) == [ClusterChosen(workload=KEY, check="mk", cluster="w2")]


def test_other_checks_are_waited_for_before_any_cluster_is_nominated() -> None:
    told = Manager()
    told.told(AdmissionCheckObserved(name="other", controller="example.com/x"))
    both = replace(told.world.cluster_queues["cq"], checks=(CheckRule(name="mk"), CheckRule(name="other")))
    said = told.after(both, delegated())
    assert "QuotaReserved" in kinds(said) and "ClustersNominated" not in kinds(said)


def test_the_incremental_dispatcher_nominates_a_few_more_each_round_in_the_order_of_the_list() -> None:
    told = Manager(dispatcher=INCREMENTAL, step_size=2)
    told.after(cluster("w3"), delegated())
    assert told.world.dispatches[KEY].clusters == ("w2", "w1")
    assert told.later(ROUND - 1000) == []
    told.later(1000)
    assert told.world.dispatches[KEY].clusters == ("w2", "w1", "w3", "w4")
    assert told.plan.make == ("w1", "w2", "w3"), "w4 can't be reached"
    assert told.later(2 * ROUND) == [], "there are no more"


def test_a_round_of_the_incremental_dispatcher_names_no_cluster_that_has_left_the_list() -> None:
    """There are twenty in a list, and no more may be named."""
    first, second = (("w1", *(f"{word}{number}" for number in range(19))) for word in ("a", "b"))
    told = Manager(dispatcher=INCREMENTAL, step_size=20)
    told.after(replace(CONFIG, clusters=first), delegated())
    assert told.world.dispatches[KEY].clusters == first
    told.after(replace(CONFIG, clusters=second))
    told.later(ROUND)
    assert told.world.dispatches[KEY].clusters == second


def test_without_its_gate_the_incremental_dispatcher_goes_by_the_names_of_the_clusters() -> None:
    told = Manager(dispatcher=INCREMENTAL, step_size=2)
    told.told(replace(told.world.settings, gates={"MultiKueueIncrementalDispatcherRespectConfigOrder": False}))
    told.after(delegated())
    assert told.world.dispatches[KEY].clusters == ("w1", "w2")


def test_a_choice_that_falls_through_takes_no_round_of_the_incremental_dispatcher_back() -> None:
    told = Manager(dispatcher=INCREMENTAL, step_size=2)
    told.after(cluster("w3"), cluster("w4"), delegated())
    told.later(ROUND)
    assert told.world.dispatches[KEY].clusters == ("w2", "w1", "w3", "w4")
    assert told.copy("w4", QuotaReserved=1, Admitted=5) == [ClusterChosen(workload=KEY, check="mk", cluster="w4")]
    said = told.copy("w4", QuotaReserved=1, Admitted=5, Evicted=6)
    assert said == [ClustersNominated(workload=KEY, check="mk", clusters=("w2", "w1", "w3", "w4"))]


@pytest.mark.parametrize(
    ("owner", "managed_by", "message"),
    [
        (
            {"kind": "SparkApplication", "api_version": "sparkoperator.k8s.io/v1beta2"},
            "",
            'No multikueue adapter found for owner kind "sparkoperator.k8s.io/v1beta2, Kind=SparkApplication"',
        ),
        (
            {},
            "somebody",
            "The owner is not managed by Kueue: "
            'Expecting spec.managedBy to be "kueue.x-k8s.io/multikueue" not "somebody"',
        ),
    ],
)
def test_a_job_that_may_not_run_elsewhere_is_rejected(owner: dict[str, str], managed_by: str, message: str) -> None:
    told = Manager()
    submitted = delegated(**owner)
    said = told.after(replace(submitted, spec=replace(submitted.spec, managed_by=managed_by)))
    settled = next(one.check for one in said if type(one).__name__ == "RemoteCheckSettled")
    assert (settled.state, settled.message) == (CheckState.REJECTED, f'{message}, Previously: "Pending"')
    assert not told.world.workloads[KEY].spec.active


def test_who_is_evicted_there_is_evicted_here_and_tried_anew_once_its_pods_are_gone() -> None:
    told = running()
    said = told.copy("w1", QuotaReserved=1, Admitted=5, Evicted=20)
    settled = next(one.check for one in said if type(one).__name__ == "RemoteCheckSettled")
    message = 'Workload evicted on worker cluster: "w1", resetting for re-admission. Previously: "Ready"'
    assert (settled.state, settled.message) == (CheckState.RETRY, message)
    assert told.world.workloads[KEY].evicted
    run = told.plan.run
    assert run is not None and run.stop.startswith("Evicted on manager: ") and not run.make
    said = told.after(PodsGone(workload=KEY, decision=f"LOG_0/{told.world.workloads[KEY].stops.stopped_by}"))
    assert "QuotaReleased" in kinds(said) and kinds(said)[-1] == "ClustersNominated", (
        "a copy that is evicted is not chosen"
    )
    told.after(replace(told.world.remotes[KEY]["w1"], version=99, active=False))
    assert told.plan.remove == (("w1", "copy-w1"),), "what was stopped there goes and is made anew"


def tried_anew() -> Manager:
    """It ran in w1 and was evicted there; it holds quota here again."""
    told = running()
    told.copy("w1", QuotaReserved=1, Admitted=5, Evicted=20)
    told.after(PodsGone(workload=KEY, decision=f"LOG_0/{told.world.workloads[KEY].stops.stopped_by}"))
    assert told.world.dispatches[KEY].clusters == ("w1", "w2")
    return told


def test_what_a_choice_has_left_in_a_cluster_goes_before_it_is_tried_there_again() -> None:
    told = tried_anew()
    assert told.plan.remove == (("w1", "copy-w1"),) and told.plan.make == ("w2",)
    assert told.copy("w1", Admitted=30) == [], "the job there would begin without anybody's choice"
    left = told.world.remotes[KEY]["w1"]
    again = world_of(tables_of(told.world))
    assert state_hash(again) == state_hash(told.world) and plan(again, KEY).remove == (("w1", "copy-w1"),)
    told.after(RemoteWorkloadGone(cluster="w1", workload=KEY))
    assert not told.plan.remove and told.plan.make == ("w1", "w2")
    said = told.after(replace(left, uid="another"))
    assert said == [ClusterChosen(workload=KEY, check="mk", cluster="w1")]


def test_no_other_cluster_is_chosen_while_a_job_may_be_at_work_in_one_that_is_out_of_reach() -> None:
    told = tried_anew()
    lost = told.at
    told.after(cluster("w1", active=False, since=lost))
    assert "ClusterChosen" not in kinds(told.copy("w2", Admitted=30))
    assert told.later(lost + LOST_AFTER - 1 - told.at) == []
    assert told.later(1) == [ClusterChosen(workload=KEY, check="mk", cluster="w2")]


def test_once_a_cluster_is_back_what_was_left_in_it_goes_before_the_job_is_made_elsewhere() -> None:
    told = tried_anew()
    told.after(cluster("w1", active=False, since=told.at))
    told.copy("w2", Admitted=30)
    said = told.after(cluster("w1"))
    assert ClusterChosen(workload=KEY, check="mk", cluster="w2") in said
    assert told.plan.remove == (("w1", "copy-w1"),) and told.plan.run is None
    told.after(RemoteWorkloadGone(cluster="w1", workload=KEY))
    assert told.plan.run is not None and told.plan.run.make


def test_what_runs_in_a_cluster_that_leaves_the_configuration_runs_on() -> None:
    told = running()
    told.after(replace(CONFIG, clusters=("w2",)))
    assert told.check[0] is CheckState.READY and not told.plan.remove
    assert told.plan.run is not None and told.plan.run.cluster == "w1"
    told.later(24 * 3_600_000)
    assert told.check[0] is CheckState.READY


def test_who_is_tried_in_a_cluster_that_leaves_the_configuration_is_tried_there_no_more() -> None:
    told = Manager(dispatcher=INCREMENTAL, step_size=2)
    told.after(delegated())
    told.copy("w1", QuotaReserved=1)
    told.copy("w2", QuotaReserved=1)
    told.after(replace(CONFIG, clusters=("w2",)))
    assert told.world.dispatches[KEY].clusters == ("w2", "w1"), "a round is not taken back"
    assert told.plan.remove == (("w1", "copy-w1"),)
    assert told.copy("w1", QuotaReserved=1, Admitted=5) == [] and not told.plan.make
    assert told.copy("w2", QuotaReserved=1, Admitted=9) == [ClusterChosen(workload=KEY, check="mk", cluster="w2")]


def test_no_cluster_is_chosen_while_the_configuration_is_gone_and_copies_stay() -> None:
    told = Manager()
    told.after(delegated())
    told.copy("w1", QuotaReserved=1)
    told.after(ObjectRemoved(kind="MultiKueueConfig", namespace="", name="all"))
    assert "ClusterChosen" not in kinds(told.copy("w1", QuotaReserved=1, Admitted=5)) and not told.plan.remove
    assert ClusterChosen(workload=KEY, check="mk", cluster="w1") in told.after(CONFIG)


def test_a_cluster_that_is_lost_keeps_what_runs_there_until_its_time_is_over() -> None:
    told = running()
    lost_at = told.at
    assert told.after(cluster("w1", active=False, since=lost_at)) == []
    assert told.later(lost_at + LOST_AFTER - 1 - told.at) == []
    assert told.world.workloads[KEY].admitted
    said = told.later(1)
    settled = next(one.check for one in said if type(one).__name__ == "RemoteCheckSettled")
    assert (settled.state, settled.message) == (CheckState.RETRY, f'{LOST}, Previously: "Ready"')
    assert told.world.workloads[KEY].evicted
    assert told.plan.park, "the job here has to look stopped, for nobody says that it is"


def test_events_of_the_check_tell_that_it_is_admitted_evicted_or_out_of_sync_there_and_nothing_else() -> None:
    def told_of(told: Manager) -> list[tuple[str, bool]]:
        news = told.world.workloads[KEY].in_cluster.news
        return [(one.message, one.warning) for one in news if one.reason == "MultiKueue"]

    told = running()
    assert told_of(told) == [('The workload was admitted on "w1"', False)]
    told.after(RemoteWorkloadGone(cluster="w1", workload=KEY))
    assert len(told_of(told)) == 1 and told.check[1].startswith("Reset to Pending")
    told = running()
    told.copy("w1", Admitted=5, Evicted=20)
    assert told_of(told)[1][0].startswith('Workload evicted on worker cluster: "w1"') and not told_of(told)[1][1]
    told = running()
    told.copy("w1", Admitted=5, Finished=20, reason="OutOfSync")
    assert "out of sync" in told_of(told)[1][0] and told_of(told)[1][1], "as a warning"


def test_a_cluster_that_comes_back_in_time_goes_on_as_if_nothing_had_been() -> None:
    told = running()
    told.after(cluster("w1", active=False, since=told.at))
    told.later(LOST_AFTER // 2)
    assert told.after(cluster("w1", since=told.at)) == []
    assert told.later(LOST_AFTER) == []
    assert told.world.workloads[KEY].admitted


def test_a_copy_that_somebody_has_removed_there_is_missed_at_once() -> None:
    told = running()
    said = told.after(RemoteWorkloadGone(cluster="w1", workload=KEY))
    settled = next(one.check for one in said if type(one).__name__ == "RemoteCheckSettled")
    assert settled.message == f'{NO_LONGER_THERE}, Previously: "Ready"'


def test_what_is_left_in_a_cluster_that_comes_back_goes() -> None:
    told = running()
    told.after(cluster("w1", active=False, since=told.at))
    told.after(WorkloadDeleted(workload=KEY))
    assert told.plan.idle, "nothing can be done there now"
    told.after(cluster("w1", since=told.at))
    assert told.plan.remove == (("w1", "copy-w1"),)


def test_who_has_finished_leaves_nothing_behind() -> None:
    told = running()
    told.after(WorkloadFinished(workload=KEY, reason="Succeeded"))
    assert told.plan.remove == (("w1", "copy-w1"),) and told.plan.run is None


def test_of_one_that_ran_elsewhere_and_is_kept_no_longer_no_choice_is_kept_either() -> None:
    told = running()
    told.after(WorkloadFinished(workload=KEY, reason="Succeeded"))
    told.after(WorkloadDiscarded(workload=KEY, reason=DiscardReason.FINISHED))
    assert KEY in told.world.dispatches
    decided = told.world.workloads[KEY].decided
    told.after(DecisionApplied(workload=KEY, partition="LOG_0", sequence=decided))
    assert KEY not in told.world.workloads and KEY not in told.world.dispatches
    assert told.plan.remove == (("w1", "copy-w1"),)


def test_with_a_job_that_is_deleted_go_the_choices_of_its_variants() -> None:
    told, variant = Manager(), f"{KEY}-variant"
    told.told(delegated())
    spec = replace(told.world.workloads[KEY].spec, variant_of=KEY)
    told.told(VariantSubmitted(workload=variant, parent=KEY, flavor="v100", uid="v", created_at=0, spec=spec))
    told.told(ClusterChosen(workload=variant, check="mk", cluster="w1"))
    assert variant in told.world.dispatches
    told.told(WorkloadDeleted(workload=KEY))
    assert not told.world.dispatches


def test_a_copy_that_asks_for_something_else_goes_and_is_made_again() -> None:
    told = Manager()
    told.after(delegated())
    told.copy("w1", counts=3, Admitted=1)
    assert told.world.dispatches[KEY].cluster == "", "it is no copy of this workload"
    assert told.plan.remove == (("w1", "copy-w1"),)
    told.after(RemoteWorkloadGone(cluster="w1", workload=KEY))
    assert told.plan.make == ("w1", "w2")


def test_a_copy_that_asks_for_other_pods_in_the_same_number_goes_and_is_made_again() -> None:
    told = Manager()
    submitted = delegated()
    told.after(submitted)
    before = pod_sets_digest(told.world.workloads[KEY])
    assert told.plan.asks == before
    told.copy("w1", asks=before, QuotaReserved=1)
    told.copy("w2", QuotaReserved=1)
    assert not told.plan.remove
    (main,) = submitted.spec.pod_sets
    elsewhere = replace(main, shape=replace(main.shape, node_selector={"card": "v100"}))
    told.after(WorkloadChanged(workload=KEY, spec=replace(submitted.spec, pod_sets=(elsewhere,))))
    assert told.plan.asks != before and told.plan.remove == (("w1", "copy-w1"),), (
        "w2 does not say what it was made with"
    )
    assert "ClusterChosen" not in kinds(told.copy("w1", asks=before, QuotaReserved=1, Admitted=5))
    told.after(RemoteWorkloadGone(cluster="w1", workload=KEY))
    told.copy("w1", asks=told.plan.asks, QuotaReserved=1, Admitted=9)
    told.synced()
    assert told.world.workloads[KEY].admitted
    told.copy("w1", asks="another", QuotaReserved=1, Admitted=9)
    assert told.check[0] is CheckState.READY and "w1" not in dict(told.plan.remove), "what runs is held against nothing"


def test_who_names_another_queue_while_it_holds_quota_is_tried_in_that_though_its_object_keeps_the_one_before() -> None:
    told = Manager()
    submitted = delegated()
    told.after(submitted)
    told.copy("w1")
    told.told(LocalQueueObserved(namespace="team", name="other", cluster_queue="cq"))
    told.after(WorkloadChanged(workload=KEY, spec=replace(submitted.spec, queue="other")))
    assert told.plan.remove == (("w1", "copy-w1"),)
    told.after(RemoteWorkloadGone(cluster="w1", workload=KEY))
    assert (told.plan.make, told.plan.queue) == (("w1", "w2"), "other")


def test_who_may_run_longer_by_now_is_tried_anew_with_that_until_its_job_is_there() -> None:
    told = Manager()
    submitted = delegated()
    told.after(submitted)
    told.copy("w1")
    assert told.plan.remove == (), "how long it may run there was not told"
    told.copy("w2", max_execution=0)
    assert told.plan.remove == ()
    told.after(WorkloadChanged(workload=KEY, spec=replace(submitted.spec, max_execution=9_000_000)))
    assert told.plan.remove == (("w2", "copy-w2"),)
    told.after(RemoteWorkloadGone(cluster="w2", workload=KEY))
    assert (told.plan.make, told.plan.max_execution) == (("w2",), 9_000_000)
    told.copy("w2", max_execution=9_000_000)
    assert told.plan.remove == ()
    told.copy("w2", max_execution=9_000_000, Admitted=5)
    told.synced()
    told.after(WorkloadChanged(workload=KEY, spec=replace(submitted.spec, max_execution=1000)))
    assert told.world.workloads[KEY].admitted, "its object stays as it is, and so does the copy by which it runs"
    assert "w2" not in dict(told.plan.remove) and told.check == (CheckState.READY, 'The workload was admitted on "w2"')


def test_a_cluster_that_is_lost_after_the_choice_is_waited_for_because_the_job_may_be_there() -> None:
    told = Manager()
    told.after(delegated())
    told.copy("w1", Admitted=5)
    assert told.after(cluster("w1", active=False, since=told.at)) == []
    assert told.copy("w2", Admitted=9) == []
    assert told.world.dispatches[KEY].cluster == "w1"


def test_a_choice_whose_copy_is_evicted_before_the_job_is_there_is_made_anew() -> None:
    told = Manager()
    told.after(delegated())
    told.copy("w1", Admitted=5)
    assert kinds(told.copy("w1", Evicted=6)) == ["ClustersNominated"]
    assert told.copy("w2", Admitted=9) == [ClusterChosen(workload=KEY, check="mk", cluster="w2")]


def test_why_a_job_is_not_taken_there_is_told_on_the_check() -> None:
    told = Manager()
    told.after(delegated())
    told.copy("w1", Admitted=5)
    found = told.world.dispatches[KEY]
    told.after(RemoteJobRefused(workload=KEY, cluster="w1", decision=found.decision, message="no such queue"))
    assert told.check == (CheckState.PENDING, "no such queue")


def test_where_settings_say_nothing_nobody_dispatches() -> None:
    told = Manager()
    told.told(SettingsObserved(devices=False))
    said = told.after(delegated())
    assert "ClustersNominated" not in kinds(said)


def test_a_cluster_that_is_taken_away_takes_its_copies_with_it() -> None:
    told = running()
    said = told.after(ObjectRemoved(kind="MultiKueueCluster", namespace="", name="w1"))
    assert told.world.remotes == {}
    settled = next(one.check for one in said if type(one).__name__ == "RemoteCheckSettled")
    assert settled.message == f'{LOST}, Previously: "Ready"'


def test_a_stored_world_is_the_one_that_was_stored_and_keeps_its_deadlines() -> None:
    told = running()
    told.after(cluster("w1", active=False, since=told.at))
    again = world_of(tables_of(told.world))
    assert state_hash(again) == state_hash(told.world)
    assert again.next_deadline() == told.world.next_deadline()


def test_an_older_sight_of_a_copy_does_not_count() -> None:
    told = Manager()
    told.after(delegated())
    told.copy("w1", QuotaReserved=1)
    newer = told.world.remotes[KEY]["w1"]
    told.after(replace(newer, version=0, conditions={"Admitted": RemoteCondition(since=1)}))
    assert told.world.remotes[KEY]["w1"] == newer


def test_a_kind_of_others_runs_elsewhere_where_the_configuration_names_it() -> None:
    own = {"kind": "Render", "api_version": "farm.example.com/v1"}
    told = Manager(external_frameworks=("Render.v1.farm.example.com",))
    assert "ClustersNominated" in kinds(told.after(delegated(**own)))
    told = Manager(external_frameworks=("Other.v1.farm.example.com",))
    words = 'No multikueue adapter found for owner kind "farm.example.com/v1, Kind=Render", Previously: "Pending"'
    assert rejected(told.after(delegated(**own))) == words


def test_a_kind_of_others_is_rejected_with_the_gate_off() -> None:
    told = Manager(external_frameworks=("Render.v1.farm.example.com",))
    told.told(replace(told.world.settings, gates={"MultiKueueAdaptersForCustomJobs": False}))
    said = told.after(delegated(kind="Render", api_version="farm.example.com/v1"))
    words = "The owner is not managed by Kueue: MultiKueueAdaptersForCustomJobs feature gate is disabled"
    assert rejected(said) == f'{words}, Previously: "Pending"'


OTHERS = "example.com/dispatcher"


def test_where_somebody_else_dispatches_a_workload_is_tried_where_they_name() -> None:
    told = Manager(dispatcher=OTHERS)
    assert "ClustersNominated" not in kinds(told.after(delegated()))
    assert told.plan.idle
    said = told.after(ClustersNamed(workload=KEY, clusters=("w2", "unknown")))
    assert said == [ClustersNominated(workload=KEY, check="mk", clusters=("w2",))], "of those that the check leads to"
    assert told.plan.make == ("w2",)
    said = told.after(ClustersNamed(workload=KEY, clusters=("w2", "w1")))
    assert said == [ClustersNominated(workload=KEY, check="mk", clusters=("w2", "w1"))]
    told.copy("w2", QuotaReserved=1)
    assert told.plan.make == ("w1",)
    assert told.after(ClustersNamed(workload=KEY, clusters=("w1",))) == [
        ClustersNominated(workload=KEY, check="mk", clusters=("w1",))
    ]
    assert told.plan.remove == (("w2", "copy-w2"),), "where it is not named any more it goes"


def test_what_is_named_before_there_is_quota_means_nothing() -> None:
    told = Manager(dispatcher=OTHERS)
    told.after(ClustersNamed(workload=KEY, clusters=("w1",)))
    told.after(delegated())
    assert told.plan.idle, "it was named before there was quota"


def test_what_is_named_waits_until_all_other_checks_are_ready() -> None:
    told = Manager(dispatcher=OTHERS)
    other = AdmissionCheckObserved(name="other", controller="example.com/other")
    told.told(other, replace(queue("cq", nominal=8), checks=(CheckRule(name="mk"), CheckRule(name="other"))))
    told.after(delegated())
    told.after(ClustersNamed(workload=KEY, clusters=("w1",)))
    assert told.plan.idle
    ready = CheckStatus(name="other", state=CheckState.READY)
    decision = f"LOG_0/{told.world.workloads[KEY].checks['other'].decided}"
    said = told.after(CheckReported(workload=KEY, check=ready, decision=decision))
    assert said == [ClustersNominated(workload=KEY, check="mk", clusters=("w1",))]


def test_a_cluster_that_others_named_and_that_lost_the_copy_is_tried_again_until_they_name_another() -> None:
    told = Manager(dispatcher=OTHERS)
    told.after(delegated())
    told.after(ClustersNamed(workload=KEY, clusters=("w1",)))
    assert told.copy("w1", QuotaReserved=1, Admitted=2) == [ClusterChosen(workload=KEY, check="mk", cluster="w1")]
    assert told.after(ClustersNamed(workload=KEY, clusters=())) == [], "it is chosen"
    said = told.after(RemoteWorkloadGone(cluster="w1", workload=KEY))
    assert said == [ClustersNominated(workload=KEY, check="mk", clusters=("w1",))]
    assert told.plan.make == ("w1",)
    said = told.after(ClustersNamed(workload=KEY, clusters=("w2",)))
    assert said == [ClustersNominated(workload=KEY, check="mk", clusters=("w2",))]


def rejected(said: list[AnyEvent]) -> str:
    """Why the check is Rejected."""
    settled = next(one.check for one in said if isinstance(one, RemoteCheckSettled))
    assert settled.state is CheckState.REJECTED
    return settled.message


def orchestrated() -> Manager:
    told = Manager()
    told.told(replace(told.world.settings, gates={"MultiKueueOrchestratedPreemption": True}))
    told.after(delegated())
    return told


def test_copies_get_a_gate_and_the_one_that_is_blocked_longest_preempts_first() -> None:
    told = orchestrated()
    assert told.plan.gated and told.plan.make == ("w1", "w2")
    assert told.copy("w1", BlockedOnPreemptionGates=20) == [
        RemoteGateOpened(workload=KEY, cluster="w1", copy="copy-w1")
    ]
    assert told.plan.open == ("w1",)
    assert told.copy("w2", BlockedOnPreemptionGates=10) == [], "one cluster at a time"
    opened = told.at
    told.after(replace(told.world.remotes[KEY]["w1"], version=50, opened=opened))
    assert told.plan.open == ()
    assert told.later(opened + ROUND - 1 - told.at) == []
    assert told.later(1) == [RemoteGateOpened(workload=KEY, cluster="w2", copy="copy-w2")]
    assert told.plan.open == ("w2",)
    assert told.later(ROUND) == [], "nobody else is blocked"


def test_of_two_that_are_blocked_the_one_that_waits_longer_preempts_first() -> None:
    told = orchestrated()
    told.told(cluster("w1", active=False), cluster("w2", active=False))
    told.copy("w1", BlockedOnPreemptionGates=20)
    told.copy("w2", BlockedOnPreemptionGates=10)
    said = told.after(cluster("w1"), cluster("w2"))
    assert [one.cluster for one in said if isinstance(one, RemoteGateOpened)] == ["w2"]


def test_a_gate_that_is_open_already_is_not_opened_whoever_has_done_so() -> None:
    told = orchestrated()
    told.copy("w1", QuotaReserved=1)
    blocked = {"BlockedOnPreemptionGates": RemoteCondition(since=30)}
    assert told.after(replace(told.world.remotes[KEY]["w1"], version=50, opened=5, conditions=blocked)) == []
    assert told.later(ROUND) == []


def test_a_gate_that_the_cluster_closes_is_opened_again_in_its_turn() -> None:
    told = orchestrated()
    told.copy("w1", BlockedOnPreemptionGates=20)
    told.after(replace(told.world.remotes[KEY]["w1"], version=50, opened=told.at))
    told.after(replace(told.world.remotes[KEY]["w1"], version=60, opened=0, conditions={}))
    assert told.world.dispatches[KEY].opened == () and told.plan.open == ()
    blocked = {"BlockedOnPreemptionGates": RemoteCondition(since=30)}
    said = told.after(replace(told.world.remotes[KEY]["w1"], version=70, conditions=blocked))
    assert said == [RemoteGateOpened(workload=KEY, cluster="w1", copy="copy-w1")]


def test_a_gate_that_was_opened_in_a_copy_that_is_gone_keeps_no_other_waiting() -> None:
    told = orchestrated()
    told.copy("w1", BlockedOnPreemptionGates=20)
    assert told.copy("w2", BlockedOnPreemptionGates=30) == []
    said = told.after(RemoteWorkloadGone(cluster="w1", workload=KEY))
    assert said == [RemoteGateOpened(workload=KEY, cluster="w2", copy="copy-w2")]


def test_a_copy_that_is_admitted_ends_the_turns() -> None:
    told = orchestrated()
    told.copy("w1", BlockedOnPreemptionGates=20)
    told.copy("w2", BlockedOnPreemptionGates=10, Admitted=30)
    assert told.world.dispatches[KEY].cluster == "w2"
    assert told.later(ROUND) == []


def test_without_the_feature_gate_copies_preempt_as_they_like() -> None:
    told = Manager()
    told.after(delegated())
    assert not told.plan.gated
    assert told.copy("w1", BlockedOnPreemptionGates=20) == []


def test_the_workloads_of_one_object_go_where_the_first_of_them_goes() -> None:
    def group(part: str) -> WorkloadSubmitted:
        found = job(f"l-{part}")
        owner = Owner(
            kind="LeaderWorkerSet", name="l", uid="uid-l", api_version="leaderworkerset.x-k8s.io/v1", part=part
        )
        return replace(found, owner=owner)

    told = Manager()
    told.after(group("0"), group("1"))
    first, second = "team/l-0", "team/l-1"
    assert told.world.dispatches[first].clusters == ("w1", "w2")
    assert second not in told.world.dispatches, "it waits for the first"
    copy = RemoteWorkloadObserved(
        cluster="w2",
        workload=first,
        uid="c",
        queue="lq",
        counts={"main": 1},
        conditions={"Admitted": RemoteCondition(since=1)},
    )
    told.after(copy)
    assert told.world.dispatches[second].clusters == ("w2",)
    assert plan(told.world, second).make == ("w2",) and not plan(told.world, second).gated
    told.after(replace(copy, cluster="w1", workload=second, uid="d"))
    assert told.world.dispatches[second].cluster == "", "what is let in elsewhere would run apart from the first"
    told.after(RemoteWorkloadGone(cluster="w1", workload=second))
    told.after(WorkloadDeleted(workload=first))
    assert told.world.dispatches[second].clusters == ("w1", "w2"), "now it is the first"
    assert told.world.parts == {"uid-l": {second: None}}
    told.after(WorkloadDeleted(workload=second))
    assert told.world.parts == {}


def test_what_serves_goes_by_what_is_written_here_unless_its_gate_is_off() -> None:
    told = running()
    assert told.plan.serves
    told.after(replace(told.world.settings, gates={"MultiKueueRemoteSpecSync": False}))
    assert not told.plan.serves
