"""What a ledger is asked for."""

import msgspec

from events.event import Millis
from projections.billing.entries.entry import Window
from projections.billing.entries.time_cuts import TimeCuts

ALWAYS = Window(0, 2**62)


class LedgerScope(msgspec.Struct, frozen=True, kw_only=True):
    """The time that entries are wanted of, and what else they are wanted for."""

    window: Window = ALWAYS
    began: Millis = 0
    """When the log begins: before that nothing of a month is missing."""
    grain: Millis | None = None
    """The stretches in which the time of cards is kept; None for the window as one."""
    wanted: frozenset[str] = frozenset()
    """Ids of entries that are to be found wherever they lie."""
    priced: frozenset[str] = frozenset()
    """The resources of quota that any price list of the log prices; without one quota makes no entries."""
    prices_devices: bool = False
    """Whether any price list of the log prices devices that claims hold; without one they make no entries."""
    queues_as_named: bool = False
    """Whether a line names the queue that its job named by the time it was let in, whatever who let it in knew: as months of form 1 do."""
    cuts: TimeCuts | None = None
    """The moments at which what operators enter may change the price of unused cards or lent quota; None where nothing prices them."""


EVERYTHING = LedgerScope()
