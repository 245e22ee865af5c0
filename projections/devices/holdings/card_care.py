"""State of cards besides who holds them: failures, silent plugins, overdue pods, and what of it is reported."""

import msgspec

from events.card import Card
from events.device import CardQuotaObserved, DevicesRegistered, DriftKind, PodObserved
from events.device_config import DeviceConfigObserved, NodeConfigsObserved
from events.event import Millis
from events.settings import HamiSettings
from projections.devices.card_config import CardConfig, card_config
from projections.devices.registration.card_health import CardHealth, due, out_of_service, reported, returned
from projections.devices.registration.handshake import TIMEOUT
from projections.trail import Trail

OVERDUE: Millis = 60_000
"""How long after its time a pod that should be gone may hold cards before that is reported."""


class Suspect(msgspec.Struct, frozen=True, kw_only=True):
    """A pod that should let go of its cards: since when, and why."""

    node: str
    since: Millis
    why: str


class ReportedDrift(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """A drift that is reported (`DriftDetected`) and not yet resolved."""

    kind: DriftKind
    holder: str
    node: str


class CardCare:
    """Tables by card, by `node/vendor`, by pod and by `flavor/resource`. All changes go through the trail."""

    def __init__(self, trail: Trail) -> None:
        self._trail = trail
        self.health: dict[str, CardHealth] = {}
        """By card, for those that have ever failed."""
        self.silent: dict[str, Millis] = {}
        """By `node/vendor`: since when the plugin has not answered."""
        self.lost: dict[str, Millis] = {}
        """By `node/vendor`: since when no cards of the plugin are given to new pods because of it (`PluginLost`)."""
        self.suspects: dict[str, Suspect] = {}
        self.stale: dict[str, Suspect] = {}
        """Pods whose allocation is reported as stale (`AllocationStale`)."""
        self.told: dict[str, tuple[ReportedDrift, ...]] = {}
        """By card the drifts that are reported and not yet resolved; the name is stored in snapshots."""
        self.quotas: dict[str, tuple[CardQuotaObserved, ...]] = {}
        """The card limits of ResourceQuotas, by namespace, in order of their names."""
        self.device_configs: dict[str, DeviceConfigObserved] = {}
        """HAMi's configuration of cards, by `namespace/name` of its ConfigMap."""
        self.node_configs: dict[str, NodeConfigsObserved] = {}
        """The configuration of HAMi's device plugin per node, by `namespace/name` of its ConfigMap."""
        self._config: tuple[DeviceConfigObserved | None, HamiSettings, CardConfig] | None = None
        """The last result of `config` with what it was made from: a cache, kept outside the trail."""
        self.gated: dict[str, dict[str, None]] = {}
        """Keys of pods that wait at their gate for their cards, by workload; derived from the pods."""
        self.short: dict[str, tuple[int, int]] = {}
        """By `flavor/resource`: the nominal quota and what the cards offer, as last reported (`CapacityShort`)."""

    def register(self, registered: DevicesRegistered, at: Millis) -> list[Millis]:
        """Take note of how a node's cards and plugins are reported; when something of it falls due."""
        dues: list[Millis] = []
        for card in registered.cards:
            known = self.health.get(card.uuid)
            now = reported(known, registered.node, at, healthy=card.healthy)
            if now is not None and now is not known:
                self._trail.put(self.health, card.uuid, now)
                dues.extend(time for time in (due(now),) if time is not None)
        prefix = f"{registered.node}/"
        silent = {prefix + vendor for vendor in registered.silent}
        for key in sorted(silent - self.silent.keys()):
            self._trail.put(self.silent, key, at)
            dues.append(at + TIMEOUT)
        for key in sorted(key for key in self.silent if key.startswith(prefix) and key not in silent):
            self._trail.drop(self.silent, key)
            self._trail.drop(self.lost, key)
        return dues

    def config(self, hami: HamiSettings) -> CardConfig:
        """The names, units and policies of cards by these settings and the ConfigMaps that they name."""
        observed, known = self.device_configs.get(f"{hami.namespace}/{hami.device_config}"), self._config
        if known is None or known[0] is not observed or known[1] is not hami:
            known = self._config = (observed, hami, card_config(observed, hami))
        return known[2]

    def set_quota(self, quota: CardQuotaObserved) -> None:
        """Set the card limits of a ResourceQuota in one step, so that a limit that it keeps is never missing."""
        others = self._other_quotas(quota.namespace, quota.name)
        found = tuple(sorted((*others, quota), key=lambda one: one.name))
        self._trail.put(self.quotas, quota.namespace, found)

    def drop_quota(self, namespace: str, name: str) -> None:
        """Forget a ResourceQuota: its limits on cards of the namespace end, those of others stay."""
        others = self._other_quotas(namespace, name)
        if others:
            self._trail.put(self.quotas, namespace, others)
        else:
            self._trail.drop(self.quotas, namespace)

    def _other_quotas(self, namespace: str, name: str) -> tuple[CardQuotaObserved, ...]:
        return tuple(one for one in self.quotas.get(namespace, ()) if one.name != name)

    def card_returned(self, card: str) -> None:
        """New pods may have the card again."""
        known = self.health.get(card)
        if known is not None:
            self._trail.put(self.health, card, returned(known))

    def plugin_lost(self, node: str, vendor: str, since: Millis) -> None:
        """New pods get no card of this vendor on the node."""
        self._trail.put(self.lost, f"{node}/{vendor}", since)

    def in_service(self, node: str, card: Card) -> bool:
        """Whether new pods may have the card, cordons and what is free on it aside."""
        return (
            card.healthy
            and not out_of_service(self.health, card.uuid)
            and not (self.lost and f"{node}/{card.vendor}" in self.lost)
        )

    def node_seen(self, node: str) -> None:
        """A node is there: pods that were reported as stale for its absence are no longer stale."""
        for key in sorted(key for key, suspect in self.stale.items() if suspect.node == node):
            self._trail.drop(self.stale, key)

    def pod_seen(self, key: str, pod: PodObserved, at: Millis) -> None:
        """Take note of a pod that should let go of its cards, and of one that need not any more."""
        known = self.suspects.get(key)
        if pod.terminating:
            suspect = Suspect(node=pod.node, since=pod.gone_by or at, why="it should have ended by then")
        elif pod.bind_failed and not pod.node:
            suspect = Suspect(node=pod.assigned, since=at, why="HAMi failed to bind it")
        else:
            self.pod_gone(key)
            return
        if known is None or known.why != suspect.why:
            self._trail.put(self.suspects, key, suspect)

    def pod_gone(self, key: str) -> None:
        """The pod holds no cards any more, or is no longer overdue."""
        self._trail.drop(self.suspects, key)
        self._trail.drop(self.stale, key)

    def report(self, card: str, drift: ReportedDrift) -> None:
        """Record a drift that was reported."""
        self._trail.put(self.told, card, tuple(sorted({*self.told.get(card, ()), drift})))

    def resolve(self, card: str, kind: DriftKind, holder: str) -> None:
        """Forget a reported drift: log and cluster agree again."""
        left = tuple(drift for drift in self.told.get(card, ()) if (drift.kind, drift.holder) != (kind, holder))
        if left:
            self._trail.put(self.told, card, left)
        else:
            self._trail.drop(self.told, card)

    def dues(self) -> list[Millis]:
        """Every time at which something here falls due."""
        return [
            *(time for known in self.health.values() for time in (due(known),) if time is not None),
            *(since + TIMEOUT for key, since in self.silent.items() if key not in self.lost),
            *(suspect.since + OVERDUE for key, suspect in self.suspects.items() if key not in self.stale),
        ]
