"""What the API says about itself: versions, groups, resources, and as much OpenAPI as kubectl asks for."""

from typing import Any

from ops.sandbox.embedded_cluster.api.built_in_fields import schema_name, schemas_of, type_of
from ops.sandbox.embedded_cluster.kinds import ApiKind

VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
VERSION = {
    "major": "1",
    "minor": "34",
    "gitVersion": "v1.34.0+kuelog",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "",
    "goVersion": "",
    "compiler": "",
    "platform": "linux/amd64",
}


def group_list(kinds: list[ApiKind]) -> dict[str, Any]:
    """/apis"""
    return {
        "kind": "APIGroupList",
        "apiVersion": "v1",
        "groups": [group(name, kinds) for name in sorted({kind.group for kind in kinds if kind.group})],
    }


def group(name: str, kinds: list[ApiKind]) -> dict[str, Any]:
    """/apis/<group>"""
    versions = _versions(name, kinds)
    found = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"kind": "APIGroup", "apiVersion": "v1", "name": name, "versions": found, "preferredVersion": found[0]}


def resource_list(name: str, version: str, kinds: list[ApiKind]) -> dict[str, Any] | None:
    """/api/v1 or /apis/<group>/<version>; None when there is no such version."""
    inside = [kind for kind in kinds if kind.group == name and kind.version == version]
    if not inside:
        return None
    resources: list[dict[str, Any]] = []
    for kind in inside:
        resources.append(_resource(kind))
        if kind.status:
            resources.append({**_resource(kind, part="status"), "verbs": ["get", "patch", "update"]})
        if kind.scale is not None:
            scale = {"kind": "Scale", "group": "autoscaling", "version": "v1"}
            resources.append({**_resource(kind, part="scale"), **scale, "verbs": ["get", "patch", "update"]})
    api = f"{name}/{version}" if name else version
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": api, "resources": resources}


def openapi_paths(kinds: list[ApiKind]) -> dict[str, Any]:
    """/openapi/v3: a document for every group version."""
    names = {f"api/{kind.version}" if not kind.group else f"apis/{kind.group}/{kind.version}" for kind in kinds}
    return {"paths": {name: {"serverRelativeURL": f"/openapi/v3/{name}"} for name in sorted(names)}}


def openapi_document(path: str, kinds: list[ApiKind]) -> dict[str, Any]:
    """/openapi/v3/<group version>: what kubectl explains each kind by, and that the server validates fields."""
    inside = [
        kind for kind in kinds if path == (f"api/{kind.version}" if not kind.group else f"apis/{kind.api_version}")
    ]
    schemas: dict[str, Any] = {}
    paths: dict[str, Any] = {}
    for kind in inside:
        gvk = [{"group": kind.group, "version": kind.version, "kind": kind.kind}]
        known = type_of(kind)
        if known:
            schemas_of(known, schemas)
        name = schema_name(known) if known else f"kuelog.{kind.group}.{kind.version}.{kind.kind}"
        own = kind.schema or schemas.get(name) or {"type": "object"}
        schemas[name] = {**own, "x-kubernetes-group-version-kind": gvk}
        base = f"/{path}/namespaces/{{namespace}}/{kind.plural}" if kind.namespaced else f"/{path}/{kind.plural}"
        query = [
            {"name": one, "in": "query", "schema": {"type": "string"}}
            for one in ("dryRun", "fieldManager", "fieldValidation")
        ]
        one = {"parameters": query, "x-kubernetes-group-version-kind": gvk[0], "responses": {}}
        paths[base] = {"post": {**one, "x-kubernetes-action": "post"}}
        paths[f"{base}/{{name}}"] = {
            "patch": {**one, "x-kubernetes-action": "patch"},
            "put": {**one, "x-kubernetes-action": "put"},
        }
    return {
        "openapi": "3.0.0",
        "info": {"title": "kuelog", "version": "1"},
        "paths": paths,
        "components": {"schemas": schemas},
    }


def load_built_in(kinds: list[ApiKind]) -> None:
    """Have at hand what the documents of built-in kinds are made of: half a second of CPU, for which kubectl waits else."""
    for kind in kinds:
        if known := type_of(kind):
            schemas_of(known)


def _versions(name: str, kinds: list[ApiKind]) -> list[str]:
    inside = [kind for kind in kinds if kind.group == name]
    storage = {kind.storage for kind in inside if kind.storage}
    return sorted({kind.version for kind in inside}, key=lambda version: (version not in storage, version))


def _resource(kind: ApiKind, part: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": f"{kind.plural}/{part}" if part else kind.plural,
        "singularName": "" if part else kind.singular,
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": VERBS,
    }
    if part:
        return found
    if kind.short:
        found["shortNames"] = list(kind.short)
    if kind.categories:
        found["categories"] = list(kind.categories)
    return found
