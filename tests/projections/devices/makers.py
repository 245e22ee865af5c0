"""Short ways to say cards, nodes and pods in tests."""

from collections.abc import Mapping, Sequence

from events.card import Card, CardRequest
from events.device import DevicesRegistered, NodeObserved
from events.pod_set import ContainerShape, PodSet, PodShape
from projections.devices.card_use import NodeCards
from projections.devices.fit.pod_fit import PodFit, asking, fit_asking
from projections.devices.holdings.card_holdings import CardHoldings
from projections.devices.placement.gang import Gang
from projections.trail import Trail

MODEL = "NVIDIA-Tesla V100-SXM2-32GB"


def card(uuid: str, *, memory: int = 32768, slots: int = 10, numa: int = 0, healthy: bool = True) -> Card:
    return Card(uuid=uuid, slots=slots, memory=memory, model=MODEL, numa=numa, healthy=healthy)


def ask(count: int = 1, memory: int = 0, cores: int = 0, percent: int | None = None) -> CardRequest:
    return CardRequest(vendor="NVIDIA", count=count, memory=memory, cores=cores, percent=percent)


def fit_pod(on: NodeCards, requests: Sequence[CardRequest | None], init: int, annotations: Mapping[str, str]) -> PodFit:
    """Fit all containers of a pod that asks for one kind of card; the first `init` of them are init containers."""
    return fit_asking(on, one_kind(requests), init, asking(annotations, requests))


def one_kind(requests: Sequence[CardRequest | None]) -> tuple[tuple[CardRequest, ...], ...]:
    """The requests per container of a pod whose containers each ask for at most one kind of card."""
    return tuple(() if request is None else (request,) for request in requests)


def container(name: str = "c", **limits: int) -> ContainerShape:
    names = {"gpu": "nvidia.com/gpu", "mem": "nvidia.com/gpumem", "cores": "nvidia.com/gpucores"}
    return ContainerShape(name=name, limits={names[key]: value for key, value in limits.items()})


def gang(
    count: int, *containers: ContainerShape, name: str = "main", annotations: dict[str, str] | None = None
) -> Gang:
    shape = PodShape(containers=containers, device_annotations=annotations or {})
    return Gang(pod_set=PodSet(name=name, count=count, shape=shape), count=count, flavor=None)


class Fleet:
    """Nodes with cards on a ledger of their own."""

    def __init__(self, **nodes: list[Card]) -> None:
        self.trail = Trail()
        self.cards = CardHoldings(self.trail)
        self.nodes = {name: NodeObserved(name=name) for name in nodes}
        for name, cards in nodes.items():
            self.cards.register(DevicesRegistered(node=name, cards=tuple(cards)))
