"""HAMi's part of the scheduler's stand-in: which cards a pod gets, and the annotations that say so."""

from typing import Any

import msgspec

from events.card import CardShare
from events.event import Millis
from events.quantity import BadQuantity, to_units
from ops.cluster.selection import look
from ops.cluster.store import Object, Store
from projections.devices.vendors import BY_WORD, NVIDIA
from projections.devices.written import written
from projections.devices.written_indexes import Place

REGISTER = "hami.io/node-nvidia-register"
ALLOCATED = "hami.io/vgpu-devices-allocated"
_WHOLE = 100
_NVIDIA = BY_WORD[NVIDIA]


class GpuRequest(msgspec.Struct, frozen=True):
    """What one container asks of each of `count` cards; memory -1 means the whole card."""

    count: int
    memory: int
    percent: int
    cores: int


class HamiNodes:
    """The cards of all nodes as HAMi sees them: registered in annotations, taken by pods' annotations."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def choose(
        self, nodes: list[Object], pod: Object, requests: list[GpuRequest | None], now: Millis
    ) -> tuple[tuple[Object, dict[str, str]] | None, str]:
        """A node and the annotations of the allocation; or why there is none."""
        why = "CardInsufficientMemory"
        best: tuple[int, str, Object, list[list[CardShare]]] | None = None
        for node in nodes:
            cards = self._cards(node)
            taken = self.taken(node["metadata"]["name"])
            found, reason = self._fit(node, cards, taken, pod, requests)
            if found is None:
                why = reason
                continue
            used = sum(memory for _, memory, _ in taken.values())
            rank = (-used, node["metadata"]["name"], node, found)
            if best is None or rank[:2] < best[:2]:
                best = rank
        if best is None:
            return None, why
        stamp, notes = str(now // 1000), pod["metadata"].get("annotations") or {}
        given = written(_NVIDIA, best[3], notes, Place(at=stamp, node=best[1]))
        return (
            best[2],
            {
                "hami.io/vgpu-node": best[1],
                "hami.io/vgpu-time": stamp,
                **given,
                "hami.io/vgpu-devices-to-allocate": ";" * len(best[3]),
                "hami.io/bind-time": stamp,
                "hami.io/bind-phase": "success",
            },
        ), ""

    def _cards(self, node: Object) -> list[Object]:
        text = (node["metadata"].get("annotations") or {}).get(REGISTER)
        if not text:
            return []
        try:
            cards: list[Object] = msgspec.json.decode(text)
        except msgspec.DecodeError:
            return []
        cordoned = (node["metadata"].get("annotations") or {}).get("hami.io/device-cordon", "").split(",")
        return [card for card in cards if card.get("health") and card["id"] not in cordoned]

    def taken(self, node: str) -> dict[str, tuple[int, int, int]]:
        """Slots, MiB and cores that living pods hold of each card of a node, by their annotations."""
        taken: dict[str, tuple[int, int, int]] = {}
        for pod in self._store.of("pods").values():
            if look(pod, "spec.nodeName") != node or look(pod, "status.phase") in ("Succeeded", "Failed"):
                continue
            text = (pod["metadata"].get("annotations") or {}).get(ALLOCATED, "")
            for entry in text.replace(";", ":").split(":"):
                if entry:
                    uuid, _, memory, cores = entry.split(",")
                    slots, held, used = taken.get(uuid, (0, 0, 0))
                    taken[uuid] = (slots + 1, held + int(memory), used + int(cores))
        return taken

    def _fit(
        self,
        node: Object,
        cards: list[Object],
        taken: dict[str, tuple[int, int, int]],
        pod: Object,
        requests: list[GpuRequest | None],
    ) -> tuple[list[list[CardShare]] | None, str]:
        del node
        annotations = pod["metadata"].get("annotations") or {}
        pins = [one.strip() for one in annotations.get("nvidia.com/use-gpuuuid", "").split(",") if one.strip()]
        banned = [one.strip() for one in annotations.get("nvidia.com/nouse-gpuuuid", "").split(",") if one.strip()]
        wanted = annotations.get("nvidia.com/use-gputype", "").lower()
        unwanted = annotations.get("nvidia.com/nouse-gputype", "").lower()
        sign = -1 if annotations.get("hami.io/gpu-scheduler-policy") == "binpack" else 1
        state = dict(taken)
        result: list[list[CardShare]] = []
        for request in requests:
            if request is None:
                result.append([])
                continue
            picked: list[CardShare] = []
            order = sorted(cards, key=lambda card: (sign * state.get(card["id"], (0, 0, 0))[1], card.get("index", 0)))
            for card in order:
                uuid, model = card["id"], str(card.get("type", "")).lower()
                if (pins and uuid not in pins) or uuid in banned:
                    continue
                if (wanted and wanted not in model) or (unwanted and unwanted in model):
                    continue
                slots, held, used = state.get(uuid, (0, 0, 0))
                memory = request.memory if request.memory >= 0 else card["devmem"] * request.percent // 100
                full = request.cores == _WHOLE and slots > 0
                spent = used == card["devcore"] and request.cores == 0
                if slots >= card["count"] or held + memory > card["devmem"] or full or spent:
                    continue
                if used + request.cores > card["devcore"]:
                    continue
                state[uuid] = (slots + 1, held + memory, used + request.cores)
                picked.append(CardShare(uuid=uuid, vendor=NVIDIA, memory=memory, cores=request.cores))
                if len(picked) == request.count:
                    break
            if len(picked) < request.count:
                return None, "node(s) without a card that fits (HAMi)"
            result.append(picked)
        return result, ""


def gpu_requests(pod: Object) -> list[GpuRequest | None]:
    """What each container asks of cards, init containers first, as HAMi's webhook leaves it."""
    spec = pod["spec"]
    return [_request(one) for one in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ()))]


def _request(container: Object) -> GpuRequest | None:
    resources = container.get("resources") or {}
    asked: dict[str, Any] = {**(resources.get("requests") or {}), **(resources.get("limits") or {})}

    def read(name: str) -> int | None:
        try:
            return to_units(name, asked[name]) if name in asked else None
        except BadQuantity:
            return None

    count, memory = read("nvidia.com/gpu"), read("nvidia.com/gpumem")
    percent, cores = read("nvidia.com/gpumem-percentage"), read("nvidia.com/gpucores")
    if count is None and memory is None and percent is None and cores is None:
        return None
    if cores is None:
        cores = _WHOLE if memory is None and percent in (None, _WHOLE) else 0
    return GpuRequest(count or 1, memory or -1, percent or _WHOLE, min(cores, _WHOLE))
