"""A month of workloads, told as a log and billed: `python -m tests.laws.bill_speed --workloads 100000`.

Times are of the processor, so that other work on the machine does not count.
"""

import argparse
import hashlib
import heapq
import os
import random
import resource
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

from msgspec.structs import replace

from events.admission import QuotaReserved, WorkloadAdmitted
from events.authors import AUTHORS
from events.billing import Meter, Price, PriceListSet
from events.card import Card, CardShare
from events.catalogue import AnyEvent
from events.codec import encode
from events.commit import Commit, InputRun, Sighting
from events.control import ObjectRemoved
from events.device import DevicesRegistered, DevicesReleased, DevicesReserved, NodeObserved, PodPlacement
from events.hash_chain import GENESIS
from events.preemption import PreemptionOrdered
from events.quota import FlavorObserved, LocalQueueObserved, NamespaceObserved
from events.subjects import CONTROL, FACTS
from events.timestamp import parse_timestamp
from events.workload import PodSetAssignment, QuotaReleased, WorkloadFinished
from ops.production.process.memory_tuning import tune_memory
from ops.queries.billing import flat, focus
from ops.queries.billing.closed_months import drawn_up
from ops.queries.billing.reading import ledger_of
from projections.billing.cards.reconcile import reconcile
from projections.billing.entries.entry import Window
from projections.billing.lines.totals import bill
from services.runtime.log_port import Entry
from tests.stories.small_world import GPU, MEMORY, job, queue

PARTITION, DEVICES = "LOG_0", "DEVICES_default"
HOUR, NODES, PER_NODE, TEAMS = 3_600_000, 125, 8, 20
BEGIN, END = parse_timestamp("2026-11-01T00:00:00Z"), parse_timestamp("2026-12-01T00:00:00Z")


class Log:
    """Streams in memory, each commit resting on what was written before it."""

    def __init__(self) -> None:
        self.entries: dict[str, list[Entry]] = {name: [] for name in (CONTROL, FACTS, PARTITION, DEVICES)}
        self.before = dict.fromkeys(self.entries, GENESIS)
        self.events = 0

    def fact(self, at: int, fact: AnyEvent) -> None:
        self._write(FACTS, encode(Sighting(id="", at=at, author="watcher", fact=fact)))  # type: ignore[arg-type]

    def decide(self, stream: str, at: int, *events: AnyEvent) -> int:
        inputs = tuple(
            InputRun(stream=name, upto=len(found))
            for name, found in self.entries.items()
            if name not in {CONTROL, stream} and found and stream != CONTROL
        )
        have = self.entries[stream]
        commit = Commit(
            id="",
            prev_hash=self.before[stream],
            partition=stream,
            base=len(have),
            inputs=inputs,
            author=next(one.name for one in AUTHORS.values() if {type(event) for event in events} <= one.says),
            epoch=0,
            rules="1",
            at=at,
            events=events,  # type: ignore[arg-type]
        )
        self.events += len(events) - 1
        data = encode(commit)
        self.before[stream] = hashlib.sha256(data).hexdigest()
        self._write(stream, data)
        return len(have)

    def _write(self, stream: str, data: bytes) -> None:
        have = self.entries[stream]
        self.events += 1
        have.append(Entry(stream=stream, sequence=len(have) + 1, subject="", message_id="", data=data))


