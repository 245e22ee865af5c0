"""HAMi's own configuration: cards are asked for by its names, counted in its units, and chosen by its policies."""

from typing import Any

import pytest
from msgspec.structs import replace

from events.card import Card
from events.catalogue import AnyEvent
from events.control import ObjectRefused, ObjectRemoved
from events.device import CardQuotaObserved, DevicesRegistered, NodeObserved
from events.device_config import DeviceConfigObserved, NodeConfigsObserved, NodeDeviceConfig, VendorConfig
from events.pod_set import ContainerShape, PodSet, PodShape
from events.quota import ClusterQueueObserved, FlavorQuotas, Quota, ResourceGroup
from events.selector import LabelSelector
from events.settings import HamiSettings, SettingsObserved
from events.workload import WorkloadSubmitted
from projections.devices.capacity.offer import meaning_of
from projections.devices.state import config_of
from projections.snapshot import tables_of, world_of
from projections.state_hash import state_hash
from services.applier.manifests import workload_status
from tests.stories.small_world import GPU, Story, job, platform

COUNT, MEMORY, CORES = "acme.io/gpu", "acme.io/gpumem", "acme.io/gpucores"
RENAMED = VendorConfig(word="NVIDIA", count=COUNT, memory=MEMORY, percent="acme.io/percent", cores=CORES)


def config(vendor: VendorConfig = RENAMED, **defaults: Any) -> DeviceConfigObserved:
    return DeviceConfigObserved(namespace="kube-system", name="hami-scheduler-device", vendors=(vendor,), **defaults)


def queue(**nominal: int) -> ClusterQueueObserved:
    names = {"count": COUNT, "memory": MEMORY, "cores": CORES}
    quotas = tuple(Quota(resource=names[key], nominal=value) for key, value in nominal.items())
    flavor = FlavorQuotas(flavor="v100", quotas=quotas)
    group = ResourceGroup(resources=tuple(one.resource for one in quotas), flavors=(flavor,))
    return ClusterQueueObserved(name="cq", namespaces=LabelSelector(), groups=(group,))


def asking(name: str, limits: dict[str, int], count: int = 1) -> WorkloadSubmitted:
    shape = PodShape(containers=(ContainerShape(name="main", limits=limits),))
    made = job(name)
    return replace(made, spec=replace(made.spec, pod_sets=(PodSet(name="main", count=count, shape=shape),)))


def begun(*facts: AnyEvent, cards: int = 2) -> Story:
    return Story().told(*platform(cards=cards), queue(count=40, memory=400_000, cores=4000), *facts)


def given(told: Story, name: str) -> list[tuple[str, int, int]]:
    """The cards of a workload: card, MiB and cores of each share."""
    devices = told.world.workloads[f"team/{name}"].devices
    shares = [each for one in (devices.placements if devices else ()) for shares in one.containers for each in shares]
    return [(share.uuid, share.memory, share.cores) for share in shares]


def test_cards_are_asked_for_by_the_names_of_the_configuration_and_only_by_them() -> None:
    told = begun(config(), asking("a", {COUNT: 2, MEMORY: 8000, CORES: 30}))
    told.decided()
    assert given(told, "a") == [("GPU-1", 8000, 30), ("GPU-0", 8000, 30)]
    admission = told.world.workloads["team/a"].admission
    assert admission is not None
    assert admission.assignments[0].usage == {COUNT: 2, MEMORY: 16000, CORES: 60}, (
        "what is meant per card counts for both"
    )
    by_old = Story().told(*platform(cards=2), config(), asking("old", {GPU: 1}))
    by_old.decided()
    assert by_old.world.workloads["team/old"].admitted and given(by_old, "old") == [], (
        "no card is asked for by that name"
    )
    shown = workload_status(told.world.workloads["team/a"], told.world.settings)
    assert "admission" in shown
    assert meaning_of(MEMORY, config_of(told.world)) is not None and meaning_of(MEMORY) is None


def test_memory_is_counted_in_the_units_of_the_configuration_also_by_quotas_of_namespaces() -> None:
    unit = replace(RENAMED, factor=1024)
    told = begun(config(unit), asking("a", {COUNT: 1, MEMORY: 4, CORES: 10}))
    told.decided()
    assert given(told, "a") == [("GPU-1", 4096, 10)]
    limit = CardQuotaObserved(namespace="team", name="q", hard={f"limits.{MEMORY}": 6})
    told.told(limit, asking("b", {COUNT: 1, MEMORY: 3}), asking("c", {COUNT: 1, MEMORY: 2})).decided()
    assert told.world.workloads["team/c"].admitted and not told.world.workloads["team/b"].admitted


