"""Which device classes are counted as which resource: what is taken, and what is refused in Kueue's words."""

from typing import Any

import pytest

from events.claims import DeviceClassMapping, DeviceSource
from ops.production.configuration.configuration_file import ConfigurationBroken, configuration_of

ANY = {"cel": {"expression": "true"}}
CONSUMABLE = {"KueueDRAIntegrationConsumableCapacity": True}
_AT = "resources.deviceClassMappings"


def counter(name: str = "memory", **changes: Any) -> dict[str, Any]:
    return {"counter": {"name": name, "driver": "gpu.example.com", "deviceSelector": ANY, **changes}}


def capacity(name: str = "memory", **changes: Any) -> dict[str, Any]:
    return {"capacity": {"name": name, "driver": "gpu.example.com", "deviceSelector": ANY, **changes}}


def mapped(*sources: Any, name: str = "example.com/gpus", classes: tuple[str, ...] = ("a",)) -> dict[str, Any]:
    return {"name": name, "deviceClassNames": list(classes), "sources": list(sources)}


def read(*mappings: dict[str, Any], gates: dict[str, bool] | None = None) -> tuple[DeviceClassMapping, ...]:
    found = {"resources": {"deviceClassMappings": list(mappings)}, "featureGates": gates or {}}
    return configuration_of(found, "config.yaml").settings.device_class_mappings


def test_mappings_are_settings_with_what_they_count() -> None:
    source = DeviceSource(counter="memory", driver="gpu.example.com", selector="true")
    assert read(mapped(classes=("a", "b.example.com")), mapped(counter(), name="mem", classes=("c",))) == (
        DeviceClassMapping(resource="example.com/gpus", classes=("a", "b.example.com")),
        DeviceClassMapping(resource="mem", classes=("c",), sources=(source,)),
    )
    (one,) = read(mapped(capacity("example.com/mem")), gates=CONSUMABLE)
    assert one.sources == (DeviceSource(capacity="example.com/mem", driver="gpu.example.com", selector="true"),)


def test_a_class_may_be_in_two_mappings_that_count_different_counters() -> None:
    assert len(read(mapped(counter("memory"), name="m"), mapped(counter("cores"), name="c"))) == 2


@pytest.mark.parametrize(
    ("mappings", "told"),
    [
        ([mapped(classes=())], f"{_AT}[0].deviceClassNames: at least one device class name is required"),
        ([mapped(classes=tuple("abcdefghi"))], f"{_AT}[0].deviceClassNames: must have at most 8 items"),
        ([mapped(classes=("a", "a"))], f"{_AT}[0].deviceClassNames[1]: Duplicate value: 'a'"),
        ([mapped(classes=("A_",))], f"{_AT}[0].deviceClassNames[0]: 'A_' is not the name of a DeviceClass"),
        ([mapped(), mapped(classes=("b",))], f"{_AT}[1].name: Duplicate value: 'example.com/gpus'"),
        ([mapped(name="a b")], f"{_AT}[0].name: 'a b' is not the name of a resource"),
        ([mapped(name="x" * 64)], f"{_AT}[0].name: '{'x' * 64}' is not the name of a resource"),
        ([mapped(), mapped(name="m")], f"{_AT}[1].deviceClassNames[0]: device class already mapped to resource example.com/gpus"),
        ([mapped(counter(), name="c"), mapped(name="m")], f"{_AT}[1].deviceClassNames[0]: device class already mapped to resource c"),
        (
            [mapped(counter(), name="c"), mapped(counter(), name="m")],
            f'{_AT}[1].deviceClassNames[0]: device class already has a counter source for counter "memory"',
        ),
        ([mapped({})], f"{_AT}[0].sources[0]: exactly one source type must be set per entry"),
        ([mapped({**counter(), **capacity()})], f"{_AT}[0].sources[0]: exactly one source type must be set per entry"),
        ([mapped(counter(), capacity())], f"{_AT}[0].sources: cannot mix counter and capacity sources in the same mapping"),
        ([mapped(counter("Memory"))], f"{_AT}[0].sources[0].counter.name: 'Memory' is not the name of a counter"),
        ([mapped(capacity("a-b"))], f"{_AT}[0].sources[0].capacity.name: 'a-b' is not the name of a capacity"),
        ([mapped(counter(driver="x" * 64))], f"{_AT}[0].sources[0].counter.driver: '{'x' * 64}' is not the name of a driver"),
        ([mapped(counter(deviceSelector={}))], f"{_AT}[0].sources[0].counter.deviceSelector.cel.expression: an expression is needed"),
        (
            [mapped(counter(deviceSelector={"cel": {"expression": "device.nix"}}))],
            f"{_AT}[0].sources[0].counter.deviceSelector.cel.expression: ERROR: <input>:1:7: undeclared reference",
        ),
        ([mapped(name=f"r{n}", classes=(f"c{n}",)) for n in range(17)], f"{_AT}: must have at most 16 items"),
    ],
)  # fmt: skip
def test_what_can_not_be_is_refused_at_its_field(mappings: list[dict[str, Any]], told: str) -> None:
    with pytest.raises(ConfigurationBroken) as refused:
        read(*mappings, gates=CONSUMABLE)
    assert refused.value.problem.startswith(told)


@pytest.mark.parametrize(
    ("source", "gates", "told"),
    [
        (capacity(), {}, "capacity sources require KueueDRAIntegrationConsumableCapacity to be enabled"),
        (
            counter(),
            {"KueueDRAIntegrationPartitionableDevices": False},
            "counter sources require KueueDRAIntegrationPartitionableDevices to be enabled",
        ),
    ],
)
def test_a_source_whose_gate_is_off_is_refused(source: dict[str, Any], gates: dict[str, bool], told: str) -> None:
    with pytest.raises(ConfigurationBroken, match=told):
        read(mapped(source), gates=gates)
