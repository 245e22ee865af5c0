from events.admission import AdmissionRefused, RequeueReason
from events.catalogue import AnyEvent
from events.quota import ClusterQueueObserved, FlavorObserved, FlavorQuotas, QueueingStrategy, Quota, ResourceGroup
from events.selector import LabelSelector
from events.settings import SettingsObserved
from events.workload import QuotaReleased, WorkloadDeleted, WorkloadQueued, WorkloadSpec, WorkloadSubmitted
from projections.evolve import evolve
from projections.flavors.scan import comes_round, progress_of, went_through_all
from projections.log_position import LogPosition
from projections.snapshot import tables_of, world_of
from projections.state_hash import state_hash
from projections.world import World

PROGRESS = (("main", "cpu", 0),)


def fold(world: World, *events: AnyEvent) -> World:
    for sequence, event in enumerate(events):
        evolve(world, event, LogPosition(partition="LOG_0", sequence=sequence + 1, at=1))
    return world


def refused(progress: tuple[tuple[str, str, int], ...], name: str = "w") -> AdmissionRefused:
    return AdmissionRefused(
        workload=f"team/{name}",
        cluster_queue="cq",
        requeue=RequeueReason.FAILED_AFTER_NOMINATION,
        reason="WaitingForQuota",
        message="",
        progress=progress,
    )


def waiting(*, preserve: bool = True) -> World:
    quotas = tuple(FlavorQuotas(flavor=name, quotas=(Quota(resource="cpu", nominal=1),)) for name in ("a", "b"))
    told: list[AnyEvent] = [
        SettingsObserved(gates={"FlavorFungibilityPreserveScanProgress": preserve}),
        FlavorObserved(name="a"),
        FlavorObserved(name="b"),
        ClusterQueueObserved(
            name="cq",
            namespaces=LabelSelector(),
            strategy=QueueingStrategy.STRICT_FIFO,
            groups=(ResourceGroup(resources=("cpu",), flavors=quotas),),
        ),
    ]
    for name in ("w", "v"):
        told.append(
            WorkloadSubmitted(
                workload=f"team/{name}", uid=name, created_at=0, spec=WorkloadSpec(queue="lq", pod_sets=())
            )
        )
        told.append(WorkloadQueued(workload=f"team/{name}", cluster_queue="cq"))
    return fold(World(), *told)


def told_progress(world: World) -> dict[tuple[str, str], int]:
    return dict(progress_of(world, world.workloads["team/w"], "cq"))


def test_a_workload_goes_on_behind_the_flavor_that_it_was_tried_on_last() -> None:
    world = fold(waiting(), refused(PROGRESS))
    assert told_progress(world) == {("main", "cpu"): 0}
    assert told_progress(fold(world, refused(()))) == {}


def test_another_head_in_between_makes_it_start_anew() -> None:
    world = fold(waiting(), refused(PROGRESS), refused((), name="v"))
    assert told_progress(world) == {}


def test_quota_that_came_back_makes_it_start_anew_only_where_progress_is_not_preserved() -> None:
    for preserve, expected in ((True, {("main", "cpu"): 0}), (False, {})):
        world = fold(waiting(preserve=preserve), refused(PROGRESS))
        world.quota.remove_usage("cq", {})
        assert told_progress(world) == expected


def test_one_that_went_through_all_flavors_in_vain_has_nothing_more_to_say_until_something_changes() -> None:
    world = fold(waiting(), refused(PROGRESS), refused(()))
    assert went_through_all(world.lines, world.quota, world.workloads["team/w"], "cq")
    mark = world.mark()
    world.quota.add_usage("cq", {})
    assert not went_through_all(world.lines, world.quota, world.workloads["team/w"], "cq")
    world.undo(mark)
    assert went_through_all(world.lines, world.quota, world.workloads["team/w"], "cq")
    world.trail.set_item(world.lines.of("cq").news, 0, 1)
    assert not went_through_all(world.lines, world.quota, world.workloads["team/w"], "cq"), "nor after news of a flavor"


def test_who_has_come_as_far_before_has_come_round_unless_quota_came_back_or_the_search_began_anew() -> None:
    world = waiting()

    def round_at(*progress: tuple[str, str, int]) -> bool:
        return comes_round(world, world.workloads["team/w"], "cq", progress)

    main, other = ("main", "cpu", 0), ("other", "cpu", 0)
    assert not round_at(main)
    fold(world, refused((main,)), refused((other,)))
    assert round_at(main) and round_at(other) and not round_at(main, other) and not round_at()
    world.settle()
    again = world_of(tables_of(world))
    assert comes_round(again, again.workloads["team/w"], "cq", (main,)), "also where the world was saved meanwhile"
    assert state_hash(again) == state_hash(world)
    world.quota.remove_usage("cq", {})
    assert not round_at(main)
    fold(world, refused((other,)))
    assert round_at(other) and not round_at(main)
    fold(world, refused(()), refused((main,)))
    assert round_at(main) and not round_at(other)


def test_progress_is_part_of_the_state_and_of_its_snapshots() -> None:
    world = fold(waiting(), refused(PROGRESS))
    world.settle()
    again = world_of(tables_of(world))
    assert state_hash(again) == state_hash(world)
    assert told_progress(again) == told_progress(world)
    before, mark = state_hash(world), world.mark()
    fold(world, WorkloadDeleted(workload="team/w"), QuotaReleased(workload="team/v", reason=""))
    assert state_hash(world) != before
    world.undo(mark)
    assert state_hash(world) == before
