"""What a topology holds, by its definition: from the hosts anew, every domain and every place of a leader tried."""

from collections.abc import Mapping, Sequence

Centre = Mapping[tuple[str, ...], int]
"""CPUs by the values of a host, the widest level first."""


class Asked:
    """Pods of one CPU in slices, maybe with a leader."""

    def __init__(
        self, *, count: int, level: int, layers: Sequence[tuple[int, int]] = (), leader: int | None = None
    ) -> None:
        self.count, self.level, self.leader = count, level, leader
        self.layers = tuple(layers)
        """Level and size of each layer of slices, outermost first; none for single pods on hosts."""


def domains(centre: Centre, level: int) -> list[tuple[str, ...]]:
    return sorted({host[: level + 1] for host in centre})


def within(centre: Centre, domain: tuple[str, ...]) -> Centre:
    return {host: cpu for host, cpu in centre.items() if host[: len(domain)] == domain}


def slices_in(centre: Centre, asked: Asked) -> int:
    """How many slices hosts take, of what inner layers leave of them."""
    depth = len(next(iter(centre), ()))
    (level, size), *inner = asked.layers or ((depth - 1, 1),)
    return sum(_pods(within(centre, one), level, inner, depth) // size for one in domains(centre, level))


def slices_beside_a_leader(centre: Centre, asked: Asked) -> int | None:
    """The most slices with the leader on any host; None if no host takes it."""
    if asked.leader is None:
        return slices_in(centre, asked)
    tried = [
        slices_in({**centre, host: cpu - asked.leader}, asked) for host, cpu in centre.items() if cpu >= asked.leader
    ]
    return max(tried, default=None)


def fits(centre: Centre, asked: Asked) -> bool:
    """Whether these hosts take all slices that are asked for, and the leader."""
    found = slices_beside_a_leader(centre, asked)
    size = asked.layers[0][1] if asked.layers else 1
    return found is not None and found >= asked.count // size


def _pods(centre: Centre, level: int, inner: Sequence[tuple[int, int]], depth: int) -> int:
    """The pods of one domain, of each domain below only what makes whole bundles."""
    if level == depth - 1:
        return sum(centre.values())
    sizes = [size for layer, size in inner if layer >= level + 1]
    bundle = sizes[0] if sizes else 1
    below = [_pods(within(centre, one), level + 1, inner, depth) for one in domains(centre, level + 1)]
    return sum(pods - pods % bundle for pods in below)
