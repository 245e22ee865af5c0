"""The deciders, in the order in which they take their turns."""

from services.accountant.decide import Accountant
from services.admitter.decide import Admitter
from services.multikueue.decide import MultiKueue
from services.preemptor.decide import Preemptor
from services.queue_manager.decide import QueueManager
from services.runtime.partition.host import Decider


def quota_deciders() -> tuple[Decider, ...]:
    """Those that write to `LOG_0`."""
    return QueueManager(), Admitter(), Preemptor(), MultiKueue()


def all_deciders() -> tuple[Decider, ...]:
    """Those, and the accountant of the cards."""
    return *quota_deciders(), Accountant()
