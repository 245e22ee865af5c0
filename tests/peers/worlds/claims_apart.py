"""Why those who claim devices stand otherwise under Kueue than under kuelog, where that is meant; the reasons are in `compared.py`."""

import re

from events.json_object import JsonObject
from tests.peers.worlds.claims import TEMPLATE
from tests.peers.worlds.difference import Difference
from tests.peers.worlds.drawn import Step, World
from tests.peers.worlds.seen import Seen
from tests.peers.worlds.standing import NO_LONGER_FITS, waits

_ABOUT_CLAIMS = r"(spec\.podSets\[\d+\]\.template\.spec\.resourceClaims|DRA resource claims not supported)"
_NO_QUEUE = r"(Local|Cluster)Queue \S* ?(doesn't exist|is inactive)"


class ClaimsApart:
    """Names the differences of who claims devices."""

    def __init__(self, world: World) -> None:
        self._world = world

    def name(self, one: Difference, before: Seen) -> str:
        """The name of a difference that is meant; `before` is what was seen under Kueue before the step."""
        if "claims" not in self._world.features or one.path[0] != "workloads" or not self._claims(one.path[1]):
            return ""
        match one.path[2:]:
            case ("conditions", "Requeued") if one.here is None and re.match(_ABOUT_CLAIMS, one.there[2]):
                return "requeue of claims"
            case ("conditions", "QuotaReserved") if one.here is not None:
                return _of_reservation(one, before)
            case ("conditions", "Evicted") if one.there is None and one.here[1] == "Deactivated":
                return "silent to who claims"
            case ("evictions",) if not one.there and [reason for reason, _, _ in one.here] == ["Deactivated"]:
                return "silent to who claims"
            case _:
                return ""

    def _claims(self, workload: str) -> bool:
        """Whether its pods claim devices, or may by a resource that they ask for."""
        return any(_claimed(one) or _asks_for_extended(one) for one in self._world.pods_of(workload))


def _of_reservation(one: Difference, before: Seen) -> str:
    if one.there is None:
        return "silent to who claims" if re.match(_NO_QUEUE, one.here[2]) else ""
    if one.here[1] == "AdmissionGated" and re.match(_ABOUT_CLAIMS, one.there[2]):
        return "claims before gates"
    if _by_resource(one.there[2]) == one.here[2]:
        return "name of a template"
    known = (before["workloads"].get(one.path[1]) or {}).get("conditions", {}).get("QuotaReserved")
    if one.there == known and re.match(_NO_QUEUE, one.here[2]):
        return "silent to who claims"
    about_claims = any(re.match(_ABOUT_CLAIMS, side[2]) for side in (one.there, one.here))
    return "claims looked at again" if about_claims and waits(one.here) and one.there == known else ""


def why_claims_end_it(world: World, number: int, there: Seen, here: Seen) -> str:
    """The name of a difference of who claims devices, after which the world goes on otherwise; empty while there is none."""
    step, missed = world.steps[number], ""
    for name, one in there["workloads"].items():
        ours = here["workloads"].get(name) or one
        told, said = (_why(one), _why(ours))
        about_claims = any(re.match(_ABOUT_CLAIMS, side) for side in (told, said))
        if step.kind == TEMPLATE and about_claims and (_is_missed(step, told) or _by_resource(told) != said):
            return "claims looked at again"
        claims = any(map(_claimed, world.pods_of(name)))
        if claims and told == NO_LONGER_FITS and any("domains" in pods for pods in ours["pods"].values()):
            missed = "claims in domains"
    return missed


def _why(workload: Seen) -> str:
    """Why it has no quota."""
    found = workload["conditions"].get("QuotaReserved")
    return found[2] if found and found[0] == "False" else ""


def _is_missed(step: Step, told: str) -> bool:
    """Whether a template is told to be missing that comes or goes in this step."""
    return f'ResourceClaimTemplate.resource.k8s.io "{step.name}" not found' in told


def _claimed(pod_set: JsonObject) -> bool:
    return bool(pod_set["template"]["spec"].get("resourceClaims"))


def _asks_for_extended(pod_set: JsonObject) -> bool:
    """Whether a container asks for a resource behind which a class may stand."""
    pod = pod_set["template"]["spec"]
    containers = (*pod.get("containers", ()), *pod.get("initContainers", ()))
    return any("/" in name for one in containers for name in one.get("resources", {}).get("requests", {}))


def _by_resource(message: str) -> str:
    return re.sub(r"\bResourceClaimTemplate(\.resource\.k8s\.io)", r"resourceclaimtemplates\1", message)
