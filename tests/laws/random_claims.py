"""Claimed devices of random lives: pods that claim by templates, by the name of an extended resource, and what can't be counted.

Rule: docs/rules/claims.md
"""

from msgspec.structs import replace

from events.catalogue import Fact
from events.claims import (
    ClaimedDevice,
    ClaimUser,
    DeviceClassMapping,
    PodClaim,
    PodClaims,
    ResourceClaimObserved,
    ResourceSliceObserved,
)
from events.control import ObjectRemoved
from events.device import PodObserved
from events.pod_set import PodSet
from events.quota import ClusterQueueObserved, CohortObserved, FlavorObserved, FlavorQuotas, Quota, ResourceGroup
from events.settings import SettingsObserved
from events.workload import WorkloadChanged, WorkloadSpec, WorkloadSubmitted
from projections.workloads.lifecycle import chain_of
from projections.workloads.slices import slices_of
from tests.laws.beside import Beside, Happenings

RESOURCE, EXTENDED = "example.com/gpus", "example.com/gpu"
_FLAVOR, _DRIVER = "claimed", "gpu.example.com"
_SWITCHED_OFF = (
    {"KueueDRAIntegration": False},
    {"KueueDRAIntegration": False, "KueueDRARejectWorkloadsWhenDRADisabled": False},
)
_PODS = 6


