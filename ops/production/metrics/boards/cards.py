"""The board of cards for Grafana: what is given of them, who holds it, what is left and of what use that is.

What is really used inside of containers HAMi's node monitor measures; panels that ask for it are empty where it is not scraped.
"""

from ops.production.metrics.alert_rules import once, total
from ops.production.metrics.boards.board import Board, Panel, PanelQuery, Shape, Variable, each

_ON = "node=~$node"
_GIVEN, _THERE = once("hami_gpu_memory_allocated_bytes", _ON), once("hami_gpu_memory_limit_bytes", _ON)
_CARD, _MODEL = "{{node}} {{device_uuid}}", "{{model}}"
_OFFERED, _NOMINAL = once("kuelog_flavor_offered"), once("kuelog_flavor_nominal")

# fmt: off
_PANELS = (
    Panel(title="Cards", shape=Shape.STAT, queries=(PanelQuery(f"count({_THERE})"),)),
    Panel(title="Memory that is given", unit="percentunit", shape=Shape.STAT, queries=(PanelQuery(f"sum({_GIVEN}) / sum({_THERE})"),)),
    Panel(title="Cards by state", stacked=True, queries=(PanelQuery(total("kuelog_card_state", "state", selector=_ON), "{{state}}"),)),
    Panel(title="Given, reserved and used by node", unit="bytes", queries=(PanelQuery(f"sum by (node) ({_GIVEN})", "given {{node}}"), PanelQuery(total("kuelog_card_reserved_bytes", "node", selector=_ON), "reserved {{node}}"), PanelQuery(f"sum by (node) ({_THERE} * 0 + on (device_uuid) group_left () max by (device_uuid) (hami_host_gpu_memory_used_bytes))", "used {{node}}")), note="reserved: for pods that are still to come; used: as HAMi's node monitor measures it"),
    Panel(title="Cores given of each card", unit="percent", queries=(each("hami_gpu_core_allocated_ratio", _CARD, _ON),)),
    Panel(title="Containers that share a card", queries=(each("hami_gpu_shared_count", _CARD, _ON),)),
    Panel(title="Free memory by model", unit="bytes", queries=(each("kuelog_model_free_bytes", f"free {_MODEL}"), each("kuelog_model_largest_bytes", f"largest on one card {_MODEL}"), each("kuelog_model_stranded_bytes", f"of no use {_MODEL}")), note="of no use: on cards without a slot or without cores"),
    Panel(title="What cards offer beyond the quota", below_zero=True, queries=(PanelQuery(f"{_OFFERED} - {_NOMINAL}", "{{flavor}} {{resource}}"),), note="Below zero quota promises more than there is"),
    Panel(title="Given and idle, the ten largest", unit="bytes", queries=(PanelQuery(f"topk(10, sum by (device_uuid) ({_GIVEN}) * on (device_uuid) (1 - max by (device_uuid) (hami_host_gpu_utilization_ratio) / 100))", "{{device_uuid}}"),), note="Memory given of a card, times how idle HAMi's node monitor finds it"),
    Panel(title="Who holds memory, the ten largest", unit="bytes", queries=(PanelQuery(f"topk(10, {total('hami_vgpu_memory_allocated_bytes', 'namespace', 'pod', selector=_ON)})", "{{namespace}}/{{pod}}"),)),
    Panel(title="Memory used of what was given", unit="percentunit", queries=(PanelQuery("sum by (namespace, pod) (hami_vgpu_memory_used_bytes) / (sum by (namespace, pod) (hami_vgpu_memory_limit_bytes) > 0)", "{{namespace}}/{{pod}}"),), note="As HAMi's node monitor measures it"),
    Panel(title="Used of the quota of namespaces", queries=(each("hami_resource_quota_used", "{{namespace}} {{quota_name}}"),)),
    Panel(title="Differences between log and cluster", stacked=True, queries=(each("kuelog_drift", "{{kind}}"),)),
    Panel(title="Pieces of MIG cards", shape=Shape.TABLE, queries=(PanelQuery(f"count by (node, profile) ({once('hami_node_gpu_mig_instance_info', _ON)})"),)),
)
# fmt: on

CARDS = Board(
    name="cards",
    title="Cards",
    tags=("kuelog", "hami"),
    panels=_PANELS,
    variables=(Variable(name="node", metric="hami_gpu_memory_limit_bytes", label="node"),),
)
