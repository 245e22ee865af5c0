"""Which version of Kueue's format a configuration file is written in, and what an older one says in the words of the latest.

Rule: docs/rules/objects.md#configuration-versions
"""

from events.json_object import JsonObject, is_object

LATEST, OLDER = "config.kueue.x-k8s.io/v1beta2", "config.kueue.x-k8s.io/v1beta1"
_PODS_READY: JsonObject = {"enable": False, "timeout": "5m", "blockAdmission": True}
"""What the older version says of `waitForPodsReady` where the file says nothing."""


def in_latest(found: JsonObject) -> JsonObject:
    """The fields of a file as its latest version has them; one that names no version is of that. Raises `ValueError`."""
    version = found.get("apiVersion", "")
    if version in ("", LATEST):
        return found
    if version == OLDER:
        return _in_latest(found)
    instead = f"write {LATEST}, or {OLDER} where it is of the older one"
    raise ValueError(f"apiVersion: {version!r} is no version of the file: {instead}")


def _in_latest(found: JsonObject) -> JsonObject:
    """Both parts are off there unless the file says `enable: true`; all else is called and meant alike."""
    said = {"waitForPodsReady": {}, **found}
    ready, fair = said["waitForPodsReady"], said.get("fairSharing")
    if is_object(ready):
        said["waitForPodsReady"] = {**_PODS_READY, **ready}
    if is_object(fair):
        said["fairSharing"] = {"enable": False, **fair}
    return said
