"""Hours of devices that claims held: whose, of which class, from when until when."""

from msgspec.structs import replace

from events.admission import QuotaReserved
from events.catalogue import AnyEvent
from events.claims import ClaimedDevice, ClaimUser, DeviceClassMapping, ResourceClaimObserved
from events.control import ObjectRemoved
from events.device import PodObserved
from events.settings import SettingsObserved
from events.slices import WorkloadSliceReplaced
from events.workload import Owner, PodSetAssignment, WorkloadDeleted, WorkloadFinished, WorkloadSpec, WorkloadSubmitted
from projections.billing.entries.entry import Window
from projections.billing.entries.ledger_scope import LedgerScope
from projections.billing.ledger import Ledger
from projections.log_position import LogPosition

MAPPED = SettingsObserved(device_class_mappings=(DeviceClassMapping(resource="gpus", classes=("a",)),))
KEY = "team/w"
SUBMITTED = WorkloadSubmitted(workload=KEY, uid="u", created_at=0, spec=WorkloadSpec(queue="lq", pod_sets=()))
GIVEN = PodSetAssignment(name="main", count=1, flavors={"gpus": "any"}, usage={"gpus": 2})
RESERVED = QuotaReserved(workload=KEY, cluster_queue="cq", assignments=(GIVEN,))
POD = PodObserved(namespace="team", name="p", uid="u-p", node="n1", workload=KEY, cardless=True)
POD_GONE = ObjectRemoved(kind="Pod", namespace="team", name="p")
CLAIM_GONE = ObjectRemoved(kind="ResourceClaim", namespace="team", name="c")
OTHER = None


def claim(*devices: str, pods: tuple[str, ...] = ("p",), owner: str = "p", **says: object) -> ResourceClaimObserved:
    given = tuple(ClaimedDevice(driver="d", pool="n1", device=one, device_class="a", **says) for one in devices)
    users = tuple(ClaimUser(name=one) for one in pods)
    return ResourceClaimObserved(
        namespace="team", name="c", devices=given, pods=users, made_for=ClaimUser(name=owner) if owner else None
    )


def hours(*events: AnyEvent | None, window: Window | None = None) -> dict[tuple[str, str, str], int]:
    """By queue, workload and resource; each event is of its own second, and the log ends with the second after the last."""
    ledger = Ledger(LedgerScope(window=window) if window is not None else LedgerScope())
    for number, event in enumerate(events):
        if event is not None:
            ledger.fold(event, LogPosition(partition="FACTS", sequence=number, at=number * 1000))
    ledger.finish(len(events) * 1000)
    return {
        (one.cluster_queue, one.workload, one.resource): length for one, length in ledger.holds.claimed.sums.items()
    }


def test_devices_are_held_from_when_the_claim_has_them_until_it_is_gone() -> None:
    found = hours(MAPPED, SUBMITTED, RESERVED, POD, claim("g0", "g1"), OTHER, CLAIM_GONE, POD_GONE)
    assert found == {("cq", KEY, "gpus"): 2 * 2000}


def test_claims_of_one_workload_add_up() -> None:
    second = replace(claim("g1"), name="e")
    found = hours(MAPPED, SUBMITTED, RESERVED, POD, claim("g0"), second, CLAIM_GONE, OTHER, POD)
    assert found == {("cq", KEY, "gpus"): 2000 + 3000}


def test_what_is_still_held_counts_as_far_as_the_log_reaches_and_only_within_the_window() -> None:
    events = (MAPPED, SUBMITTED, RESERVED, POD, claim("g0"), OTHER, OTHER, POD)
    assert hours(*events) == {("cq", KEY, "gpus"): 3000}
    assert hours(*events, window=Window(0, 5500)) == {("cq", KEY, "gpus"): 1500}


def test_a_claim_that_is_seen_before_its_pod_is_on_the_account_of_the_pods_workload_all_the_same() -> None:
    found = hours(MAPPED, SUBMITTED, RESERVED, claim("g0"), POD, OTHER, CLAIM_GONE)
    assert found == {("cq", KEY, "gpus"): 3000}


def test_a_pod_that_no_queue_manages_pays_as_nobodys_and_its_workload_once_it_belongs_to_one() -> None:
    alone = replace(POD, workload="")
    assert hours(MAPPED, claim("g0"), alone, OTHER, CLAIM_GONE) == {("", "", "gpus"): 3000}
    found = hours(MAPPED, SUBMITTED, RESERVED, alone, claim("g0"), POD, OTHER, CLAIM_GONE)
    assert found == {("", "", "gpus"): 1000, ("cq", KEY, "gpus"): 2000}


def test_what_is_held_after_the_workload_and_its_pod_are_gone_stays_on_the_account_of_its_queue() -> None:
    ended = (WorkloadFinished(workload=KEY, reason="Succeeded"), WorkloadDeleted(workload=KEY), POD_GONE)
    found = hours(MAPPED, SUBMITTED, RESERVED, POD, claim("g0"), *ended, claim("g0", pods=()), CLAIM_GONE)
    assert found == {("cq", KEY, "gpus"): 5000}


def test_a_pod_of_the_same_name_that_no_queue_manages_is_on_no_account_of_the_one_before() -> None:
    first = (MAPPED, SUBMITTED, RESERVED, POD, claim("g0"), POD_GONE, CLAIM_GONE)
    assert hours(*first, claim("g0"), OTHER, CLAIM_GONE) == {("cq", KEY, "gpus"): 2000, ("", "", "gpus"): 2000}


def test_access_for_administrators_is_free_and_a_claim_without_devices_holds_nothing() -> None:
    assert hours(MAPPED, SUBMITTED, RESERVED, POD, claim("g0", admin=True), CLAIM_GONE) == {}
    found = hours(MAPPED, SUBMITTED, RESERVED, POD, claim("g0"), claim(), OTHER, OTHER)
    assert found == {("cq", KEY, "gpus"): 1000}


def test_nothing_is_held_where_no_class_is_mapped_any_more() -> None:
    found = hours(MAPPED, SUBMITTED, RESERVED, POD, claim("g0"), SettingsObserved(), OTHER)
    assert found == {("cq", KEY, "gpus"): 1000}


def test_the_pods_of_an_elastic_job_are_of_the_slice_that_goes_on() -> None:
    elastic = PodObserved(namespace="team", name="p", uid="u", node="n1", workload=KEY, cardless=True, elastic=True)
    replaced = WorkloadSliceReplaced(workload=KEY, by="team/w2", message="")
    second = QuotaReserved(workload="team/w2", cluster_queue="cq", assignments=(GIVEN,))
    found = hours(MAPPED, SUBMITTED, RESERVED, elastic, claim("g0"), second, replaced, elastic, OTHER, CLAIM_GONE)
    assert found == {("cq", KEY, "gpus"): 2000, ("cq", "team/w2", "gpus"): 3000}


def test_those_of_a_job_that_is_told_in_a_later_slice_are_of_that() -> None:
    elastic = PodObserved(namespace="team", name="p", uid="u", node="n1", workload=KEY, cardless=True, elastic=True)
    spec, owner = (
        WorkloadSpec(queue="lq", pod_sets=(), elastic=True, slice_name="w"),
        Owner(kind="Job", name="j", uid="u"),
    )
    begun = WorkloadSubmitted(workload="team/w2", uid="u", owner=owner, created_at=0, spec=spec)
    second = QuotaReserved(workload="team/w2", cluster_queue="cq", assignments=(GIVEN,))
    assert hours(MAPPED, begun, second, elastic, claim("g0"), OTHER, CLAIM_GONE) == {("cq", "team/w2", "gpus"): 2000}
