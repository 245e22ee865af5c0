"""Messages that nobody should have stored: such as can't be read, don't follow, or are not their author's to say."""

from msgspec.structs import replace

from events.admission import WorkloadAdmitted
from events.codec import decode_sighting, encode
from events.commit import Commit, InputRun, Sighting
from events.hash_chain import GENESIS, bytes_hash
from events.quota import ClusterQueueObserved, FlavorQuotas, ResourceGroup
from events.rules import RULES
from events.subjects import DEVICES, FACTS, LOG, commit_subject, fact_subject, family_of
from ops.production.log.memory import MemoryStream
from ops.sandbox.simulate.fault_plan import Fault
from services.runtime.log_port import Message

_UNREADABLE = (
    b"[" * 2000,
    b"\xff\xfe",
    b"{}",
    b'{"id":"x","at":0,"author":"watcher","fact":{"type":"Nonsense.v9"}}',
    b"null",
)
_AUTHORS = {LOG: "queue-manager", DEVICES: "accountant"}
_BEYOND = 1000
_INFLATED = 1000


def unfit_message(fault: Fault, stream: MemoryStream, facts: MemoryStream, now: int) -> Message:
    """A message that halts whoever folds it: unreadable, wrongly chained, or resting on what is not there."""
    name = stream.name
    subject = fact_subject("", "x") if name == FACTS else commit_subject(name, _AUTHORS[family_of(name)])
    how = fault.number // 8 % (len(_UNREADABLE) + 2)
    if name == FACTS or how < len(_UNREADABLE):
        return Message(subject, _UNREADABLE[how % len(_UNREADABLE)], _id(fault))
    commit = _commit(stream, fault, now, _AUTHORS[family_of(name)])
    if how == len(_UNREADABLE):
        return Message(subject, encode(replace(commit, prev_hash="f" * 64)), _id(fault))
    run = InputRun(stream=FACTS, upto=len(facts.entries) + _BEYOND)
    return Message(subject, encode(replace(commit, inputs=(run,))), _id(fault))


def forged_message(
    fault: Fault, facts: MemoryStream, partition: MemoryStream, now: int
) -> tuple[MemoryStream, Message]:
    """A message of one service stored with the rights of another, and the stream that it goes to."""
    if fault.number % 2:
        commit = replace(
            _commit(partition, fault, now, "admitter"),
            events=(WorkloadAdmitted(workload="default/x", cluster_queue="x"),),
        )
        return partition, Message(commit_subject(partition.name, "preemptor"), encode(commit), _id(fault))
    sighting = _inflated(facts, fault, now)
    return facts, Message(fact_subject("", "DecisionApplied"), encode(sighting), _id(fault))


def _inflated(facts: MemoryStream, fault: Fault, now: int) -> Sighting:
    """A cluster queue as it was observed last, with a thousand times the quota."""
    observed = [
        found.fact
        for entry in facts.entries
        if b"ClusterQueueObserved" in entry.data
        and isinstance((found := decode_sighting(entry.data)).fact, ClusterQueueObserved)
    ]
    fact = observed[-1] if observed else ClusterQueueObserved(name="x")
    return Sighting(id=_id(fault), at=now, author="watcher", fact=_with_more(fact))


def _with_more(queue: ClusterQueueObserved) -> ClusterQueueObserved:
    def more(found: FlavorQuotas) -> FlavorQuotas:
        return replace(found, quotas=tuple(replace(one, nominal=one.nominal * _INFLATED) for one in found.quotas))

    def group(found: ResourceGroup) -> ResourceGroup:
        return replace(found, flavors=tuple(more(one) for one in found.flavors))

    return replace(queue, groups=tuple(group(one) for one in queue.groups))


def _commit(stream: MemoryStream, fault: Fault, now: int, author: str) -> Commit:
    """A commit without events that follows nothing that the stream holds."""
    end = stream.entries[-1] if stream.entries else None
    return Commit(
        id=_id(fault),
        prev_hash=bytes_hash(end.data) if end is not None else GENESIS,
        partition=stream.name,
        base=end.sequence if end is not None else 0,
        inputs=(),
        author=author,
        epoch=0,
        rules=RULES,
        at=now,
        events=(),
    )


def _id(fault: Fault) -> str:
    return f"stray-{fault.index}"
