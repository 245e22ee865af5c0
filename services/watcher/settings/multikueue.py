"""MultiKueueConfigs and MultiKueueClusters as facts."""

from events.api.multikueue import ApiMultiKueueCluster, ApiMultiKueueConfig
from events.catalogue import Fact
from events.json_object import JsonMapping
from events.multikueue import KubeConfigPlace, MultiKueueClusterObserved, MultiKueueConfigObserved
from events.timestamp import parse_timestamp
from services.watcher.fields.object_reading import created_at, read


def multikueue_config(value: JsonMapping) -> Fact:
    """The fact of a MultiKueueConfig as it is. Raises `Refused`."""
    found = read(value, ApiMultiKueueConfig)
    return MultiKueueConfigObserved(name=found.metadata.name, uid=found.metadata.uid, clusters=found.spec.clusters)


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
    )
