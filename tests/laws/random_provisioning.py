"""Cluster autoscalers of random lives: queues ask them for nodes, and they answer, fail, take back what they gave, or are gone.

Rule: docs/rules/checks.md
"""

from msgspec.structs import replace

from events.api.check_controllers import PROVISIONING
from events.catalogue import Fact
from events.control import ObjectRemoved
from events.provisioning import (
    Answer,
    ProvisioningConfigObserved,
    ProvisioningRejected,
    ProvisioningRequestObserved,
)
from events.quota import AdmissionCheckObserved, CheckParameters, CheckRule, ClusterQueueObserved
from projections.workloads.lifecycle import Provisioning, Workload
from tests.laws.beside import Beside, Happenings

_KIND, _CONFIG, _CHECK = "ProvisioningRequestConfig", "conf", "nodes"
_ANSWERS = (
    ("Accepted",),
    ("Accepted", "Provisioned"),
    ("Provisioned",),
    ("Accepted", "Failed"),
    ("Failed",),
    ("Provisioned", "BookingExpired"),
    ("Provisioned", "CapacityRevoked"),
)


class Autoscaler(Beside):
    """Half of the queues ask for nodes."""

    name = "provisioning"
    often = 0.25

    def platform(self) -> list[Fact]:
        parameters = CheckParameters(group="kueue.x-k8s.io", kind=_KIND, name=_CONFIG)
        return [
            self._config(),
            AdmissionCheckObserved(name=_CHECK, controller=PROVISIONING, parameters=parameters),
        ]

    def shown(self, fact: Fact) -> Fact:
        if isinstance(fact, ClusterQueueObserved) and self.chance.random() < 0.5:
            rule = CheckRule(name=_CHECK, flavors=self.chance.choice(((), (), ("f0",))))
            return replace(fact, checks=(*fact.checks, rule))
        return fact

    def happenings(self) -> Happenings:
        return ((self.answer, 6), (self.lose, 1), (self.reject, 1), (self.config, 1), (self.withdraw, 2))

    def answer(self) -> None:
        found = self._asked()
        if found is None:
            return
        one, asked = found
        order = asked.order
        self.life.tell(
            ProvisioningRequestObserved(
                namespace=one.namespace,
                name=order.request,
                uid=order.request,
                workload=one.key,
                class_name=order.class_name,
                parameters={**order.parameters, **order.own_parameters},
                answers={kind: Answer(true=self.chance.random() < 0.9) for kind in self.chance.choice(_ANSWERS)},
                decision=asked.decision,
            )
        )

    def lose(self) -> None:
        requests = sorted(self.life.world.provisioning_requests)
        if requests:
            namespace, _, name = self.chance.choice(requests).partition("/")
            self.life.tell(ObjectRemoved(kind="ProvisioningRequest", namespace=namespace, name=name))

    def reject(self) -> None:
        found = self._asked()
        if found is not None:
            one, asked = found
            self.life.tell(ProvisioningRejected(workload=one.key, request=asked.order.request, message="invalid"))

    def config(self) -> None:
        gone = self.chance.random() < 0.2
        self.life.tell(ObjectRemoved(kind=_KIND, name=_CONFIG) if gone else self._config())

    def withdraw(self) -> None:
        """What says how to ask is gone while somebody waits for what was asked."""
        if self._asked() is not None:
            self.life.tell(ObjectRemoved(kind=_KIND, name=_CONFIG))

    def _config(self) -> ProvisioningConfigObserved:
        return ProvisioningConfigObserved(
            name=_CONFIG,
            class_name=self.chance.choice(("now", "now", "soon")),
            managed_resources=self.chance.choice(((), (), (), ("cpu",))),
            backoff_limit=self.chance.choice((0, 1, 2)),
            backoff_base=1000,
        )

    def _asked(self) -> tuple[Workload, Provisioning] | None:
        one = self.life.one(lambda one: bool(one.provisioning))
        if one is None:
            return None
        return one, self.chance.choice([one.provisioning[key] for key in sorted(one.provisioning)])
