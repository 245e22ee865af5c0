"""What became of each flavor that was tried, over all resources of a pod set, and the text of it in an event."""

from collections.abc import Iterable

import msgspec

from events.admission import FlavorAttempt, Mode
from projections.flavors.mode import RANK
from projections.flavors.refusal import worst

_POSSIBLE = {Mode.NO_CANDIDATES: "NoCandidates", Mode.PREEMPT: "Preempt", Mode.RECLAIM: "Reclaim"}


class ConsideredFlavor(msgspec.Struct, frozen=True, kw_only=True):
    """One flavor that was tried for a pod set: the worst of what was found for its resources."""

    pod_set: str
    flavor: str
    mode: Mode
    borrow: int = 0
    no_fit_reason: str = ""
    reasons: tuple[str, ...] = ()

    @property
    def preemption(self) -> str:
        """Whether room could be made: NoCandidates, Preempt or Reclaim; empty when that is not the question."""
        return _POSSIBLE.get(self.mode, "")

    def as_text(self) -> str:
        """The flavor and what became of it, in Kueue's words."""
        mode = f"preemptionMode={self.preemption}" if self.preemption else str(self.mode)
        borrow = (f"borrow={self.borrow}",) if self.borrow else ()
        return f"{self.flavor}({';'.join((mode, *borrow, *((', '.join(self.reasons),) if self.reasons else ())))})"


def considered_flavors(attempts: Iterable[FlavorAttempt]) -> list[ConsideredFlavor]:
    """All attempts with one flavor for one pod set as one, in the order in which they were made."""
    by_flavor: dict[tuple[str, str], list[FlavorAttempt]] = {}
    for one in attempts:
        by_flavor.setdefault((one.pod_set, one.flavor), []).append(one)
    return [
        ConsideredFlavor(
            pod_set=pod_set,
            flavor=flavor,
            mode=min((one.mode for one in found), key=RANK.__getitem__),
            borrow=max(one.borrow_level for one in found),
            no_fit_reason=worst(one.reason for one in found if one.mode is Mode.NO_FIT),
            reasons=tuple(one.message for one in found if one.message),
        )
        for (pod_set, flavor), found in by_flavor.items()
    ]


def considered_text(attempts: Iterable[FlavorAttempt]) -> str:
    """What became of the flavors per pod set; a flavor that fits without borrowing is left out."""
    texts: dict[str, list[str]] = {}
    for one in considered_flavors(attempts):
        if one.mode is not Mode.FIT or one.borrow:
            texts.setdefault(one.pod_set, []).append(one.as_text())
    return " | ".join(f"{pod_set}: {', '.join(flavors)}" for pod_set, flavors in texts.items())
