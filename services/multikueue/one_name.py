"""Which MultiKueueCluster leads to which cluster: each has one name here, for what stands under another one would not be wanted there.

Rule: docs/rules/multikueue.md#one-name
"""

import asyncio
from collections.abc import Callable, Mapping

from events.bounded_yaml import yaml_of
from events.json_object import is_object
from events.multikueue import MultiKueueClusterObserved
from services.multikueue.kubeconfig import in_use


def address_in(kubeconfig: str) -> str:
    """Where the cluster of a kubeconfig that may be used answers, and under which name its certificate is proved. Raises `KubeConfigRefused`."""
    value = yaml_of(kubeconfig)
    server, _ = in_use(value if is_object(value) else {})
    proved = str(server.get("tls-server-name") or "")
    return f"{str(server.get('server', '')).rstrip('/')}{f' ({proved})' if proved else ''}"


class OneName:
    """The names that lead somewhere, as this process finds them. Whoever was connected before comes first, else whoever comes first."""

    def __init__(self, again: Callable[[str], None]) -> None:
        """`again` has a name tried anew that another one takes the place of."""
        self._again = again
        self._holders: dict[str, str] = {}
        """By address the name that leads there."""
        self._wanted: Mapping[str, MultiKueueClusterObserved] = {}
        self._tried: dict[str, asyncio.Event] = {}
        self._before: set[str] = set()
        """Names that were connected when this process saw them first."""

    def want(self, found: Mapping[str, MultiKueueClusterObserved]) -> None:
        """The clusters that there are by now."""
        self._before |= {name for name, one in found.items() if one.active and name not in self._tried}
        self._tried = {name: self._tried.get(name) or asyncio.Event() for name in found}
        self._before &= found.keys()
        self._wanted = found
        self._holders = {address: name for address, name in self._holders.items() if name in found}

    def note_tried(self, name: str) -> None:
        """It is known by now where a name leads, or that nobody can say."""
        if name in self._tried:
            self._tried[name].set()

    async def other(self, name: str, address: str) -> str:
        """The name that leads to that address already; empty where this one does from now on."""
        for one in sorted(self._before - {name}) if name not in self._before else ():
            if one in self._tried:
                await self._tried[one].wait()
        self._holders = {place: one for place, one in self._holders.items() if one != name or place == address}
        holder = self._holders.setdefault(address, name)
        if holder != name and self._is_connected(name) and not self._is_connected(holder):
            self._holders[address] = name
            self._again(holder)
            return ""
        return "" if holder == name else holder

    def _is_connected(self, name: str) -> bool:
        found = self._wanted.get(name)
        return found is not None and found.active
