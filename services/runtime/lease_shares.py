"""Which of several replicas should hold which lease, so that each holds its share (docs/rules/log.md#shares).

All go by the same rule on what each says of itself, so they agree without asking one another. A lease moves only where that makes
two replicas more alike, so moves come to an end.
"""

from collections.abc import Collection, Sequence

from services.runtime.lease_port import Replica


def takes(own: Replica, others: Sequence[Replica], lease: str) -> bool:
    """Whether a lease that nobody holds is this replica's to take: nobody else who would take it holds less.

    Who says that he holds it has lost it, or is gone.
    """
    mine = (*_load(own, lease), own.name)
    rivals = (one for one in others if lease in one.wants and lease not in one.holds)
    return all((*_load(one, lease), one.name) > mine for one in rivals)


def gives_back(own: Replica, others: Sequence[Replica], movable: Collection[str]) -> str:
    """The one lease that this replica should give back now, because another would hold less with it than this one does; else empty.

    Only who holds most gives anything back, one lease at a time, and none while another is on its way. `movable` are those of its leases that
    may be given back already.
    """
    held = {lease for one in (own, *others) for lease in one.holds}
    if not held.issuperset(own.wants):
        return ""
    found: list[tuple[bool, str]] = []
    for lease in own.holds:
        mine = _load(own, lease)
        rivals = [(_load(one, lease), one.name) for one in others if lease in one.wants]
        better = [of_kind for (of_kind, total), _ in rivals if (of_kind + 1, total + 1) < mine]
        if lease in movable and better and max(rivals) < (mine, own.name):
            found.append((min(better) + 1 == mine[0], lease))
    return min(found)[1] if found else ""


def _load(replica: Replica, lease: str) -> tuple[int, int]:
    """How many leases of the same kind of work a replica holds, and how many in all."""
    return [_kind(one) for one in replica.holds].count(_kind(lease)), len(replica.holds)


def _kind(lease: str) -> str:
    """What is done under a lease, in whichever partition."""
    return lease.rpartition(".")[2]
