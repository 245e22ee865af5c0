"""What the claims of a workload's pods come to in units of quota, in the steps and the words of Kueue.

Rule: docs/rules/claims.md
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TypeAlias

import msgspec

from events.amount import UNLIMITED, Requests, add, multiply
from events.api.claims import ApiClaimTemplate, ApiDevice, ApiDeviceClass, ExactDeviceRequest
from events.claims import CountedRequest, PodClaims
from events.pod_set import PodSet
from events.quantity import BadQuantity, ceil_fraction, parse_quantity
from services.watcher.claims.capacity import granted
from services.watcher.claims.class_mappings import ClassMappings, CountedSource
from services.watcher.claims.devices import Offered, Published, expressions, meets_all
from services.watcher.claims.extended_resources import extended_requests
from services.watcher.claims.field_errors import CannotCount, internal, invalid, not_found, raise_if_any
from services.watcher.claims.selectors import SelectorFailed, Selectors

BY_NAME = "KueueDRAIntegration feature does not support use of resource claims"
"""Why a claim that the pods share is refused, in Kueue's words."""
_Amount: TypeAlias = Callable[[CountedSource, ExactDeviceRequest, Sequence[ApiDevice], str], int]
"""What each device of a request is charged of one source, given all that match it and the field of the request."""


class CountedBy(msgspec.Struct, frozen=True):
    """What claims are counted by."""

    mappings: ClassMappings
    classes: Mapping[str, ApiDeviceClass]
    templates: Mapping[str, ApiClaimTemplate]
    """By `namespace/name`."""
    published: Published
    selectors: Selectors


def count_claims(pod_sets: Sequence[PodSet], namespace: str, around: CountedBy) -> list[PodClaims | None]:
    """What each pod of each pod set claims, None where it claims nothing that is counted. Raises `CannotCount`."""
    if any(claim.claim for one in pod_sets for claim in one.shape.claims):
        raise CannotCount(BY_NAME)
    found = [_PodSetClaims(index, one, namespace, around) for index, one in enumerate(pod_sets)]
    for one in found:
        one.count_devices()
    if around.mappings.extended:
        raise_if_any([message for one in found for message in one.count_extended()])
    for one in found:
        one.count_sources(around.mappings.counters, "counter", _consumed)
    for one in found:
        one.count_sources(around.mappings.capacities, "capacity", _shared)
    return [one.result() for one in found]


