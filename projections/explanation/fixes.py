"""What whoever owns a workload, or its queue, can do so that it gets in, by what keeps it waiting."""

from collections.abc import Mapping

from events.admission import RequeueReason
from events.quota import StopPolicy
from projections.budgets.enforcement import EXHAUSTED
from projections.configuration import Configuration
from projections.devices.placement.gang import EXCEEDS_CARDS, WAITING_FOR_CARDS
from projections.devices.placement.refusal import NO_NODE_HAS_CARDS, NO_NODE_TAKES_IT
from projections.explanation.words import Explanation
from projections.flavors.refusal import PLACEMENT_FAILED, WAITING_FOR_QUOTA
from projections.nodes.affinity import selects
from projections.queues.state import QueueState
from projections.unsupported import NOT_DONE
from projections.workloads.conditions import NODE_FAILURES
from projections.workloads.lifecycle import Workload

TREE_SPLIT = "TreeSplit"
"""Queues of one tree are decided in several partitions, so nobody is admitted there (docs/rules/log.md#placed)."""

UNWRITTEN = "WaitingForWrites"
"""As many admissions as may be are decided and not written to the cluster yet (docs/rules/log.md#on-their-way)."""

UNREADY = "WaitingForPodsReady"
"""Pods of somebody who was let in are not ready, and the configuration lets nobody in before (docs/rules/cycle.md#block-admission)."""
ITS_TURN = "WaitingForItsTurn"

FIXES: Mapping[str, str] = {
    "NoMatchingFlavor": "change node selector, affinity or tolerations of the pods, or ask for what a flavor of the queue offers; or have "
    "that flavor, or that resource, added to the queue",
    "ExceedsMaxQuota": "ask for less, or have the quota of the queue or its cohort raised",
    EXCEEDS_CARDS: "ask for less per card or fewer cards per pod, or for what HAMi's webhook lets in: no node could hold it even if nothing ran",
    PLACEMENT_FAILED: "ask for fewer or smaller pods, or for a wider level: no domain could hold them even if nothing ran",
    "AdmissionGated": "take the gates off",
    RequeueReason.PREEMPTION_GATED.value: "have its preemption gates opened in status.preemptionGates of the Workload by whoever has put them there, or wait "
    "for room",
    "OnHold": "take the job off hold",
    "Deactivated": "set spec.active of the Workload to true",
    EXHAUSTED: "have the budget raised, or wait for its next period",
    "Backoff": "nothing: it queues again by itself",
    NODE_FAILURES: "create another pod: this one was lost with its node or card, and does not come back",
    UNWRITTEN: "nothing, if the API server is slow or away for a while: it goes on by itself; else see in the applier's log why "
    "these are not written",
    UNREADY: "see why these pods are not ready; they are given up after waitForPodsReady.timeout",
    TREE_SPLIT: "give the queues of one partition another cohort than those of the others, or flavors of another topology; "
    "for one tree with both, make a new ClusterQueue there and have jobs ask that",
    **{one.code: one.instead for one in NOT_DONE.values()},
}
"""What would let a workload in, by the reason for which it waits."""
STRICT_FIX = (
    "have the first of the queue changed or removed if it can't get in, or submit the job to another queue, or have "
    "spec.queueingStrategy set to BestEffortFIFO"
)
MEND_CLAIMS = (
    "mend what is named: it is looked at again when its template, a device class, a mapping or the devices change"
)


NEVER = frozenset({"ExceedsMaxQuota", "NoMatchingFlavor", EXCEEDS_CARDS, PLACEMENT_FAILED})
"""Reasons that say that waiting does not help."""
FOR_NOW = frozenset({WAITING_FOR_QUOTA, WAITING_FOR_CARDS})
"""Reasons that say that it does."""

NO_NODE = (
    "compare spec.nodeLabels of the flavor with the labels of the nodes, and see by `kuelog devices` which nodes are ready and have "
    "reported cards; or ask for a flavor that has some"
)
NO_NODE_OF_IT = (
    "have what the message names changed: a taint wants tolerations of the pods, or spec.tolerations of the flavor, which gives them to all pods "
    "that it lets in; a cordoned node `kubectl uncordon`; a label or an affinity the pods' own nodeSelector and affinity"
)
ELSE = "change what the message names, or have it changed"


def fix_of(world: QueueState, workload: Workload, explanation: Explanation) -> str:
    """What would let a workload in, by the reason for which it waits; empty where nobody has to do anything that is known."""
    match explanation.reason:
        case "Misconfigured":
            return _mend(world, workload, explanation.message)
        case "ExceedsCardCapacity" if no_node_at_all(explanation.message):
            return NO_NODE
        case "ExceedsCardCapacity" if no_node_takes_it(explanation.message):
            return NO_NODE_OF_IT
        case "Suspended":
            return _open(world, workload)
        case reason:
            return fix_for(reason)


def no_node_at_all(message: str) -> bool:
    """Whether the flavors that were tried have no node with cards at all: a smaller request would find none either."""
    return NO_NODE_HAS_CARDS in message and message.count("finds no cards") == message.count(NO_NODE_HAS_CARDS)


def no_node_takes_it(message: str) -> bool:
    """Whether nodes with cards are there, and its pods may go to none of them."""
    return NO_NODE_TAKES_IT in message


def fix_for(reason: str) -> str:
    """What would let a workload in, where its reason alone says so."""
    return FIXES.get(reason, "")


def _mend(world: QueueState, workload: Workload, message: str) -> str:
    """What to do about a queue that is not there, one that does not admit the namespace, or pods that may not be so."""
    missing = _missing(world, workload)
    if missing.rpartition("/")[2] not in message:
        return ELSE
    if missing in world.refused:
        return "have the queue mended as its refusal says, or submit the job to another one"
    if missing:
        return "create the queue that is named, or submit the job to one that is there"
    queue = world.cluster_queue_of(workload)
    namespace = world.namespaces.get(workload.namespace)
    if queue is not None and not selects(queue.namespaces, namespace.labels if namespace is not None else {}):
        return (
            f"have namespace {workload.namespace} labelled as spec.namespaceSelector of ClusterQueue {queue.name} wants it, or that "
            "widened, or submit the job to the queue of another ClusterQueue; without a namespaceSelector it admits nobody"
        )
    return ELSE


def _missing(world: Configuration, workload: Workload) -> str:
    """The queue that a workload asks for and that is not there, as the table of what was refused names it; empty where all are."""
    local_queue = world.local_queues.get(workload.local_queue)
    if local_queue is None:
        return f"LocalQueue/{workload.namespace}/{workload.spec.queue}"
    name = local_queue.cluster_queue
    return "" if name in world.cluster_queues else f"ClusterQueue//{name}"


def _open(world: Configuration, workload: Workload) -> str:
    """What to do about a queue that takes nothing in."""
    local_queue = world.local_queues.get(workload.local_queue)
    name = local_queue.cluster_queue if local_queue is not None else ""
    queue = world.cluster_queues.get(name)
    if local_queue is not None and local_queue.stop is not StopPolicy.NONE:
        stopped = f"LocalQueue {local_queue.name}, which somebody has stopped (spec.stopPolicy),"
    elif queue is not None and queue.stop is not StopPolicy.NONE:
        stopped = f"ClusterQueue {name}, which somebody has stopped (spec.stopPolicy),"
    else:
        return "have what is named put right: it goes on by itself then; or submit the job to another queue"
    return f"wait until {stopped} is resumed: it goes on by itself then; or submit the job to another queue"
