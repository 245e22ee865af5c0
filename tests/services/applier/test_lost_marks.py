"""Objects that bear the mark of a decision which was lost with the end of the log: they are steered by what is decided now.

Rule: docs/rules/log.md#overtaken
"""

from msgspec.structs import replace

from events.api.labels import ADMISSION_GATE, DECISION
from events.json_object import JsonObject
from events.workload import CheckState, CheckStatus, Member, Owner
from ops.production.log.memory import MemoryStream
from services.applier.plan import Application
from services.applier.pods.start_or_end import PODS
from services.applier.writing import WORKLOADS
from services.jobs.kinds.table import POD
from services.jobs.pod_sets.pod_set import Injection, Original
from tests.services.applier.in_process import InProcess
from tests.services.applier.test_later_decisions import log_of
from tests.services.applier.workloads.test_what_others_write import application, workload, writing_by
from tests.stage.definitions import definitions_of

LOST = "LOG_0/9"
READY = {"name": "elsewhere", "state": "Ready", "message": "of before", "lastTransitionTime": "2026-01-01T00:00:00Z"}


def gated_pod() -> JsonObject:
    container = {"name": "c", "image": "i"}
    gates = [{"name": ADMISSION_GATE}]
    return {
        "metadata": {"name": "p", "annotations": {DECISION: LOST}},
        "spec": {"containers": [container], "schedulingGates": gates},
    }


async def let_through(decisions: MemoryStream) -> bool:
    """Whether a gated pod that bears a mark is let through by the second decision."""
    cluster = InProcess(definitions_of("kuelog"), seed=1)
    pod = await cluster.create(PODS, "default", gated_pod())
    owner = Owner(kind="Pod", name="p", uid=pod["metadata"]["uid"], api_version="v1")
    admitted = replace(
        application("w", 2, "QuotaReserved", "Admitted", owner=owner),
        job="p",
        kind=POD,
        api_version="v1",
        run=True,
        members=(Member(name="p", uid=pod["metadata"]["uid"], pod_set="main"),),
        gate=("p",),
        injections=(Injection(count=1, original=Original(name="main", count=1)),),
    )
    await writing_by(cluster, decisions).steer_job(admitted)
    return not (await cluster.get(PODS, "default", "p"))["spec"].get("schedulingGates")


async def test_a_pod_that_bears_a_lost_decision_is_let_through() -> None:
    assert await let_through(await log_of("default/w", "default/w"))


async def test_a_pod_that_bears_a_decision_which_overtakes_this_one_stays_at_its_gate() -> None:
    assert not await let_through(await log_of("default/w", "default/w", "default/w"))


async def shown(decisions: MemoryStream) -> tuple[JsonObject, str]:
    """What an object says of its check, and its mark, once a decision is shown that has set the check to Pending."""
    cluster = InProcess(definitions_of("kuelog"), seed=1)
    marked = workload("w")
    await cluster.create(
        WORKLOADS, "default", {**marked, "metadata": {**marked["metadata"], "annotations": {DECISION: LOST}}}
    )
    await cluster.merge(WORKLOADS, "default", "w", {"status": {"admissionChecks": [READY]}}, subresource="status")
    await writing_by(cluster, decisions).show(pending())
    found = await cluster.get(WORKLOADS, "default", "w")
    return found["status"]["admissionChecks"][0], found["metadata"]["annotations"][DECISION]


def pending() -> Application:
    found = application("w", 2, "QuotaReserved", applied=1)
    check = CheckStatus(name="elsewhere", state=CheckState.PENDING, since=1000)
    return replace(found, of=replace(found.of, checks={"elsewhere": check}), checks={"elsewhere": 2})


async def test_a_check_that_was_reset_since_shows_so_on_an_object_that_bears_a_lost_decision() -> None:
    check, mark = await shown(await log_of("default/w", "default/w"))
    assert (check["state"], mark) == ("Pending", "LOG_0/2"), "else what it says of before counts as news one day"


async def test_a_check_stays_as_a_later_decision_has_let_it_be_set() -> None:
    check, mark = await shown(await log_of("default/w", "default/w", "default/w"))
    assert (check["state"], mark) == ("Ready", LOST)
