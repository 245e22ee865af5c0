"""Pods that claim devices on a real API server that serves resource.k8s.io in an older version alone: claims are read and counted."""

import copy
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from events.json_object import JsonObject
from ops.production.process.clock import ScaledClock
from services.runtime.cluster_port import Resource
from tests.conftest import ABSENT, ASSETS
from tests.services.watcher.claims.claim_objects import claim
from tests.services.watcher.claims.test_older_versions import old
from tests.stage.api_server import ApiServer
from tests.stage.installation import Installation
from tests.stage.real import Real
from tests.stage.stage import Stage
from tests.stories.claiming import (
    DRIVER,
    claiming,
    devices,
    node,
    one_class,
    one_template,
    queue_manifests,
    set_up,
    told_of,
    until_shown,
    usage_of,
)

GROUP = "resource.k8s.io"
VERSIONS = ("v1", "v1beta2", "v1beta1")
HOLDER = "default/first"


@pytest.fixture(params=VERSIONS[1:])
def version(request: pytest.FixtureRequest) -> str:
    """The one that is served."""
    return str(request.param)


@pytest.fixture
async def older(version: str, tmp_path: Path, clock: ScaledClock) -> AsyncIterator[Stage]:
    """A stage on an API server of its own. Nobody allocates devices there: the control plane of its release asks for v1."""
    assets = os.environ.get(ASSETS)
    if not assets:
        pytest.skip(ABSENT)
    served = ",".join(f"{GROUP}/{one}={str(one == version).lower()}" for one in VERSIONS)
    server = ApiServer(Path(assets), tmp_path / "server", alone=True, options=[f"--runtime-config={served}"])
    server.start()
    installation = Installation(server.kubeconfig, tmp_path, server=server)
    try:
        async with Stage(tmp_path, Real(installation, clock, older={GROUP: version}), clock) as found:
            yield found
    finally:
        installation.stop()
        server.stop()


def as_served(value: JsonObject, version: str) -> JsonObject:
    """An object of resource.k8s.io as that version has it."""
    found = old(value) if version == "v1beta1" else copy.deepcopy(value)
    return {**found, "apiVersion": f"{GROUP}/{version}"}


async def test_claims_are_read_counted_and_shown_with_who_holds_which_device(older: Stage, version: str) -> None:
    stage = older
    claims = (devices(4), one_class(), one_template("two", count=2))
    await set_up(stage, node(), *(as_served(one, version) for one in claims), *queue_manifests("gpus", nominal=5))
    await stage.add(claiming("first", templates=("two",), pods=2))
    await stage.until(lambda: usage_of(stage, "first") == {"gpus": "4"})
    await stage.add(claiming("second", templates=("two",)))
    await stage.until(lambda: "insufficient unused quota for gpus" in told_of(stage, "second")[2])
    await stage.until(lambda: bool(stage.of("pods")))
    pod = stage.of("pods")[0]["metadata"]["name"]
    given = claim("given", f"{DRIVER}/devices/gpu-1", pods=[pod], request=request_of("gpu"))
    await stage.add(as_served(given, version))
    await stage.client.merge(
        Resource(group=GROUP, version=version, plural="resourceclaims", kind="ResourceClaim"),
        "default",
        "given",
        {"status": given["status"]},
        subresource="status",
    )
    shown = await until_shown(stage, lambda found: any(one["holders"] for one in found))
    held = [
        (one["device"], one["holders"][0]["holder"], one["holders"][0]["resource"]) for one in shown if one["holders"]
    ]
    assert held == [("gpu-1", HOLDER, "gpus")]
    assert len(shown) == 4


def request_of(device_class: str) -> JsonObject:
    """The one request of a claim."""
    return {"name": "r", "exactly": {"deviceClassName": device_class}}
