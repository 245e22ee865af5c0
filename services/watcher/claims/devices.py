"""The devices that drivers publish, and which of them meet the expressions of a class, a request and a source."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from events.api.claims import ApiDevice, ApiResourceSlice, DeviceSelector
from services.watcher.claims.selectors import Selectors


class Offered(msgspec.Struct, frozen=True):
    """A device and its driver."""

    driver: str
    device: ApiDevice


class Published:
    """The devices of all slices, in order of the names of the slices."""

    def __init__(self, slices: Mapping[str, ApiResourceSlice]) -> None:
        self._slices = [slices[name] for name in sorted(slices)]

    def devices(self, drivers: Sequence[str] | None = None) -> list[Offered]:
        """All devices, or those of some drivers, whether their pool is complete or not."""
        return [
            Offered(one.spec.driver, device)
            for one in self._slices
            if drivers is None or one.spec.driver in drivers
            for device in one.spec.devices or ()
        ]

    def complete(self, driver: str) -> Iterator[ApiDevice]:
        """The devices of those pools of a driver of which all slices of the last generation are there."""
        pools: dict[str, list[ApiResourceSlice]] = {}
        for one in self._slices:
            if one.spec.driver == driver:
                pools.setdefault(one.spec.pool.name, []).append(one)
        for _, slices in sorted(pools.items()):
            last = max(one.spec.pool.generation for one in slices)
            current = [one for one in slices if one.spec.pool.generation == last]
            if len(current) == current[0].spec.pool.resource_slice_count:
                for one in current:
                    yield from one.spec.devices or ()


def expressions(selectors: Iterable[DeviceSelector] | None) -> tuple[str, ...]:
    """The CEL expressions among selectors."""
    return tuple(one.cel.expression for one in selectors or () if one.cel is not None)


def meets_all(selectors: Selectors, wanted: Iterable[str], driver: str, device: ApiDevice) -> bool:
    """Whether a device meets every expression. Raises `SelectorFailed`."""
    return all(selectors.meets(expression, driver, device) for expression in wanted)
