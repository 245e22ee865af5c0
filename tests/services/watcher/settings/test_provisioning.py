"""How a check asks the autoscaler, as a fact."""

from events.json_object import JsonObject
from events.provisioning import MergePolicy, ProvisioningConfigObserved, SelectorFromDetail
from services.watcher.settings.provisioning import provisioning_config

CLASS = "check-capacity.autoscaling.x-k8s.io"
MINUTE = 60_000


def told(**spec: object) -> object:
    value: JsonObject = {"metadata": {"name": "c"}, "spec": {"provisioningClassName": CLASS, **spec}}
    return provisioning_config(value)


def test_what_failed_is_tried_three_times_more_after_a_minute_to_half_an_hour_unless_it_says_otherwise() -> None:
    plain = ProvisioningConfigObserved(
        name="c", class_name=CLASS, backoff_limit=3, backoff_base=MINUTE, backoff_max=30 * MINUTE
    )
    assert told() == told(retryStrategy={}) == told(retryStrategy=None) == plain
    own = {"backoffLimitCount": 0, "backoffBaseSeconds": 5, "backoffMaxSeconds": 7}
    assert told(retryStrategy=own) == ProvisioningConfigObserved(
        name="c", class_name=CLASS, backoff_limit=0, backoff_base=5000, backoff_max=7000
    )


def test_all_that_it_says_is_told() -> None:
    assert told(
        parameters={"b": "2", "a": "1"},
        managedResources=["cpu"],
        podSetUpdates={"nodeSelector": [{"key": "pool", "valueFromProvisioningClassDetail": "NodePool"}]},
        podSetMergePolicy="IdenticalPodTemplates",
    ) == ProvisioningConfigObserved(
        name="c",
        class_name=CLASS,
        parameters={"a": "1", "b": "2"},
        managed_resources=("cpu",),
        selectors=(SelectorFromDetail(key="pool", detail="NodePool"),),
        merge=MergePolicy.IDENTICAL_TEMPLATES,
    )