class _PodSetClaims:
    """The claims of one pod set while they are counted."""

    def __init__(self, index: int, pod_set: PodSet, namespace: str, around: CountedBy) -> None:
        self._pod_set, self._namespace, self._around = pod_set, namespace, around
        self._path = f"spec.podSets[{index}].template.spec"
        self._counted: list[CountedRequest] = []
        self._replaced: list[str] = []

    def result(self) -> PodClaims | None:
        """All that was counted; None where nothing was."""
        if not self._counted and not self._replaced:
            return None
        charged: Requests = {}
        for one in self._counted:
            charged[one.resource] = add(charged.get(one.resource, 0), one.amount)
        return PodClaims(
            charged=dict(sorted(charged.items())),
            replaced=tuple(sorted(self._replaced)),
            requests=tuple(self._counted),
        )

    def count_devices(self) -> None:
        """Charge the devices of claims that are made from templates, but for classes with sources. Raises `CannotCount`."""
        mappings = self._around.mappings
        for path, name, template in self._templates():
            prefix = f"ResourceClaimTemplate {name}: "
            counts: dict[str, int] = {}
            for exact in _requests(template, f"{path}.", prefix, self._around.selectors):
                if exact.device_class_name and not exact.admin_access:
                    device_class = exact.device_class_name
                    counts[device_class] = add(counts.get(device_class, 0), exact.count)
            self._match(path, prefix, template)
            for device_class, count in sorted(counts.items()):
                resource = mappings.resource(device_class)
                if not resource:
                    what = (
                        f"DeviceClass {device_class} is not mapped in DRA configuration for podset {self._pod_set.name}"
                    )
                    raise CannotCount(not_found(f"{path}.resourceClaimTemplateName", what))
                if not mappings.drivers(device_class):
                    self._charge(f"ResourceClaimTemplate {name}", device_class, count, resource, count)

    def count_extended(self) -> list[str]:
        """Charge extended resources that a device class stands behind, by that class; the messages are what keeps it from that."""
        mappings, messages = self._around.mappings, list[str]()
        for name, asked in sorted(extended_requests(self._pod_set.shape).items()):
            chosen = _class_behind(name, self._around.classes)
            if chosen is None:
                continue
            path = f"{self._path}.{asked.at}"
            resolves = f"extended resource {name} resolves to DeviceClass {chosen} with"
            if mappings.counters(chosen):
                instead = "use ResourceClaimTemplates with CEL selectors for counter-based quota"
                messages.append(invalid(path, name, f"{resolves} counters configured; {instead}"))
            elif mappings.capacities(chosen):
                instead = "use ResourceClaimTemplates with capacity.requests for capacity-based quota"
                messages.append(invalid(path, name, f"{resolves} capacity sources configured; {instead}"))
            elif asked.count >= UNLIMITED:
                detail = "total extended resource quantity overflows int64"
                messages.append(invalid(f"{path}.resources.requests[{name}]", str(asked.count), detail))
            else:
                self._replaced.append(name)
                self._charge(name, chosen, asked.count, mappings.resource(chosen) or name, asked.count)
        return messages

    def count_sources(self, sources: Callable[[str], list[CountedSource]], kind: str, each: _Amount) -> None:
        """Charge what devices consume of counters, or of capacity, instead of the devices. Raises `CannotCount`."""
        for path, name, template in self._templates():
            for index, request in enumerate(template.spec.spec.devices.requests or ()):
                exact = request.exactly
                if exact is None or exact.admin_access:
                    continue
                at = f"{path}.devices.requests[{index}]"
                for source in sources(exact.device_class_name):
                    matching = self._matching(source, exact, at)
                    if len(matching) < exact.count:
                        few = f"{len(matching)} device(s) match but {exact.count} requested"
                        raise CannotCount(internal(at, f"insufficient matching devices for {kind} driver: {few}"))
                    amount = multiply(each(source, exact, matching, at), exact.count)
                    by = f"ResourceClaimTemplate {name}"
                    self._charge(by, exact.device_class_name, exact.count, source.resource, amount)

    def _charge(self, asked_by: str, device_class: str, count: int, resource: str, amount: int) -> None:
        self._counted.append(
            CountedRequest(asked_by=asked_by, device_class=device_class, count=count, resource=resource, amount=amount)
        )

    def _templates(self) -> Iterator[tuple[str, str, ApiClaimTemplate]]:
        """Field, name and template of each claim that is made from one, one after the other. Raises `CannotCount`."""
        for index, claim in enumerate(self._pod_set.shape.claims):
            if not claim.template:
                continue
            path = f"{self._path}.resourceClaims[{index}]"
            template = self._around.templates.get(f"{self._namespace}/{claim.template}")
            if template is None:
                what = f"ResourceClaimTemplate {claim.template} in podset {self._pod_set.name}"
                missing = f'resourceclaimtemplates.resource.k8s.io "{claim.template}" not found'
                raise CannotCount(internal(path, f"failed to get claim spec for {what}: {missing}"))
            yield path, claim.template, template

    def _class(self, name: str, at: str, prefix: str) -> tuple[str, ...]:
        """The expressions of a class. Raises `CannotCount`."""
        if not name:
            return ()
        found = self._around.classes.get(name)
        if found is None:
            missing = f'deviceclasses.resource.k8s.io "{name}" not found'
            raise CannotCount(internal(at, f"{prefix}failed to get DeviceClass {name}: {missing}"))
        wanted = expressions(found.spec.selectors)
        for index, one in enumerate(wanted):
            bad = self._around.selectors.problem(one)
            if bad:
                field = f"{at}[{index}].cel.expression"
                raise CannotCount(invalid(field, one, f"{prefix}DeviceClass {name} has invalid CEL selector: {bad}"))
        return wanted

    def _match(self, path: str, prefix: str, template: ApiClaimTemplate) -> None:
        """Hold requests with expressions against published devices, of which each counts once in a claim. Raises `CannotCount`."""
        asked = [
            (index, one.exactly, wanted)
            for index, one in enumerate(template.spec.spec.devices.requests or ())
            if one.exactly is not None and (wanted := expressions(one.exactly.selectors))
        ]
        drivers = [self._around.mappings.drivers(exact.device_class_name) for _, exact, _ in asked]
        some = list(dict.fromkeys(one for each in drivers for one in each)) if all(drivers) else None
        devices = self._around.published.devices(some) if asked else []
        taken: set[int] = set()
        messages: list[str] = []
        for index, exact, wanted in asked:
            at = f"{path}.devices.requests[{index}]"
            try:
                of_class = self._class(exact.device_class_name, at, prefix)
                matched = self._take([*of_class, *wanted], exact, devices, taken, f"{at}.exactly.selectors", prefix)
            except CannotCount as problem:
                messages.append(str(problem))
                continue
            if matched < exact.count:
                few = f"{matched} device(s) match in the cluster but {exact.count} requested"
                what = f"insufficient matching devices for CEL selector in DeviceClass {exact.device_class_name}: {few}"
                messages.append(internal(f"{at}.exactly.selectors", prefix + what))
        raise_if_any(messages)

    def _take(  # noqa: PLR0913, PLR0917 - what is wanted, of which devices, and where it is said
        self,
        wanted: Sequence[str],
        exact: ExactDeviceRequest,
        devices: Sequence[Offered],
        taken: set[int],
        at: str,
        prefix: str,
    ) -> int:
        """How many devices a request takes that no earlier one of its claim has taken. Raises `CannotCount`."""
        matched = 0
        for place, one in enumerate(devices):
            if matched >= exact.count:
                break
            if place in taken:
                continue
            try:
                if meets_all(self._around.selectors, wanted, one.driver, one.device):
                    taken.add(place)
                    matched += 1
            except SelectorFailed as failed:
                what = f"CEL evaluation failed for DeviceClass {exact.device_class_name}: {failed}"
                raise CannotCount(invalid(at, "", prefix + what)) from failed
        return matched

    def _matching(self, source: CountedSource, exact: ExactDeviceRequest, at: str) -> list[ApiDevice]:
        """The devices of complete pools that a source, a class and a request select. Raises `CannotCount`."""
        driver, selectors = source.source.driver, self._around.selectors
        groups = (
            ((source.source.selector,), "deviceSelector"),
            (self._class(exact.device_class_name, at, ""), "DeviceClass selector"),
            (expressions(exact.selectors), "request selector"),
        )
        bad = selectors.problem(source.source.selector)
        if bad:
            what = f"deviceSelector CEL compilation failed: {bad}"
            raise CannotCount(invalid(f"{at}[0].cel.expression", source.source.selector, what))
        found: list[ApiDevice] = []
        for device in self._around.published.complete(driver):
            meets = True
            for wanted, of in groups:
                try:
                    meets = meets and meets_all(selectors, wanted, driver, device)
                except SelectorFailed as failed:
                    what = f"CEL evaluation error in {of} for device {device.name}: {failed}"
                    raise CannotCount(internal(at, what)) from failed
            if meets:
                found.append(device)
        return found


