import pytest
from msgspec.structs import replace

from events.admission import AdmissionRefused, QuotaReserved
from events.claims import PodClaims
from events.control import ObjectRemoved
from events.pod_set import ContainerShape, PodSet, PodShape
from events.quota import (
    ClusterQueueObserved,
    FlavorObserved,
    FlavorQuotas,
    LimitRangeItem,
    LimitRangeObserved,
    LocalQueueObserved,
    NamespaceObserved,
    Quota,
    ResourceGroup,
    RuntimeClassObserved,
)
from events.selector import LabelSelector
from events.settings import QuotaCheckStrategy, SettingsObserved, Transformation, TransformationStrategy
from events.workload import WorkloadSpec, WorkloadSubmitted
from tests.stories.small_world import Story


def platform(*resources: str, nominal: int = 10_000) -> Story:
    group = ResourceGroup(
        resources=resources,
        flavors=(FlavorQuotas(flavor="f", quotas=tuple(Quota(resource=one, nominal=nominal) for one in resources)),),
    )
    return Story().told(
        NamespaceObserved(name="team"),
        NamespaceObserved(name="other"),
        FlavorObserved(name="f"),
        ClusterQueueObserved(name="cq", namespaces=LabelSelector(), groups=(group,)),
        LocalQueueObserved(namespace="team", name="lq", cluster_queue="cq"),
        LocalQueueObserved(namespace="other", name="lq", cluster_queue="cq"),
    )


def asking(shape: PodShape, *, name: str = "w", namespace: str = "team", count: int = 1) -> WorkloadSubmitted:
    spec = WorkloadSpec(queue="lq", pod_sets=(PodSet(name="main", count=count, shape=shape),))
    return WorkloadSubmitted(workload=f"{namespace}/{name}", uid=name, created_at=0, spec=spec)


def one(requests: dict[str, int] | None = None, limits: dict[str, int] | None = None) -> PodShape:
    return PodShape(containers=(ContainerShape(name="c", requests=requests or {}, limits=limits or {}),))


def charged(told: Story, key: str = "team/w") -> dict[str, int]:
    reserved = [event for event in told.decisions if isinstance(event, QuotaReserved) and event.workload == key]
    return reserved[-1].assignments[0].usage


def refusals(told: Story) -> list[tuple[str, str]]:
    return [(event.reason, event.message) for event in told.decisions if isinstance(event, AdmissionRefused)]


def limits(kind: str = "Container", **items: dict[str, int]) -> LimitRangeObserved:
    return LimitRangeObserved(namespace="team", name="lr", items=(LimitRangeItem(kind=kind, **items),))


def test_limits_stand_in_for_requests_and_the_runtime_class_costs_on_top() -> None:
    told = platform("cpu").told(RuntimeClassObserved(name="kata", overhead={"cpu": 250}))
    shape = PodShape(containers=one(limits={"cpu": 1000}).containers, runtime_class="kata")
    told.told(asking(shape)).decided()
    assert charged(told) == {"cpu": 1250}


def test_a_limit_range_fills_in_for_its_own_namespace_only() -> None:
    told = platform("cpu").told(limits(default_request={"cpu": 700}, default={"cpu": 900}))
    told.told(asking(one()), asking(one({"cpu": 100}), name="v", namespace="other")).decided()
    assert charged(told) == {"cpu": 700}
    assert charged(told, "other/v") == {"cpu": 100}


def test_requests_above_limits_are_misconfigured() -> None:
    told = platform("cpu").told(asking(one({"cpu": 2000}, {"cpu": 1000})))
    told.decided()
    message = 'spec.podSets[0].template.spec.containers[0]: Invalid value: ["cpu"]: requests must not exceed its limits'
    assert refusals(told) == [("Misconfigured", f"resources validation failed: {message}")]


def test_what_a_limit_range_forbids_is_refused_until_the_limit_range_is_gone() -> None:
    told = platform("cpu").told(limits(maximum={"cpu": 1000}), asking(one({"cpu": 2000})))
    told.decided()
    where, rule = "spec.podSets[0].template.spec.containers[0]", "requests must not be above the limitRange max"
    message = f'resources didn\'t satisfy LimitRange constraints: {where}: Invalid value: ["cpu"]: {rule}'
    assert refusals(told) == [("Misconfigured", message)]
    told.told(ObjectRemoved(kind="LimitRange", namespace="team", name="lr")).decided()
    assert charged(told) == {"cpu": 2000}


