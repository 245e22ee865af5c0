"""Which function checks which kind of recorded HAMi cases."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from tests.conformance.hami import asking, cards, codecs, nodes, pods, quotas, writing
from tests.conformance.hami.scope import why_not
from tests.conformance.runner import Suite

Case = dict[str, Any]

CHECKS: dict[str, Callable[[Case], str | None]] = {
    "add_usage": cards.add_usage,
    "check_type": cards.check_type,
    "check_uuid": cards.check_uuid,
    "device_less": cards.device_less,
    "device_score": cards.device_score,
    "device_sort": cards.device_sort,
    "decode_container_devices": codecs.decode_container_devices,
    "decode_mig_allocations": codecs.decode_mig_allocations,
    "decode_node_devices_json": codecs.decode_node_devices_json,
    "decode_node_devices_legacy": codecs.decode_node_devices_legacy,
    "decode_pair_scores": codecs.decode_pair_scores,
    "decode_pod_devices": codecs.decode_pod_devices,
    "encode_container_devices": codecs.encode_container_devices,
    "encode_node_devices_json": codecs.encode_node_devices_json,
    "encode_node_devices_legacy": codecs.encode_node_devices_legacy,
    "encode_pod_devices": codecs.encode_pod_devices,
    "encode_pod_single_device": codecs.encode_pod_single_device,
    "node_devices": codecs.node_devices,
    "parse_node_lock": codecs.node_lock,
    "container_request": asking.container_request,
    "mutate_container": asking.mutate_container,
    "pod_requests": asking.pod_requests,
    "app_only_usage": pods.app_only_usage,
    "collapse_init_usage": pods.collapse_init_usage,
    "filter": pods.filter_pod,
    "fit_quota": quotas.fit_quota,
    "nodes_usage": pods.nodes_usage,
    "patch_annotations": writing.patch_annotations,
    "pod_fit_quota": quotas.pod_fit_quota,
    "quota_op": quotas.quota_op,
    "webhook": writing.webhook,
    "calc_score": nodes.calc_score,
    "fit_in_devices": nodes.fit_in_devices,
    "node_default_score": nodes.node_default_score,
    "node_override_score": nodes.node_override_score,
    "score_node": nodes.score_node,
    "fit": cards.fit,
    "mig_can_place": cards.mig_can_place,
    "mig_candidate": cards.mig_candidate,
    "mig_placement": cards.mig_placement,
    "parse_weights": cards.weights,
}


def hami_suite(path: Path, document: dict[str, Any]) -> Suite:
    """The suite in one file."""
    kind = document["kind"]
    return Suite(
        name=path.stem,
        path=path,
        cases=[(case["name"], case) for case in document["cases"]],
        check=CHECKS.get(kind),
        why_not=partial(why_not, kind),
    )
