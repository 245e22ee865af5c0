"""Which service may write which events: for each author its events, and the family of streams that it writes to.

The subject of a message names its author or the kind of its fact; rights on the bus are given by subject. A message counts
only when subject, author and events agree, so that a right to publish is never a right to write another author's events.
"""

from functools import lru_cache
from typing import get_args

import msgspec

from events.admission import (
    AdmissionRefused,
    PreemptionRequested,
    QuotaReserved,
    SecondPassFailed,
    TopologyAssigned,
    UnhealthyNodesChanged,
    WorkloadAdmitted,
)
from events.application import DecisionApplied, DecisionRejected
from events.budget import BudgetRenewed, BudgetThresholdReached, BudgetUseTold
from events.catalogue import ControlEvent, DeviceDecision, Fact
from events.commit import Commit, Sighting
from events.control import EpochStarted
from events.multikueue import (
    ClusterChosen,
    ClustersNominated,
    EstimatesAsked,
    QuotaAutomationEnded,
    QuotaAutomationSettled,
    RemoteCheckSettled,
    RemoteGateOpened,
    RemoteJobRefused,
    RemoteJobSynced,
    RemoteQueuesObserved,
    RemoteWorkloadGone,
    RemoteWorkloadObserved,
    WorkloadEndedElsewhere,
)
from events.pod import PodEndForced
from events.preemption import PreemptionOrdered, PreemptionRefused, PreemptionWasted, RoomClaimed
from events.provisioning import ProvisioningDropped, ProvisioningOrdered, ProvisioningRejected
from events.routing import ROUTED
from events.setting_aside import SetAside
from events.slices import (
    WorkloadSliceDropped,
    WorkloadSliceReplaced,
    WorkloadSliceResized,
    WorkloadSliceSubmitted,
)
from events.subjects import CONTROL, DEVICES, FACTS, LOG, addressee, commit_subject, family_of, routed_subject
from events.upkeep import (
    AdmissionGateCleared,
    BackoffSet,
    CheckSettled,
    ChecksRequired,
    DeactivationOrdered,
    DeactivationSettled,
    WorkloadDiscarded,
    WorkloadFailedToStart,
    WorkloadOrphaned,
)
from events.variants import (
    MigrationOrdered,
    PreemptionGateOpened,
    VariantDropped,
    VariantSubmitted,
    VariantSwitched,
)
from events.workload import (
    EvictionOrdered,
    QuotaReleased,
    WorkloadDeactivated,
    WorkloadParked,
    WorkloadQueued,
    WorkloadRequeued,
)


class Author(msgspec.Struct, frozen=True):
    """A service, an operator or a tool that writes to the log."""

    name: str
    family: str
    """The family of streams: FACTS, LOG, DEVICES or CONTROL."""
    says: frozenset[type]
    """The event types that it may write."""


_OUTCOMES = frozenset((DecisionApplied, DecisionRejected, ProvisioningRejected))
_REMOTE = frozenset(
    (RemoteWorkloadObserved, RemoteWorkloadGone, RemoteJobSynced, RemoteJobRefused, RemoteQueuesObserved)
)

