"""Of which domains the pods are spread most evenly over what lies below them.

Rule: docs/rules/topology.md#balanced
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from math import prod


def evenest_first(pods: Mapping[int, Iterable[int]]) -> list[int]:
    """Domains by the entropy of their children's pods, the highest first; of equals in their order.

    The entropy is minus the sum of p*log(p), and its order is that of the product of p**p turned round, which is exact.
    What all domains have in common makes no difference: mostly that is everything.
    """
    found = {domain: Counter(one for one in children if one) for domain, children in pods.items()}
    common = next(iter(found.values()))
    for other in found.values():
        common = common & other
    uneven = {domain: prod(one ** (one * n) for one, n in (every - common).items()) for domain, every in found.items()}
    return sorted(found, key=lambda domain: uneven[domain])
