from msgspec import convert

from events.api.pods import PodTemplate
from events.selector import NodeTerm, Operator, PreferredNodeTerm, Requirement
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