def test_all_that_is_wrong_with_the_pods_is_told_at_once() -> None:
    bad = one({"cpu": 2000, "memory": 2}, {"cpu": 1000, "memory": 1}).containers
    told = platform("cpu", "memory").told(asking(PodShape(containers=(*one({"cpu": 1}).containers, *bad, *bad))))
    told.decided()
    names, rule = '["cpu","memory"]', "requests must not exceed its limits"
    places = [f"spec.podSets[0].template.spec.containers[{index}]: Invalid value: {names}: {rule}" for index in (1, 2)]
    assert refusals(told) == [("Misconfigured", f"resources validation failed: [{', '.join(places)}]")]


def test_a_pod_may_be_too_small_as_a_whole() -> None:
    told = platform("cpu").told(limits(kind="Pod", minimum={"cpu": 700}), asking(one({"cpu": 600})))
    told.decided()
    message = 'spec.podSets[0].template.spec: Invalid value: ["cpu"]: requests must not be below the limitRange min'
    assert refusals(told) == [("Misconfigured", f"resources didn't satisfy LimitRange constraints: {message}")]


def test_a_limit_range_that_comes_later_counts_for_those_that_wait() -> None:
    told = platform("cpu", nominal=500).told(asking(one({"cpu": 600})))
    told.decided()
    told.told(limits(minimum={"cpu": 700})).decided()
    assert [reason for reason, _ in refusals(told)] == ["ExceedsMaxQuota", "Misconfigured"]


def test_resources_are_left_out_transformed_multiplied_and_counted_in_pods() -> None:
    rule = Transformation(
        input="gpumem", strategy=TransformationStrategy.REPLACE, multiply_by="gpu", outputs={"mem": "0.5"}
    )
    settings = SettingsObserved(exclude_resource_prefixes=("vendor/",), transformations=(rule,), device_totals=False)
    told = platform("cpu", "gpu", "mem", "pods").told(settings)
    told.told(asking(one({"cpu": 10, "gpu": 2, "gpumem": 5, "vendor/x": 1}), count=3)).decided()
    assert charged(told) == {"cpu": 30, "gpu": 6, "mem": 15, "pods": 3}


def test_the_limits_of_a_pod_stand_in_for_its_own_requests() -> None:
    told = platform("cpu", "memory").told(
        asking(
            PodShape(containers=one({"cpu": 1}).containers, pod_requests={"cpu": 2}, pod_limits={"cpu": 9, "memory": 3})
        )
    )
    told.decided()
    assert charged(told) == {"cpu": 2, "memory": 3}


def test_a_limit_of_a_container_comes_before_the_default_request_of_a_limit_range() -> None:
    told = platform("cpu").told(limits(default_request={"cpu": 700}, default={"cpu": 900}))
    told.told(asking(one(limits={"cpu": 800}))).decided()
    assert charged(told) == {"cpu": 800}


def test_the_default_limit_of_a_limit_range_is_asked_for_where_nothing_else_is() -> None:
    told = platform("cpu").told(limits(default={"cpu": 900}), asking(one()))
    told.decided()
    assert charged(told) == {"cpu": 900}


def test_a_default_limit_holds_for_who_asks_for_more() -> None:
    told = platform("cpu").told(limits(default={"cpu": 900}), asking(one({"cpu": 1000})))
    told.decided()
    message = 'spec.podSets[0].template.spec.containers[0]: Invalid value: ["cpu"]: requests must not exceed its limits'
    assert refusals(told) == [("Misconfigured", f"resources validation failed: {message}")]


def test_init_containers_are_filled_in_and_judged_as_the_others() -> None:
    first = ContainerShape(name="i")
    told = platform("cpu").told(limits(default_request={"cpu": 700}))
    told.told(asking(PodShape(containers=one({"cpu": 100}).containers, init_containers=(first,)))).decided()
    assert charged(told) == {"cpu": 700}
    bad = replace(first, requests={"cpu": 2}, limits={"cpu": 1})
    told.told(asking(PodShape(containers=one({"cpu": 1}).containers, init_containers=(bad,)), name="v")).decided()
    place = "spec.podSets[0].template.spec.initContainers[0]"
    message = f'{place}: Invalid value: ["cpu"]: requests must not exceed its limits'
    assert refusals(told) == [("Misconfigured", f"resources validation failed: {message}")]