AUTHORS = {
    one.name: one
    for one in (
        Author("watcher", FACTS, frozenset(get_args(Fact)) - _OUTCOMES - _REMOTE),
        Author("applier", FACTS, _OUTCOMES),
        Author("remote-clusters", FACTS, _REMOTE),
        Author(
            "queue-manager",
            LOG,
            frozenset(
                (
                    WorkloadQueued,
                    WorkloadParked,
                    WorkloadRequeued,
                    ChecksRequired,
                    CheckSettled,
                    ProvisioningOrdered,
                    ProvisioningDropped,
                    BackoffSet,
                    AdmissionGateCleared,
                    EvictionOrdered,
                    DeactivationOrdered,
                    DeactivationSettled,
                    WorkloadDeactivated,
                    WorkloadOrphaned,
                    WorkloadFailedToStart,
                    WorkloadDiscarded,
                    QuotaReleased,
                    UnhealthyNodesChanged,
                    PodEndForced,
                    TopologyAssigned,
                    WorkloadSliceSubmitted,
                    WorkloadSliceResized,
                    WorkloadSliceDropped,
                    VariantSubmitted,
                    VariantDropped,
                    VariantSwitched,
                    PreemptionGateOpened,
                    BudgetThresholdReached,
                    BudgetRenewed,
                    BudgetUseTold,
                    SetAside,
                    EpochStarted,
                )
            ),
        ),
        Author(
            "admitter",
            LOG,
            frozenset(
                (
                    QuotaReserved,
                    AdmissionRefused,
                    PreemptionRequested,
                    TopologyAssigned,
                    SecondPassFailed,
                    WorkloadAdmitted,
                    WorkloadSliceReplaced,
                    MigrationOrdered,
                    SetAside,
                    EpochStarted,
                )
            ),
        ),
        Author(
            "preemptor",
            LOG,
            frozenset((PreemptionOrdered, PreemptionRefused, RoomClaimed, PreemptionWasted, SetAside, EpochStarted)),
        ),
        Author(
            "multikueue",
            LOG,
            frozenset(
                {
                    *(EstimatesAsked, ClustersNominated, RemoteGateOpened, ClusterChosen, RemoteCheckSettled),
                    WorkloadEndedElsewhere,
                    *(QuotaAutomationSettled, QuotaAutomationEnded),
                    *(SetAside, EpochStarted),
                }
            ),
        ),
        Author("accountant", DEVICES, frozenset((*get_args(DeviceDecision), EpochStarted))),
        Author("operator", CONTROL, frozenset(get_args(ControlEvent))),
    )
}
"""Every author by name; adoption writes the same facts as the watcher."""


def why_not_sighting(sighting: Sighting, subject: str) -> str:
    """Why a sighting with this subject is not folded; empty when it is."""
    return _why_not_fact(sighting.author, type(sighting.fact), subject)


@lru_cache(maxsize=1024)
def _why_not_fact(author: str, kind: type, subject: str) -> str:
    wrong = _may_not(author, FACTS, (kind,))
    if wrong or not subject:
        return wrong
    if addressee(subject):
        if issubclass(kind, ROUTED) and subject == routed_subject(addressee(subject), kind.__name__):
            return ""
        return f"a {kind.__name__} is filed under {subject}, which is not the subject of such facts"
    parts = subject.split(".")
    if len(parts) != _FACT_TOKENS or parts[:2] != ["kuelog", "facts"] or parts[3] != kind.__name__:
        return f"a {kind.__name__} is filed under {subject}, which is not the subject of such facts"
    return ""


def why_not_commit(commit: Commit, stream: str, subject: str) -> str:
    """Why a commit on this stream and with this subject is not folded; empty when it is."""
    if commit.partition != stream:
        return f"it names itself a commit of {commit.partition or 'no stream'}"
    wrong = _may_not(commit.author, family_of(stream), {type(event): None for event in commit.events})
    if wrong or not subject or subject in _subjects(stream, commit.author):
        return wrong
    return f"what {commit.author} says is filed under {subject}, which is not its subject"


def known(author: str) -> str:
    """The author's name, or "somebody unknown" for all others, so that a table by author can't grow without end."""
    return author if author in AUTHORS else "somebody unknown"


def _may_not(author: str, family: str, kinds: "tuple[type, ...] | dict[type, None]") -> str:
    found = AUTHORS.get(author)
    if found is None:
        return f"its author is {author[:_SHOWN]!r}, and there is no such author"
    if found.family != family:
        return f"{author} says nothing on a stream of {family}"
    wrong = next((kind for kind in kinds if kind not in found.says), None)
    return f"{author} may not say {wrong.__name__}" if wrong is not None else ""


@lru_cache(maxsize=64)
def _subjects(stream: str, author: str) -> tuple[str, ...]:
    # Prices and corrections were once filed one token deeper.
    older = (f"kuelog.control._.{author}",) if stream == CONTROL else ()
    return (commit_subject(stream, author), *older)


_FACT_TOKENS = 4
_SHOWN = 60
