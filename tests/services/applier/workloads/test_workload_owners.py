"""Who owns the Workload object of what, and who controls it: Kueue's manager ends pods whose Workload something else controls."""

from typing import Any

import pytest
from msgspec.structs import replace

from events.json_object import JsonObject
from events.workload import Owner
from services.applier.patches import owners_patch
from services.applier.workloads.workload_manifest import workload_object
from tests.services.applier.workloads.test_what_others_write import application

SET = Owner(kind="StatefulSet", name="s", uid="u-s", api_version="apps/v1")
GROUPS = Owner(kind="LeaderWorkerSet", name="l", uid="u-l-0", api_version="leaderworkerset.x-k8s.io/v1", part="0")
CONTROLS: dict[str, Any] = {"controller": True, "blockOwnerDeletion": True}
POD = {"apiVersion": "v1", "kind": "Pod", "name": "s-0", "uid": "u-0"}


def owners(owner: Owner) -> list[JsonObject]:
    return workload_object(application("w", 1, owner=owner).of)["metadata"]["ownerReferences"]


def reference(owner: Owner, **more: Any) -> JsonObject:
    return {"apiVersion": owner.api_version, "kind": owner.kind, "name": owner.name, "uid": owner.uid, **more}


@pytest.mark.parametrize("owner", [SET, GROUPS])
def test_what_serves_owns_its_workload_and_does_not_control_it(owner: Owner) -> None:
    assert owners(owner) == [reference(owner)]


@pytest.mark.parametrize("kind", ["Job", "Pod"])
def test_a_job_and_a_pod_alone_control_theirs(kind: str) -> None:
    owner = Owner(kind=kind, name="j", uid="u-j", api_version="batch/v1" if kind == "Job" else "v1")
    assert owners(owner) == [reference(owner, **CONTROLS)]


@pytest.mark.parametrize("owner", [SET, GROUPS])
def test_an_object_that_was_controlled_by_what_serves_is_so_no_more(owner: Owner) -> None:
    written = application("w", 1, owner=owner)
    of = replace(written, kind=None, of=written.of)
    found: JsonObject = {"metadata": {"resourceVersion": "7", "ownerReferences": [POD, reference(owner, **CONTROLS)]}}
    wanted = {"metadata": {"resourceVersion": "7", "ownerReferences": [POD, reference(owner)]}}
    assert owners_patch(found, of) == wanted
    assert owners_patch(wanted, of) is None
