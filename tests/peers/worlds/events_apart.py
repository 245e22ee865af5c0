"""Which differences of what Events say are meant."""

from tests.peers.worlds.difference import Difference
from tests.peers.worlds.seen import Seen

_OF_CHECKS = ("AdmissionCheckRejected", "EvictedDueToAdmissionCheck", "EvictedDueToDeactivatedDueToAdmissionCheck")
_NO_MATCH = "No matching Workload"


def name_of_event(one: Difference, here: Seen) -> str:
    """The name of a difference of an Event that is meant."""
    if one.path[0] != "events":
        return ""
    about, _, said = one.path[1].partition(": ")
    match said:
        case "Warning Inadmissible" if one.there is None:
            return "said in an Event"
        case "Normal EvictedDueToDeactivated" if (
            one.there is None and f"{about}: Normal QuotaReserved" not in here["events"]
        ):
            return "said in an Event"
        case "Normal UpdatedWorkload" if one.there is None:
            return "same containers"
        case "Normal DeletedWorkload" if one.here is None:
            return "made anew"
        case "Normal EvictedDueToNoMatchingWorkload" if one.there is None:
            return "made anew"
        case "Normal Stopped" if one.there and one.here and any(text.startswith(_NO_MATCH) for text in one.there):
            return "made anew"
        case "Normal AdmissionGateCleared" if one.there is None:
            return "gated or inactive"
        case _ if said.endswith(_OF_CHECKS) and one.there and one.here:
            return "later message"
        case _:
            return ""