def test_what_a_container_does_not_say_is_as_the_configuration_has_it() -> None:
    told = begun(config(default_memory=2000, default_cores=20, default_count=2), asking("a", {COUNT: 1, CORES: 5}))
    told.told(asking("b", {MEMORY: 1000})).decided()
    assert given(told, "a") == [("GPU-1", 2000, 5)]
    assert [memory for _, memory, cores in given(told, "b") if cores == 20] == [1000, 1000]


def test_who_waited_under_the_old_names_is_tried_again_under_the_new_and_back_again() -> None:
    told = begun(asking("a", {COUNT: 1, MEMORY: 99_000, CORES: 10}))
    told.decided()
    assert told.world.workloads["team/a"].admitted, "to nobody these are cards"
    told = begun(config(), asking("a", {COUNT: 1, MEMORY: 99_000, CORES: 10}))
    told.decided()
    attempt = told.world.workloads["team/a"].attempt
    assert attempt is not None and attempt.reason == "ExceedsCardCapacity"  # type: ignore[union-attr]
    copy = world_of(tables_of(told.world))
    assert state_hash(copy) == state_hash(told.world) and config_of(copy).names == config_of(told.world).names
    told.told(ObjectRemoved(kind="ConfigMap", namespace="kube-system", name="hami-scheduler-device")).decided()
    assert told.world.workloads["team/a"].admitted


OTHERWISE = NodeDeviceConfig(
    node="n1", split=1, memory_scaling="3", core_scaling="0.5", hidden_cards=("GPU-0", "GPU-1")
)


@pytest.mark.parametrize(
    "more",
    [
        NodeConfigsObserved(namespace="kube-system", name="hami-device-plugin", nodes=(OTHERWISE,)),
        config(split=1, memory_scaling="3", core_scaling="0.5"),
    ],
)
def test_a_card_has_what_its_node_registers_whatever_the_plugin_is_configured_to_register(more: AnyEvent) -> None:
    told = begun(config(), more, *(asking(name, {COUNT: 1, MEMORY: 16384, CORES: 50}) for name in "abcd"), cards=2)
    told.told(asking("large", {COUNT: 1, MEMORY: 32769, CORES: 1})).decided()
    assert [given(told, name)[0][1:] for name in "abcd"] == [(16384, 50)] * 4, "two on each card, and all of its cores"
    attempt = told.world.workloads["team/large"].attempt
    assert attempt is not None and attempt.reason == "ExceedsCardCapacity"  # type: ignore[union-attr]


def test_the_memory_factor_counts_for_what_is_asked_and_not_for_what_nodes_register() -> None:
    told = begun(config(replace(RENAMED, factor=1024)), asking("fits", {COUNT: 1, MEMORY: 32, CORES: 10}))
    told.told(asking("large", {COUNT: 1, MEMORY: 33, CORES: 10})).decided()
    assert given(told, "fits") == [("GPU-1", 32768, 10)]
    attempt = told.world.workloads["team/large"].attempt
    assert attempt is not None and attempt.reason == "ExceedsCardCapacity"  # type: ignore[union-attr]


def test_a_map_that_is_refused_or_somebody_elses_changes_nothing() -> None:
    other = replace(config(), namespace="team")
    told = begun(other, ObjectRefused(kind="ConfigMap", namespace="kube-system", name="x", problems=()))
    assert config_of(told.world).resources["NVIDIA"].count == GPU


def two_nodes() -> list[AnyEvent]:
    return [NodeObserved(name=name, labels={"card": "v100"}) for name in ("n1", "n2")] + [
        DevicesRegistered(
            node=name,
            cards=tuple(Card(uuid=f"{name}-{i}", index=i, slots=10, memory=32768, model="NVIDIA-V100") for i in (0, 1)),
        )
        for name in ("n1", "n2")
    ]


def on_cards(node_policy: str, card_policy: str) -> list[str]:
    settings = SettingsObserved(hami=HamiSettings(node_policy=node_policy, card_policy=card_policy))
    told = Story().told(*platform(), *two_nodes(), settings, job("a", memory=1000, cores=10, count=4))
    told.decided()
    return sorted(card for card, _, _ in given(told, "a"))


def test_nodes_and_cards_are_chosen_by_what_hamis_scheduler_was_told() -> None:
    assert len(set(on_cards("binpack", "binpack"))) == 1
    assert {card[:2] for card in on_cards("binpack", "spread")} == {"n1"} and len(
        set(on_cards("binpack", "spread"))
    ) == 2
    spread = on_cards("spread", "spread")
    assert len(set(spread)) == 4 and {card[:2] for card in spread} == {"n1", "n2"}
    assert len(set(on_cards("spread", "binpack"))) == 2
