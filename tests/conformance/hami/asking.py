"""Checks of cases about what containers and pods ask for, and what the webhook makes of it."""

from typing import Any

from events.quantity import parse_quantity
from projections.devices.card_config import NvidiaDefaults
from projections.devices.requests.card_requests import read_request
from projections.devices.requests.mutation import ContainerRequest, mutate
from projections.devices.vendors.table import NVIDIA
from projections.devices.vendors.vendor import Vendor
from tests.conformance.difference import first_difference
from tests.conformance.hami.shapes import UNSET_PERCENT, vendor_of, vendors_in

Case = dict[str, Any]
NOTHING = {"count": 0, "type": "", "mem": 0, "mem_percent": 0, "cores": 0}


def quantities(rows: dict[str, str] | None) -> dict[str, Any]:
    """Amounts, exactly."""
    return {name: parse_quantity(text) for name, text in (rows or {}).items()}


def asked_in(container: Case) -> ContainerRequest:
    """What a container asks for."""
    return ContainerRequest(
        limits=quantities(container["limits"]),
        requests=quantities(container["requests"]),
        env=tuple((row["name"], row["value"]) for row in container.get("env") or ()),
    )


def defaults_in(config: Case) -> NvidiaDefaults:
    """HAMi's configuration for NVIDIA cards."""
    if "default_gpu_num" not in config:
        return NvidiaDefaults()
    return NvidiaDefaults(
        count=config["default_gpu_num"],
        memory=config["default_mem"],
        cores=config["default_cores"],
        core_policy=config["gpu_core_policy"],
        overwrite_env=config["overwrite_env"],
        priority=config["priority_name"],
        runtime_class=config["runtime_class"],
    )


def request_out(vendor: Vendor, asked: ContainerRequest, defaults: NvidiaDefaults) -> Case | None:
    """The request of a container, as recorded: HAMi tells an absent percentage as 101 for NVIDIA, else as 0."""
    found = read_request(vendor, asked.limits, asked.requests, defaults)
    if found is None:
        return None
    unset = UNSET_PERCENT if vendor.word == NVIDIA else 0
    return {
        "count": found.count,
        "type": found.vendor,
        "mem": found.memory,
        "mem_percent": unset if found.percent is None else found.percent,
        "cores": found.cores,
    }


def container_request(case: Case) -> str | None:
    """The request of one container for one vendor."""
    given = case["in"]
    found = request_out(vendor_of(given), asked_in(given["container"]), defaults_in(given["config"]))
    return first_difference(case["out"]["request"], found or NOTHING)


def pod_requests(case: Case) -> str | None:
    """The requests of all containers of a pod."""
    pod = case["in"]["pod"]
    vendors = vendors_in(case["in"])
    found = []
    for container in [*pod["init_containers"], *pod["containers"]]:
        asked = asked_in(container)
        rows = {word: request_out(vendor, asked, NvidiaDefaults()) for word, vendor in vendors.items()}
        found.append({word: row for word, row in rows.items() if row})
    return first_difference(case["out"]["requests"], found)


def mutate_container(case: Case) -> str | None:
    """The webhook's effect on one container."""
    given, expected = case["in"], case["out"]
    defaults = defaults_in(given["config"])
    annotations = given["pod"]["annotations"] or {}
    found = mutate(vendor_of(given), asked_in(given["container"]), annotations, defaults)
    if found.refused:
        told = {"error": expected["error"], "found": expected["found"]}
        return first_difference(told, {"error": True, "found": found.found})
    runtime = given["pod"].get("runtime_class") or found.asked.runtime_class or None
    return first_difference(
        {
            "error": expected["error"],
            "found": expected["found"],
            "container": _container_out(asked_in(expected["container"])),
            "runtime_class": expected["pod"]["runtime_class"],
            "annotations": expected["pod"]["annotations"] or {},
        },
        {
            "error": None,
            "found": found.found,
            "container": _container_out(found.asked),
            "runtime_class": runtime,
            "annotations": {**annotations, **found.annotations},
        },
    )


def _container_out(asked: ContainerRequest) -> Case:
    return {"limits": dict(asked.limits), "requests": dict(asked.requests), "env": [list(each) for each in asked.env]}
