"""A log of a month that costs money: cpu that two teams held, a budget, an account, and the closing of the month."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from events.billing import AccountRule, AccountsSet, Approval, Meter, Price, PriceListSet
from events.budget import Budget, BudgetPeriod
from events.catalogue import ControlEvent
from events.codec import encode
from events.event import Millis
from events.hash_chain import GENESIS, bytes_hash
from events.pod_set import ContainerShape, PodSet, PodShape
from events.quota import (
    AdmissionCheckObserved,
    CheckRule,
    FlavorObserved,
    LocalQueueObserved,
    NamespaceObserved,
    PreemptionRules,
    Quota,
)
from events.settings import SettingsObserved
from events.subjects import CONTROL, commit_subject
from events.workload import Owner, WorkloadFinished, WorkloadSpec, WorkloadSubmitted
from ops.production.log.control import OPERATOR, said
from ops.queries.billing.closed_months import statement
from ops.sandbox.bench.day import BEGINS, cluster_queue
from ops.sandbox.bench.partitions import RecordedPartitions
from projections.budgets.budget_usage import HOUR
from services.runtime.log_port import Entry

MONTH, AFTER = "2026-01", BEGINS + 31 * 86_400_000
TEAMS = ("lab", "team")


def submitted(team: str, name: str, at: Millis) -> WorkloadSubmitted:
    shape = PodShape(containers=(ContainerShape(name="c", requests={"cpu": 1000}),))
    spec = WorkloadSpec(queue="q", pod_sets=(PodSet(name="main", count=1, shape=shape),))
    owner = Owner(kind="Job", name=name, uid=f"uid-{name}", api_version="batch/v1")
    return WorkloadSubmitted(workload=f"{team}/{name}", uid=owner.uid, owner=owner, created_at=at, spec=spec)


def operate(stage: RecordedPartitions, event: ControlEvent, at: Millis) -> None:
    known = stage.entries[CONTROL]
    before = bytes_hash(known[-1].data) if known else GENESIS
    commit = said(event, at, base=len(known), prev_hash=before)
    subject, sequence = commit_subject(CONTROL, OPERATOR), len(known) + 1
    known.append(Entry(stream=CONTROL, sequence=sequence, subject=subject, message_id=commit.id, data=encode(commit)))


def billed() -> Mapping[str, Sequence[Entry]]:
    """`lab` and `team` ran a job each for an hour in January, and `team` runs another one since; `lab` pays from `research`."""
    stage = RecordedPartitions()
    price = Price(meter=Meter.QUOTA, resource="cpu", unit_price="2")
    operate(stage, PriceListSet(name="p", currency="EUR", starts=BEGINS, prices=(price,)), BEGINS)
    rule = AccountRule(account="research", cost_center="c-1", namespace="lab")
    operate(stage, AccountsSet(starts=BEGINS, rules=(rule,)), BEGINS)
    queue = cluster_queue("q", "", (("default", (Quota(resource="cpu", nominal=4000),)),), PreemptionRules())
    budget = Budget(period=BudgetPeriod.MONTH, limits={"cpu": 10_000})
    facts = (
        SettingsObserved(devices=False),
        FlavorObserved(name="default"),
        AdmissionCheckObserved(name="budget", controller="kuelog.io/budget"),
        replace(queue, checks=(CheckRule(name="budget"),), budget=budget),
        *(NamespaceObserved(name=team) for team in TEAMS),
        *(LocalQueueObserved(namespace=team, name="q", cluster_queue="q") for team in TEAMS),
    )
    hour = HOUR
    happens = [(BEGINS, fact) for fact in facts]
    happens += [(BEGINS + hour, submitted(team, f"{team}-job", BEGINS + hour)) for team in TEAMS]
    ended = [WorkloadFinished(workload=f"{team}/{team}-job", reason="Succeeded") for team in TEAMS]
    happens += [(BEGINS + 2 * hour, one) for one in ended]
    happens += [
        (AFTER + hour, submitted("team", "goes-on", AFTER + hour)),
        (AFTER + 2 * hour, NamespaceObserved(name="x")),
    ]
    for at, fact in happens:
        stage.observe(fact, at)
        while stage.turn(at):
            pass
    closing = statement(stage.entries, MONTH, author="ann", reason="as every month")
    signed = tuple(Approval(name=name, key=f"key-{name}", signature=f"{name}0") for name in ("ann", "ben"))
    operate(stage, replace(closing, approvals=signed), AFTER + 2 * hour)
    return stage.entries
