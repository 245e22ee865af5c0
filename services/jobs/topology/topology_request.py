"""What the annotations of a pod template say of topology, as the request of its pod set.

Rule: docs/rules/topology.md#annotations
"""

import re
from collections.abc import Mapping

import msgspec

from events.api.labels import (
    PODSET_GROUP_NAME,
    PODSET_PREFERRED_TOPOLOGY,
    PODSET_REQUIRED_TOPOLOGY,
    PODSET_SLICE_LAYERS,
    PODSET_SLICE_REQUIRED_TOPOLOGY,
    PODSET_SLICE_SIZE,
    PODSET_UNCONSTRAINED_TOPOLOGY,
)
from events.go_bool import as_bool
from events.json_object import JsonObject, object_at
from events.json_path import FieldBroken
from events.settings import SettingsObserved
from events.topology import SliceConstraint, TopologyRequest
from projections.feature_gates import enabled
from services.jobs.pod_sets.pod_set import PodIndex

MOST_LAYERS = 3
_WHOLE = re.compile(r"[+-]?[0-9]+")
_INT32 = range(-(2**31), 2**31)


class Layer(msgspec.Struct, frozen=True):
    """One entry of the annotation with layers of slices."""

    topology: str = ""
    size: int = 0


_layers = msgspec.json.Decoder(list[Layer] | None)


def topology_request(
    template: JsonObject, index: PodIndex, settings: SettingsObserved, field: str = "metadata"
) -> TopologyRequest | None:
    """What a pod set asks for, by its template and the labels of its kind of job; None when that is nothing.

    Raises `FieldBroken`, with the annotation below `field`.
    """
    if not enabled(settings, "TopologyAwareScheduling"):
        return None
    found: Mapping[str, str] = object_at(template, "metadata", "annotations")
    at = f"{field}.annotations"
    required = found.get(PODSET_REQUIRED_TOPOLOGY)
    preferred = found.get(PODSET_PREFERRED_TOPOLOGY) if required is None else None
    word = found.get(PODSET_UNCONSTRAINED_TOPOLOGY) if required is None and preferred is None else None
    layered = PODSET_SLICE_LAYERS in found and enabled(settings, "TASMultiLayerTopology")
    asked = TopologyRequest(
        required=required or "",
        preferred=preferred or "",
        unconstrained=None if word is None else _yes(word, at),
        pod_set_group=found.get(PODSET_GROUP_NAME, "") if required is not None or preferred is not None else "",
        slices=_layers_in(found[PODSET_SLICE_LAYERS], at) if layered else _slice_in(found, at),
        layered=layered,
        pod_index_label=index.label,
        sub_group_index_label=index.sub_group_label,
        sub_group_count=index.sub_group_count,
    )
    return None if asked == TopologyRequest() else asked


def as_int32(text: str) -> int | None:
    """A whole number of 32 bits in decimal digits; None when it is none."""
    number = int(text) if _WHOLE.fullmatch(text) else None
    return number if number is not None and number in _INT32 else None


def layers_in(text: str) -> list[Layer] | None:
    """The layers that an annotation lists; None when it is no JSON list of them."""
    try:
        return _layers.decode(text) or []
    except msgspec.MsgspecError:
        return None


def _yes(word: str, at: str) -> bool:
    said = as_bool(word)
    if said is None:
        raise FieldBroken(f"{at}[{PODSET_UNCONSTRAINED_TOPOLOGY}]", "must be a boolean value", "true or false")
    return said


def _slice_in(found: Mapping[str, str], at: str) -> tuple[SliceConstraint, ...]:
    level, text = found.get(PODSET_SLICE_REQUIRED_TOPOLOGY), found.get(PODSET_SLICE_SIZE)
    if level is None or text is None:
        return ()
    size = as_int32(text)
    if size is None:
        raise FieldBroken(f"{at}[{PODSET_SLICE_SIZE}]", "must be a numeric value", "how many pods are a slice")
    return (SliceConstraint(topology=level, size=size),)


def _layers_in(text: str, at: str) -> tuple[SliceConstraint, ...]:
    where, instead = f"{at}[{PODSET_SLICE_LAYERS}]", 'e.g. [{"topology": "rack", "size": 4}]'
    layers = layers_in(text)
    if layers is None:
        raise FieldBroken(where, "must be a valid JSON array", instead)
    if not 1 <= len(layers) <= MOST_LAYERS:
        raise FieldBroken(where, layer_count_text(len(layers)), instead)
    return tuple(SliceConstraint(topology=one.topology, size=one.size) for one in layers)


def layer_count_text(count: int) -> str:
    """What is said of too many layers, or none."""
    return f"topology constraints must contain between 1 and {MOST_LAYERS} entries: got {count}"
