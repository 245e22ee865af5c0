"""What an attempt of the admitter came to, in Kueue's words."""

from collections.abc import Iterable

from events.admission import AdmissionRefused, PreemptionRequested, QuotaReserved
from events.catalogue import AnyEvent

SUCCESS, INADMISSIBLE = "success", "inadmissible"


def result_of(events: Iterable[AnyEvent]) -> str:
    """`success` where quota was reserved, else `inadmissible`; empty where nobody was tried."""
    found = ""
    for event in events:
        if isinstance(event, QuotaReserved):
            return SUCCESS
        if isinstance(event, AdmissionRefused | PreemptionRequested):
            found = INADMISSIBLE
    return found
