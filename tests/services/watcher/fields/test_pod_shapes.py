import pytest
from msgspec import convert

from events.api.pods import PodTemplate
from events.selector import NodeTerm, Operator, PreferredNodeTerm, Requirement
from projections.devices.vendors.table import VENDORS
from projections.devices.vendors.vendor import Vendor
from services.watcher.fields.pod_shapes import pod_shape


def test_terms_that_nodes_should_meet_are_read_with_their_weights() -> None:
    expression = {"key": "zone", "operator": "In", "values": ["east"]}
    preferred = [{"weight": 10, "preference": {"matchExpressions": [expression]}}, {"weight": 1, "preference": {}}]
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    shape = pod_shape(convert({"spec": {"affinity": affinity}}, PodTemplate), "pod")
    east = Requirement(key="zone", operator=Operator.IN, values=("east",))
    assert shape.preferred_terms == (
        PreferredNodeTerm(weight=10, term=NodeTerm(expressions=(east,))),
        PreferredNodeTerm(weight=1, term=NodeTerm()),
    )
    assert shape.node_terms == ()


def test_a_node_that_is_asked_for_by_its_name_is_read_beside_what_is_asked_of_its_labels() -> None:
    field = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
    terms = [
        {"matchFields": [field]},
        {"matchExpressions": [{"key": "zone", "operator": "Exists"}], "matchFields": [field]},
    ]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    shape = pod_shape(convert({"spec": {"affinity": {"nodeAffinity": required}}}, PodTemplate), "pod")
    named = Requirement(key="metadata.name", operator=Operator.IN, values=("n1",))
    zoned = Requirement(key="zone", operator=Operator.EXISTS)
    assert shape.node_terms == (NodeTerm(fields=(named,)), NodeTerm(expressions=(zoned,), fields=(named,)))


@pytest.mark.parametrize("vendor", VENDORS, ids=lambda vendor: vendor.word)
def test_annotations_by_which_a_pod_chooses_cards_of_any_vendor_are_read_and_no_others(vendor: Vendor) -> None:
    steering = {name: "x" for name in sorted(vendor.steering())}
    template = convert({"metadata": {"annotations": {**steering, "team.io/note": "x"}}}, PodTemplate)
    assert pod_shape(template, "pod").device_annotations == steering


def test_a_label_by_which_hami_leaves_a_pod_alone_is_read() -> None:
    def unseen(labels: dict[str, str]) -> bool:
        return pod_shape(convert({"metadata": {"labels": labels}}, PodTemplate), "pod").unseen_by_hami

    assert unseen({"hami.io/webhook": "ignore"})
    assert not unseen({"hami.io/webhook": "no"}) and not unseen({})