def test_an_overhead_that_the_pods_have_already_stays_whatever_their_class_says_now() -> None:
    told = platform("cpu").told(RuntimeClassObserved(name="kata", overhead={"cpu": 250}))
    told.told(asking(replace(one({"cpu": 1000}), runtime_class="kata", overhead={"cpu": 100}))).decided()
    assert charged(told) == {"cpu": 1100}


def test_a_limit_above_what_a_limit_range_allows_is_refused_though_the_request_is_not() -> None:
    told = platform("cpu").told(limits(maximum={"cpu": 1000}), asking(one({"cpu": 500}, {"cpu": 1001})))
    told.decided()
    where, rule = "spec.podSets[0].template.spec.containers[0]", "requests must not be above the limitRange max"
    message = f'{where}: Invalid value: ["cpu"]: {rule}'
    assert refusals(told) == [("Misconfigured", f"resources didn't satisfy LimitRange constraints: {message}")]
    told.told(asking(one({"cpu": 500}, {"cpu": 1000}), name="v")).decided()
    assert charged(told, "team/v") == {"cpu": 500}


def test_without_the_resource_that_multiplies_the_amount_counts_once_and_the_sum_is_rounded_up_once() -> None:
    """Two halves are one, beside what is asked for of the same resource itself; CPU multiplies by its cores."""
    replaced = TransformationStrategy.REPLACE
    rules = (
        Transformation(input="x", strategy=replaced, multiply_by="gpu", outputs={"mem": "0.5"}),
        Transformation(input="y", strategy=replaced, multiply_by="cpu", outputs={"mem": "0.25"}),
        Transformation(input="z", strategy=TransformationStrategy.RETAIN, outputs={"mem": "0.5"}),
    )
    told = platform("cpu", "mem", "z").told(SettingsObserved(transformations=rules))
    told.told(asking(one({"cpu": 2000, "x": 1, "y": 1, "z": 1, "mem": 10}))).decided()
    assert charged(told) == {"cpu": 2000, "mem": 12, "z": 1}


def test_card_memory_counts_for_every_card_of_a_container() -> None:
    two = one({"nvidia.com/gpu": 2, "nvidia.com/gpumem": 1000}).containers[0]
    large = one({"nvidia.com/gpu": 1, "nvidia.com/gpumem": 4000}).containers[0]
    shape = PodShape(containers=(two, replace(large, name="d")))
    for totals, memory in ((True, 6000), (False, 5000)):
        settings = SettingsObserved(device_totals=totals, devices=False)
        told = platform("nvidia.com/gpu", "nvidia.com/gpumem").told(settings, asking(shape))
        told.decided()
        assert charged(told) == {"nvidia.com/gpu": 3, "nvidia.com/gpumem": memory}


def test_a_percentage_of_card_memory_counts_for_every_card_of_a_container() -> None:
    asked = {"nvidia.com/gpu": 2, "nvidia.com/gpumem-percentage": 50}
    told = platform(*asked).told(SettingsObserved(devices=False), asking(one(asked)))
    told.decided()
    assert charged(told) == {"nvidia.com/gpu": 2, "nvidia.com/gpumem-percentage": 100}


@pytest.mark.parametrize(
    ("asked", "totals"),
    [
        ({"mthreads.com/vgpu": 2, "mthreads.com/sgpu-memory": 192, "mthreads.com/sgpu-core": 32}, {}),
        ({"iluvatar.ai/BI-V150-vgpu": 2, "iluvatar.ai/BI-V150.vCore": 200}, {}),
        (
            {"iluvatar.ai/BI-V150-vgpu": 2, "iluvatar.ai/BI-V150.vMem": 10, "iluvatar.ai/BI-V150.vCore": 200},
            {"iluvatar.ai/BI-V150.vMem": 20},
        ),
        ({"enflame.com/drs-gcu": 3, "enflame.com/gcu-memory": 20, "enflame.com/gcu-core": 50}, {}),
        ({"aws.amazon.com/neuron": 2, "aws.amazon.com/neuroncore": 4}, {}),
        ({"kunlunxin.com/vxpu": 2, "kunlunxin.com/vxpu-memory": 24576}, {"kunlunxin.com/vxpu-memory": 49152}),
        ({"metax-tech.com/sgpu": 2, "metax-tech.com/vmemory": 8}, {"metax-tech.com/vmemory": 16}),
        ({"amd.com/gpu": 2, "amd.com/gpucores": 50}, {"amd.com/gpucores": 100}),
    ],
    ids=lambda amounts: next(iter(amounts), ""),
)
def test_amounts_that_are_those_of_all_cards_together_are_charged_as_they_are(
    asked: dict[str, int], totals: dict[str, int]
) -> None:
    told = platform(*asked, nominal=100_000).told(SettingsObserved(devices=False), asking(one(asked)))
    told.decided()
    assert charged(told) == {**asked, **totals}


