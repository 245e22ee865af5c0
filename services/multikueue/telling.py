"""What a connection to a worker cluster has to know of the process that holds it."""

from typing import Protocol

from services.multikueue.one_name import OneName


class Telling(Protocol):
    """What is told from this process, of several that may be connected."""

    @property
    def leads(self) -> bool:
        """Whether it is shown from here which clusters are connected."""
        ...

    @property
    def names(self) -> OneName:
        """Which name leads to which cluster."""
        ...

    def serves(self, workload: str) -> bool:
        """Whether what is seen of a workload is told from here."""
        ...
