"""What a container asks of cards, after what HAMi's webhook will make of it (hami-semantics §3, §4).

All values are per card. A container that asks for cards, but neither for memory nor for cores of them, gets whole
cards for itself alone.
"""

from events.card import CardRequest
from events.pod_set import ContainerShape, PodShape

NVIDIA = "NVIDIA"
GPU = "nvidia.com/gpu"
GPU_MEMORY = "nvidia.com/gpumem"
GPU_PERCENT = "nvidia.com/gpumem-percentage"
GPU_CORES = "nvidia.com/gpucores"

CARD_RESOURCES = frozenset({GPU, GPU_MEMORY, GPU_PERCENT, GPU_CORES})

WHOLE = 100
_INT32 = 2**31 - 1


def card_request(container: ContainerShape) -> CardRequest | None:
    """The request of one container; None when it asks for no card."""
    asked = {**container.requests, **container.limits}
    memory, percent, cores = asked.get(GPU_MEMORY), asked.get(GPU_PERCENT), asked.get(GPU_CORES)
    count = asked.get(GPU)
    if count is None:
        if memory is None and percent is None and cores is None:
            return None
        count = 1
    if count <= 0 or (memory is not None and not 0 <= memory <= _INT32):
        return None
    if percent is not None and percent <= 0:
        percent = None
    if cores is None:
        cores = WHOLE if percent == WHOLE or (memory is None and percent is None) else 0
    return CardRequest(
        vendor=NVIDIA,
        count=count,
        memory=memory or 0,
        percent=None if memory else min(percent if percent is not None else WHOLE, WHOLE),
        cores=min(cores, WHOLE),
    )


def pod_card_requests(shape: PodShape) -> tuple[tuple[CardRequest | None, ...], int]:
    """The requests of all containers of a pod, init containers first, and how many of them are init containers."""
    init = tuple(card_request(container) for container in shape.init_containers)
    return (*init, *(card_request(container) for container in shape.containers)), len(init)


def asks_for_cards(shape: PodShape) -> bool:
    """Whether any container of the pod needs a card."""
    return any(request is not None for request in pod_card_requests(shape)[0])
