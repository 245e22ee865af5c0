"""Which differences of what Events say are meant."""

from tests.peers.worlds.difference import Difference
from tests.peers.worlds.seen import Seen

_OF_CHECKS = ("AdmissionCheckRejected", "EvictedDueToDeactivatedDueToAdmissionCheck")


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
        case "Normal AdmissionGateCleared" if one.there is None:
            return "gated or inactive"
        case _ if said.endswith(_OF_CHECKS) and one.there and one.here:
            return "later message"
        case _:
            return ""
