"""MultiKueueConfigs and MultiKueueClusters as facts."""

from events.api.labels import LOCALITY, PRICE
from events.api.multikueue import ApiMultiKueueCluster, ApiMultiKueueConfig
from events.catalogue import Fact
from events.json_object import JsonMapping
from events.multikueue import KubeConfigPlace, MultiKueueClusterObserved, MultiKueueConfigObserved
from events.timestamp import parse_timestamp
from projections.billing.terms.money import BadAmount, entered_money
from services.watcher.fields.object_reading import created_at, read


def multikueue_config(value: JsonMapping) -> Fact:
    """The fact of a MultiKueueConfig as it is. Raises `Refused`."""
    found = read(value, ApiMultiKueueConfig)
    return MultiKueueConfigObserved(
        name=found.metadata.name,
        uid=found.metadata.uid,
        clusters=found.spec.clusters,
        automated=found.spec.quota_management == "Automated",
    )


def multikueue_cluster(value: JsonMapping) -> Fact:
    """A MultiKueueCluster, with what its condition Active says. Raises `Refused`."""
    found = read(value, ApiMultiKueueCluster)
    source = found.spec.cluster_source
    stands = next((one for one in found.status.conditions or () if one.type == "Active"), None)
    since = stands.last_transition_time if stands is not None else None
    return MultiKueueClusterObserved(
        name=found.metadata.name,
        uid=found.metadata.uid,
        generation=found.metadata.generation,
        location=source.kube_config.location if source.kube_config is not None else "",
        location_type=KubeConfigPlace(source.kube_config.location_type)
        if source.kube_config is not None
        else KubeConfigPlace.SECRET,
        profile=source.cluster_profile_ref.name if source.cluster_profile_ref is not None else "",
        active=stands is not None and stands.status == "True",
        since=parse_timestamp(since) if since else created_at(found.metadata),
        price=_price((found.metadata.annotations or {}).get(PRICE, "")),
        locality=(found.metadata.labels or {}).get(LOCALITY, ""),
    )


def _price(text: str) -> int | None:
    """The price that an annotation names; None for what is none, or negative: no price is better than a wrong one."""
    try:
        found = entered_money(text)
    except BadAmount:
        return None
    return found if found >= 0 else None