def happenings(count: int, chance: random.Random) -> Iterator[tuple[int, int, str, int]]:
    """Time, workload, what, and the sequence that it is about; one run in ten is preempted, and runs again."""
    starts = sorted(chance.randrange(BEGIN, END - HOUR) for _ in range(count))
    heap: list[tuple[int, int, str, int]] = []
    for number, at in enumerate(starts):
        heapq.heappush(heap, (at, number, "submit", 0))
        length = chance.randrange(HOUR // 60, 12 * HOUR)
        if chance.random() < 0.1:
            heapq.heappush(heap, (at + length // 2, number, "preempt", 0))
            heapq.heappush(heap, (at + length // 2 + 60_000, number, "again", 0))
            length += 60_000
        heapq.heappush(heap, (min(at + length, END - 1000), number, "finish", 0))
    while heap:
        yield heapq.heappop(heap)


def month(count: int, seed: int = 1) -> Log:
    chance, log = random.Random(seed), Log()
    price = PriceListSet(
        name="november",
        currency="EUR",
        starts=BEGIN,
        prices=(Price(meter=Meter.MEMORY, unit_price="0.04"), Price(meter=Meter.CORES, unit_price="1.20")),
    )
    log.decide(CONTROL, BEGIN, price)
    log.fact(BEGIN, FlavorObserved(name="v100", node_labels={"card": "v100"}))
    for team in range(TEAMS):
        log.fact(BEGIN, NamespaceObserved(name=f"team-{team}"))
        log.fact(BEGIN, queue(f"cq-{team}", nominal=40, cohort="all"))
        log.fact(BEGIN, LocalQueueObserved(namespace=f"team-{team}", name="lq", cluster_queue=f"cq-{team}"))
    for node in range(NODES):
        log.fact(BEGIN, NodeObserved(name=f"n{node}", labels={"card": "v100"}))
        log.fact(BEGIN, registered(node))
    current: dict[int, int] = {}
    shapes = [chance.choice((8192, 16384, 32768)) for _ in range(count)]
    for at, number, what, _ in happenings(count, chance):
        team, memory = number % TEAMS, shapes[number]
        key = f"team-{team}/w{number}"
        if what == "submit":
            log.fact(at, rename(number, team, memory))
        if what in {"submit", "again"}:
            current[number] = start(log, at, key, team, memory, number)
        elif what == "preempt":
            log.decide(
                PARTITION, at, PreemptionOrdered(workload=key, preemptor="team-0/other", reason="InCohortReclamation")
            )
            log.decide(PARTITION, at + 5000, QuotaReleased(workload=key, reason="Preempted"))
            log.decide(DEVICES, at + 6000, DevicesReleased(workload=key, reservation=current[number], proof="gone"))
        else:
            log.fact(at, WorkloadFinished(workload=key, reason="Succeeded"))
            log.decide(DEVICES, at + 500, DevicesReleased(workload=key, reservation=current[number], proof="finished"))
    log.fact(END - 1, ObjectRemoved(kind="Job", name="none"))
    return log


def start(log: Log, at: int, key: str, team: int, memory: int, number: int) -> int:
    use = {GPU: 1, MEMORY: memory}
    given = PodSetAssignment(name="main", count=1, flavors=dict.fromkeys(use, "v100"), usage=use)
    reservation = log.decide(
        PARTITION, at + 10, QuotaReserved(workload=key, cluster_queue=f"cq-{team}", assignments=(given,))
    )
    card = number * 7919 % (NODES * PER_NODE)
    share = CardShare(uuid=f"GPU-{card}", vendor="NVIDIA", memory=memory, cores=memory * 100 // 32768)
    place = PodPlacement(pod_set="main", index=0, node=f"n{card // PER_NODE}", containers=((share,),))
    log.decide(DEVICES, at + 20, DevicesReserved(workload=key, reservation=reservation, placements=(place,)))
    log.decide(PARTITION, at + 40, WorkloadAdmitted(workload=key, cluster_queue=f"cq-{team}"))
    return reservation


def rename(number: int, team: int, memory: int) -> AnyEvent:
    return replace(job(f"w{number}", memory=memory), workload=f"team-{team}/w{number}")


def registered(node: int) -> DevicesRegistered:
    cards = tuple(
        Card(uuid=f"GPU-{node * PER_NODE + i}", index=i, slots=10, memory=32768, model="NVIDIA-V100")
        for i in range(PER_NODE)
    )
    return DevicesRegistered(node=f"n{node}", cards=cards)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--workloads", type=int, default=100_000)
    count: int = parser.parse_args().workloads
    log, window = month(count), Window(BEGIN, END)
    tune_memory()
    messages = sum(len(found) for found in log.entries.values())
    print(f"{count:,} workloads on {NODES * PER_NODE:,} cards: {messages:,} messages, {log.events:,} events; ", end="")
    print(f"load {os.getloadavg()[0]:.1f}")
    began = process_time()
    ledger, _ = ledger_of(log.entries, window)
    print(f"ledger of the month folded, {len(ledger.entries):,} entries   {process_time() - began:6.1f} s")
    began = process_time()
    found = bill(ledger, window, ("tenant", "queue"))
    print(f"bill by tenant and queue, {len(found.rows):,} rows            {process_time() - began:6.1f} s")
    began = process_time()
    with TemporaryDirectory() as folder:
        flat.write_csv(Path(folder) / "focus.csv", focus.names_of(ledger), focus.rows(ledger, window))
        size = (Path(folder) / "focus.csv").stat().st_size
        print(f"FOCUS 1.2 as CSV, {size / 1e6:,.0f} MB                      {process_time() - began:6.1f} s")
    print(f"memory of the process by then {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MiB")
    del ledger, found
    began = process_time()
    log.fact(END + 1000, ObjectRemoved(kind="Job", name="none"))
    closing, ledger = drawn_up(log.entries, "2026-11", author="ann")
    books = reconcile(ledger.cards.book, ledger.entries)
    assert not books.mismatches
    print(f"closed: {closing.rows:,} rows, {books.checked:,} card-hours reconciled   {process_time() - began:6.1f} s")
    print(f"memory of the process {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MiB")


if __name__ == "__main__":
    main()
