"""HAMi's part of the scheduler's stand-in: which cards a pod gets, and the annotations that say so."""

from typing import Any

import msgspec

from events.card import CardShare
from events.event import Millis
from events.quantity import BadQuantity, to_units
from ops.sandbox.embedded_cluster.nodes.hami_dialects import DIALECTS, NVIDIA, Dialect
from ops.sandbox.embedded_cluster.selection import look
from ops.sandbox.embedded_cluster.store import Object, Store
from projections.devices.annotations.index_annotations import PinContext
from projections.devices.annotations.pod_annotations import card_annotations
from projections.devices.vendors.table import BY_WORD

REGISTER, ALLOCATED = NVIDIA.register, NVIDIA.allocated
_WHOLE = 100


class GpuRequest(msgspec.Struct, frozen=True):
    """What one container asks of each of `count` cards; memory -1 means the whole card."""

    dialect: Dialect
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
            taken = self.taken(node["metadata"]["name"])
            found, reason = self._fit(node, taken, pod, requests)
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
        given: dict[str, str] = {}
        for word in dict.fromkeys(request.dialect.word for request in requests if request is not None):
            own = [
                shares if request is not None and request.dialect.word == word else []
                for request, shares in zip(requests, best[3], strict=True)
            ]
            given |= card_annotations(BY_WORD[word], own, notes, PinContext(at=stamp, node=best[1]))
            given[DIALECTS[word].to_allocate] = ";" * len(own)
        return (
            best[2],
            {
                "hami.io/vgpu-node": best[1],
                "hami.io/vgpu-time": stamp,
                **given,
                "hami.io/bind-time": stamp,
                "hami.io/bind-phase": "success",
            },
        ), ""

    def cards_of(self, node: Object) -> int:
        """How many cards of all vendors a node has that may be used."""
        return sum(len(self._cards(node, dialect)) for dialect in DIALECTS.values())

    def _cards(self, node: Object, dialect: Dialect) -> list[Object]:
        text = (node["metadata"].get("annotations") or {}).get(dialect.register)
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
            notes = pod["metadata"].get("annotations") or {}
            texts = [notes.get(one.allocated, "") for one in DIALECTS.values()]
            for entry in ":".join(texts).replace(";", ":").split(":"):
                if entry:
                    uuid, _, memory, cores = entry.split(",")
                    slots, held, used = taken.get(uuid, (0, 0, 0))
                    taken[uuid] = (slots + 1, held + int(memory), used + int(cores))
        return taken

    def _fit(
        self, node: Object, taken: dict[str, tuple[int, int, int]], pod: Object, requests: list[GpuRequest | None]
    ) -> tuple[list[list[CardShare]] | None, str]:
        annotations = pod["metadata"].get("annotations") or {}
        sign = -1 if annotations.get("hami.io/gpu-scheduler-policy") == "binpack" else 1
        state = dict(taken)
        result: list[list[CardShare]] = []
        for request in requests:
            if request is None:
                result.append([])
                continue
            cards = [card for card in self._cards(node, request.dialect) if _wanted(card, annotations, request.dialect)]
            cards.sort(key=lambda card: (sign * state.get(card["id"], (0, 0, 0))[1], card.get("index", 0)))
            picked: list[CardShare] = []
            for card in cards:
                share = _share(card, request, state.get(card["id"], (0, 0, 0)))
                if share is None:
                    continue
                slots, held, used = state.get(share.uuid, (0, 0, 0))
                state[share.uuid] = (slots + 1, held + share.memory, used + share.cores)
                picked.append(share)
                if len(picked) == request.count:
                    break
            if len(picked) < request.count:
                return None, "node(s) without a card that fits (HAMi)"
            result.append(picked)
        return result, ""


def _wanted(card: Object, annotations: dict[str, str], dialect: Dialect) -> bool:
    """Whether the pod's annotations allow a card."""
    pins, banned = (
        [one.strip() for one in annotations.get(key, "").split(",") if one.strip()]
        for key in (dialect.use, dialect.avoid)
    )
    model = str(card.get("type", "")).lower()
    wanted, unwanted = (annotations.get(key, "").lower() for key in (dialect.use_model, dialect.avoid_model))
    return (
        not (pins and card["id"] not in pins)
        and card["id"] not in banned
        and not (wanted and wanted not in model)
        and not (unwanted and unwanted in model)
    )


def _share(card: Object, request: GpuRequest, state: tuple[int, int, int]) -> CardShare | None:
    """What a request takes of a card of which so much is taken; None where that is too much."""
    slots, held, used = state
    memory = request.memory if request.memory >= 0 else card["devmem"] * request.percent // 100
    cores = request.cores
    if request.dialect.compute_units:
        cores = max(1, card["devcore"] * cores // _WHOLE)
    elif (cores == _WHOLE and slots > 0) or (used == card["devcore"] and cores == 0):
        return None
    if slots >= card["count"] or held + memory > card["devmem"] or used + cores > card["devcore"]:
        return None
    word = str(card["type"]) if request.dialect.keeps_model else request.dialect.word
    return CardShare(uuid=card["id"], vendor=word, memory=memory, cores=cores)


def gpu_requests(pod: Object) -> list[GpuRequest | None]:
    """What each container asks of cards, init containers first, as HAMi's webhook leaves it."""
    spec = pod["spec"]
    return [_request(one) for one in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ()))]


def _request(container: Object) -> GpuRequest | None:
    resources = container.get("resources") or {}
    asked: dict[str, Any] = {**(resources.get("requests") or {}), **(resources.get("limits") or {})}
    dialect = next((one for one in DIALECTS.values() if any(name in asked for name in one.names())), None)
    if dialect is None:
        return None

    def read(name: str) -> int | None:
        try:
            return to_units(name, asked[name]) if name in asked else None
        except BadQuantity:
            return None

    count, memory, percent, cores = (
        read(name) for name in (dialect.count, dialect.memory, dialect.percent, dialect.cores)
    )
    if count is None and memory is None and percent is None and cores is None:
        return None
    if dialect.sizes:
        memory = next((size for size in dialect.sizes if memory is not None and memory <= size), None)
        cores = cores or 0
    elif cores is None:
        cores = _WHOLE if dialect.compute_units or (memory is None and percent in (None, _WHOLE)) else 0
    return GpuRequest(dialect, count or 1, memory or -1, percent or _WHOLE, min(cores, _WHOLE))
