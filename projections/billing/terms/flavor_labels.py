"""Which labels the nodes of a flavor bore when, for prices that go by them."""

from bisect import bisect_right

from events.event import Millis

Labels = dict[str, str]


class FlavorLabels:
    """By flavor: its labels, and from when it had them."""

    def __init__(self) -> None:
        self._known: dict[str, list[tuple[Millis, Labels]]] = {}

    def set(self, flavor: str, labels: Labels, at: Millis) -> None:
        """A flavor has these from now on; one that is gone keeps its last ones, as what it gave may still be held."""
        known = self._known.setdefault(flavor, [])
        if not known or known[-1][1] != labels:
            known.append((max(at, known[-1][0]) if known else 0, labels))

    def having(self, flavor: str, wanted: tuple[str, ...], at: Millis) -> tuple[str, ...]:
        """Those of the wanted labels, written as key=value, that it has at a moment."""
        labels = self._at(flavor, at) if wanted else {}
        return tuple(one for one in wanted if labels.get(one.partition("=")[0]) == one.partition("=")[2])

    def value(self, flavor: str, key: str, at: Millis) -> str:
        """What a label of it says at a moment; empty where it has none of that key."""
        return self._at(flavor, at).get(key, "")

    def _at(self, flavor: str, at: Millis) -> Labels:
        known = self._known.get(flavor)
        return known[max(bisect_right(known, at, key=lambda one: one[0]) - 1, 0)][1] if known is not None else {}

    def cuts(self, flavor: str, since: Millis, until: Millis) -> list[Millis]:
        """When its labels change between two times."""
        return [at for at, _ in self._known.get(flavor, ()) if since < at < until]