class Claims(Beside):
    """Queues have quota of devices in a group of its own, or beside all else in the flavors that they have."""

    name = "claims"
    often = 0.3

    def __init__(self, *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        self.together = self.chance.random() < 0.4
        """Whether devices are given the flavor that all else is given."""

    def platform(self) -> list[Fact]:
        return [FlavorObserved(name=_FLAVOR), *(self._slice(node) for node in ("n0", "n1"))]

    def shown(self, fact: Fact) -> Fact:
        match fact:
            case SettingsObserved():
                mapping = DeviceClassMapping(resource=RESOURCE, classes=("gpu", "ext"))
                off = self.chance.choice(_SWITCHED_OFF) if self.chance.random() < 0.05 else {}
                return replace(fact, device_class_mappings=(mapping,), gates={**fact.gates, **off})
            case ClusterQueueObserved() | CohortObserved():
                return replace(fact, groups=self._with_devices(fact.groups))
            case WorkloadSubmitted():
                return replace(fact, spec=self._claiming(fact.spec))
            case WorkloadChanged() if not self._stays(fact):
                return replace(fact, spec=self._claiming(fact.spec))
            case _:
                return fact

    def happenings(self) -> Happenings:
        return ((self.count_again, 3), (self.slice, 1), (self.give, 2), (self.let_go, 2), (self.pod, 2))

    def count_again(self) -> None:
        """A class, a template or a slice has changed: of what waits something else comes out (docs/rules/claims.md#counted-again)."""
        one = self.life.one(lambda one: _claims(one.spec) and not one.reserved and not one.finished)
        if one is None or one.spec.variant_of:
            return
        newest = slices_of(self.life.world, chain_of(one))[-1] if one.spec.elastic else one
        spec = replace(newest.spec, slice_name="", replaces="")
        self.life.tell(WorkloadChanged(workload=one.key, spec=self._counted(spec), generation=one.generation))

    def slice(self) -> None:
        node = self.chance.choice(("n0", "n1"))
        gone = self.chance.random() < 0.3
        self.life.tell(ObjectRemoved(kind="ResourceSlice", name=f"of-{node}") if gone else self._slice(node))

    def pod(self) -> None:
        """A pod that claims devices, and holds no cards."""
        one = self.life.one(lambda one: one.admitted and _claims(one.spec))
        if one is None:
            return
        name = f"c{self.chance.randrange(_PODS)}"
        if self.chance.random() < 0.3:
            self.life.tell(ObjectRemoved(kind="Pod", namespace=one.namespace, name=name))
            return
        self.life.tell(
            PodObserved(
                namespace=one.namespace,
                name=name,
                uid=f"{name} of {one.key}",
                node=self.chance.choice(("n0", "n1")),
                phase=self.chance.choice(("Pending", "Running", "Succeeded")),
                workload=chain_of(one) if one.spec.elastic else one.key,
                elastic=one.spec.elastic,
                pod_set=one.spec.pod_sets[0].name,
                cardless=True,
            )
        )

    def give(self) -> None:
        """The scheduler gives a free device to the claim of a pod."""
        world = self.life.world
        held = {(one.pool, one.device) for claim in world.resource_claims.values() for one in claim.devices}
        free = [
            (one.pool, device)
            for _, one in sorted(world.resource_slices.items())
            for device in one.devices
            if (one.pool, device) not in held
        ]
        if not free:
            return
        pool, device = self.chance.choice(free)
        user = ClaimUser(name=f"c{self.chance.randrange(_PODS)}")
        given = ClaimedDevice(driver=_DRIVER, pool=pool, device=device, request="r", device_class="gpu")
        self.life.tell(
            ResourceClaimObserved(
                namespace="team",
                name=f"{user.name}-{device}",
                uid=f"{user.name}-{pool}-{device}",
                devices=(given,),
                pods=(user,) if self.chance.random() < 0.7 else (),
                made_for=user,
            )
        )

    def let_go(self) -> None:
        claims = sorted(self.life.world.resource_claims)
        if claims:
            namespace, _, name = self.chance.choice(claims).partition("/")
            self.life.tell(ObjectRemoved(kind="ResourceClaim", namespace=namespace, name=name))

    def _slice(self, node: str) -> ResourceSliceObserved:
        devices = tuple(f"g{number}" for number in range(self.chance.choice((1, 2, 4))))
        return ResourceSliceObserved(name=f"of-{node}", driver=_DRIVER, pool=node, node=node, devices=devices)

    def _with_devices(self, groups: tuple[ResourceGroup, ...]) -> tuple[ResourceGroup, ...]:
        if not groups or self.chance.random() < 0.05:
            return groups
        if not self.together:
            flavor = FlavorQuotas(flavor=_FLAVOR, quotas=(self._quota(),))
            return (*groups, ResourceGroup(resources=(RESOURCE,), flavors=(flavor,)))
        first = groups[0]
        flavors = tuple(replace(one, quotas=(*one.quotas, self._quota())) for one in first.flavors)
        return (replace(first, resources=(*first.resources, RESOURCE), flavors=flavors), *groups[1:])

    def _quota(self) -> Quota:
        pick = self.chance.choice
        nominal = pick((0, 1, 2, 4))
        return Quota(
            resource=RESOURCE,
            nominal=nominal,
            borrowing_limit=pick((None, None, 0, 1)),
            lending_limit=pick((None, None, nominal // 2)),
        )

    def _stays(self, fact: WorkloadChanged) -> bool:
        """Whether it was counted here, or is another size of a job that claims what it did before."""
        one = self.life.world.workloads.get(fact.workload)
        return _claims(fact.spec) or (one is not None and one.spec.elastic)

    def _claiming(self, spec: WorkloadSpec) -> WorkloadSpec:
        return self._counted(replace(spec, pod_sets=tuple(self._asking(one) for one in spec.pod_sets)))

    def _asking(self, one: PodSet) -> PodSet:
        """By a template, by the name of an extended resource, or not at all."""
        roll = self.chance.random()
        if roll < 0.4:
            return one
        if roll < 0.8:
            return replace(one, shape=replace(one.shape, claims=(PodClaim(name="c", template="t"),)))
        first, *rest = one.shape.containers
        asking = replace(first, limits={**first.limits, EXTENDED: 1}, requests={**first.requests, EXTENDED: 1})
        return replace(one, shape=replace(one.shape, containers=(asking, *rest)))

    def _counted(self, spec: WorkloadSpec) -> WorkloadSpec:
        """With what its pods claim counted, or why it can't be."""
        uncounted = tuple(replace(one, claims=None) for one in spec.pod_sets)
        if _claims(spec) and self.chance.random() < 0.15:
            return replace(spec, pod_sets=uncounted, claims_refused="a template is not there")
        return replace(spec, pod_sets=tuple(self._charged(one) for one in uncounted), claims_refused="")

    def _charged(self, one: PodSet) -> PodSet:
        if one.shape.claims:
            return replace(one, claims=PodClaims(charged={RESOURCE: self.chance.choice((1, 1, 2))}))
        if any(EXTENDED in each.requests for each in one.shape.containers):
            return replace(one, claims=PodClaims(charged={RESOURCE: 1}, replaced=(EXTENDED,)))
        return one


def _claims(spec: WorkloadSpec) -> bool:
    return any(
        one.shape.claims or any(EXTENDED in each.requests for each in one.shape.containers) for one in spec.pod_sets
    )
