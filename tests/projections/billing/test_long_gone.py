"""A ledger forgets the workloads that are long gone, so that it is as large as what lives and its lines; who holds cards is known."""

import pytest

from events.admission import QuotaReserved, WorkloadAdmitted
from events.card import Card, CardShare
from events.catalogue import AnyEvent
from events.device import DevicesRegistered, DevicesReleased, DevicesReserved, NodeObserved, PodPlacement
from events.event import Millis
from events.workload import (
    EvictionOrdered,
    PodSetAssignment,
    WorkloadDeleted,
    WorkloadFinished,
    WorkloadSpec,
    WorkloadSubmitted,
)
from projections.billing.ledger import Ledger
from projections.billing.quota import lending_column
from projections.log_position import LogPosition
from tests.held import peak

HOUR: Millis = 3_600_000
SHORT, LONG = 500, 3_000
CARD = Card(uuid="GPU-1", index=0, slots=10, memory=16_000, model="A100")


def told(ledger: Ledger, at: Millis, *events: AnyEvent) -> None:
    for event in events:
        partition = "FACTS" if isinstance(event, WorkloadSubmitted | WorkloadDeleted) else "LOG_0"
        ledger.fold(event, LogPosition(partition=partition, sequence=at // 60_000 + 1, at=at))


def submitted(key: str, uid: str) -> WorkloadSubmitted:
    return WorkloadSubmitted(workload=key, uid=uid, created_at=0, spec=WorkloadSpec(queue="main", pod_sets=()))


def reserved(key: str) -> QuotaReserved:
    given = PodSetAssignment(name="main", count=1, flavors={"cpu": "default"}, usage={"cpu": 1000})
    return QuotaReserved(workload=key, cluster_queue="q", assignments=(given,))


def test_what_a_ledger_keeps_does_not_grow_with_those_who_are_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lending_column, "MOST_KEPT", 100)

    def billed(count: int) -> int:
        def bill() -> None:
            ledger = Ledger()
            for n in range(count):
                key = f"team/w{n}"
                told(
                    ledger,
                    n * 60_000,
                    submitted(key, f"uid-{n}"),
                    reserved(key),
                    WorkloadAdmitted(workload=key, cluster_queue="q"),
                )
                told(
                    ledger,
                    n * 60_000,
                    WorkloadFinished(workload=key, reason="Succeeded"),
                    WorkloadDeleted(workload=key),
                )

        return peak(bill)

    billed(10)
    assert billed(LONG) - billed(SHORT) < (LONG - SHORT) * 50


def test_who_holds_cards_when_he_is_long_gone_is_told_of_until_he_gives_them_back() -> None:
    ledger, key = Ledger(), "team/w"
    told(ledger, 0, NodeObserved(name="n", labels={}), DevicesRegistered(node="n", cards=(CARD,)))
    share = CardShare(uuid=CARD.uuid, vendor="NVIDIA", memory=4_000, cores=25)
    placement = PodPlacement(pod_set="main", index=0, node="n", containers=((share,),))
    told(ledger, 60_000, submitted(key, "first"), reserved(key), WorkloadAdmitted(workload=key, cluster_queue="q"))
    told(ledger, 60_000, DevicesReserved(workload=key, reservation=2, placements=(placement,)))
    told(ledger, 2 * HOUR, EvictionOrdered(workload=key, reason="Deactivated"), WorkloadDeleted(workload=key))
    told(ledger, 9 * HOUR, submitted("team/another", "other"))
    told(ledger, 10 * HOUR, DevicesReleased(workload=key, reservation=2, proof="pods gone"))
    (entry,) = ledger.entries
    assert (entry.holder.uid, entry.until - entry.since) == ("first", 10 * HOUR - 60_000)
    assert [(one.reason, one.entries) for one in ledger.wastes] == [("Deactivated", (entry,))]
    told(ledger, 12 * HOUR, submitted(key, "second"), reserved(key))
    told(ledger, 12 * HOUR, DevicesReserved(workload=key, reservation=721, placements=(placement,)))
    told(ledger, 13 * HOUR, submitted("team/another", "other"))
    ledger.finish()
    assert ledger.entries[-1].holder.uid == "second", "he who comes under the same name is somebody else"