def test_a_transformation_by_the_cards_multiplies_what_counts_for_each_of_them_once() -> None:
    shape = one({"nvidia.com/gpu": 2, "nvidia.com/gpucores": 20, "cpu": 3})
    rules = tuple(
        Transformation(
            input=name,
            strategy=TransformationStrategy.REPLACE,
            multiply_by="nvidia.com/gpu",
            outputs={f"total/{name}": "1"},
        )
        for name in ("nvidia.com/gpucores", "cpu")
    )
    for totals in (True, False):
        settings = SettingsObserved(device_totals=totals, devices=False, transformations=rules)
        told = platform("nvidia.com/gpu", "total/nvidia.com/gpucores", "total/cpu").told(settings, asking(shape))
        told.decided()
        found = charged(told)
        assert found["total/nvidia.com/gpucores"] == 40, "as Kueue has it, once"
        assert found["total/cpu"] == 1, "0.003 CPU for each of 2 cards, rounded up to one"


def test_a_resource_that_no_queue_covers_is_refused_or_ignored_as_the_settings_say() -> None:
    shape = one({"cpu": 10, "disk": 5})
    told = platform("cpu").told(asking(shape))
    told.decided()
    message = "couldn't assign flavors to pod set main: resource disk unavailable in ClusterQueue"
    assert refusals(told) == [("NoMatchingFlavor", message)]
    told.told(SettingsObserved(undeclared=QuotaCheckStrategy.IGNORE_UNDECLARED)).decided()
    assert charged(told) == {"cpu": 10}


def test_nothing_of_a_resource_that_no_queue_covers_is_asked_for_by_an_amount_of_zero() -> None:
    told = platform("cpu").told(asking(one({"cpu": 10, "disk": 0})))
    told.decided()
    assert refusals(told) == [] and charged(told)["cpu"] == 10


def test_a_runtime_class_without_a_name_costs_nobody_anything() -> None:
    told = platform("cpu").told(RuntimeClassObserved(name="", overhead={"cpu": 250}))
    told.told(asking(PodShape(containers=one(limits={"cpu": 1000}).containers))).decided()
    assert charged(told) == {"cpu": 1000}


def test_what_pods_claim_is_charged_beside_what_they_ask_for_after_all_transformations() -> None:
    claims = PodClaims(charged={"gpus": 2, "cpu": 500}, replaced=("example.com/gpu",))
    shape = one(requests={"cpu": 1000, "example.com/gpu": 3})
    settings = SettingsObserved(
        transformations=(
            Transformation(input="example.com/gpu", outputs={"cards": "10"}),
            Transformation(input="gpus", strategy=TransformationStrategy.REPLACE, outputs={"cards": "1"}),
        )
    )
    told = platform("cpu", "gpus", "cards").told(settings)
    submitted = asking(shape, count=3)
    spec = replace(submitted.spec, pod_sets=(replace(submitted.spec.pod_sets[0], claims=claims),))
    told.told(replace(submitted, spec=spec)).decided()
    assert charged(told) == {"cpu": 4500, "cards": 90, "gpus": 6}


def test_pods_that_claim_otherwise_are_not_alike() -> None:
    claimed = [replace(PodSet(name="main", count=1), claims=PodClaims(charged={"gpus": n})) for n in (1, 2)]
    told = platform("gpus", nominal=1)
    for name, pod_set in zip(("large", "small"), reversed(claimed), strict=True):
        spec = WorkloadSpec(queue="lq", pod_sets=(pod_set,))
        told = told.told(WorkloadSubmitted(workload=f"team/{name}", uid=name, created_at=0, spec=spec))
    told.decided()
    assert refusals(told)[0][0] == "ExceedsMaxQuota" and charged(told, "team/small") == {"gpus": 1}