def _requests(template: ApiClaimTemplate, path: str, prefix: str, selectors: Selectors) -> list[ExactDeviceRequest]:
    """The exact requests of a template, once all of them are such as can be counted. Raises `CannotCount`."""
    found: list[ExactDeviceRequest] = []
    for index, request in enumerate(template.spec.spec.devices.requests or ()):
        at, exact = f"devices.requests[{index}]", request.exactly
        if request.first_available is not None:
            raise CannotCount(invalid(path + at, "", f"{prefix}FirstAvailable device selection is not supported"))
        if exact is None:
            raise CannotCount(invalid(path + at, "", f"{prefix}Exactly must be set if FirstAvailable is nil"))
        broken = [
            invalid(f"{at}.exactly.selectors[{place}].cel.expression", one, f"CEL compilation failed: {bad}")
            for place, one in enumerate(expressions(exact.selectors))
            if (bad := selectors.problem(one))
        ]
        if broken:
            raise CannotCount(invalid(f"{path}{at}.exactly.selectors", "", prefix + str(CannotCount(*broken))))
        if not exact.admin_access and exact.allocation_mode != "ExactCount":
            mode = exact.allocation_mode
            what = "AllocationMode 'All' is not supported" if mode == "All" else f"unsupported allocation mode: {mode}"
            raise CannotCount(invalid(f"{path}{at}.exactly.allocationMode", mode, prefix + what))
        found.append(exact)
    return found


def _class_behind(name: str, classes: Mapping[str, ApiDeviceClass]) -> str | None:
    """The class that stands behind an extended resource: the latest that names it, of equals the first by name."""
    naming = [one for one in classes.values() if one.spec.extended_resource_name == name]
    latest = max((one.metadata.creation_timestamp or "" for one in naming), default="")
    return min((one.metadata.name for one in naming if (one.metadata.creation_timestamp or "") == latest), default=None)


def _consumed(source: CountedSource, _: ExactDeviceRequest, matching: Sequence[ApiDevice], at: str) -> int:
    """The most that any of the devices takes of a counter. Raises `CannotCount`."""
    counter = source.source.counter
    amounts = [
        _units(consumption.counters[counter].value, at)
        for device in matching
        for consumption in device.consumes_counters or ()
        if counter in consumption.counters
    ]
    if not amounts:
        raise CannotCount(internal(at, f'matched devices have no consumesCounters entry for counter "{counter}"'))
    return max(amounts)


def _shared(source: CountedSource, exact: ExactDeviceRequest, matching: Sequence[ApiDevice], at: str) -> int:
    """The most that any of the devices gives of a dimension of its capacity. Raises `CannotCount`."""
    dimension = source.source.capacity
    having = [one.capacity[dimension] for one in matching if one.capacity and dimension in one.capacity]
    if not having:
        raise CannotCount(internal(at, f'matched devices have no capacity dimension "{dimension}"'))
    asked = ((exact.capacity.requests if exact.capacity else None) or {}).get(dimension)
    try:
        given = [amount for one in having if (amount := granted(one, asked)) is not None]
    except BadQuantity as bad:
        raise CannotCount(invalid(at, bad.text, str(bad))) from bad
    if not given:
        what = (
            f'capacity request cannot be satisfied by any matched device\'s RequestPolicy for dimension "{dimension}"'
        )
        raise CannotCount(invalid(at, "", what))
    return _whole(max(given))


def _units(text: str | int | float, at: str) -> int:
    try:
        return _whole(parse_quantity(text))
    except BadQuantity as bad:
        raise CannotCount(invalid(at, bad.text, str(bad))) from bad


def _whole(value: Fraction) -> int:
    return min(max(ceil_fraction(value), 0), UNLIMITED)
