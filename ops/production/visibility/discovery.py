"""What an aggregated API says of itself, as clients of Kubernetes ask for it: its group, and the resources of a version."""

from collections.abc import Sequence

from events.json_object import JsonObject


def api_group(name: str, versions: Sequence[str]) -> JsonObject:
    """What /apis/<group> says; the first version is preferred."""
    found = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"kind": "APIGroup", "apiVersion": "v1", "name": name, "versions": found, "preferredVersion": found[0]}


def api_resource_list(group: str, version: str, resources: Sequence[JsonObject]) -> JsonObject:
    """What /apis/<group>/<version> says."""
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": f"{group}/{version}",
        "resources": list(resources),
    }
