"""The board of fairness and money for Grafana: who has more than his share, who lends, what preemption costs, what is left of budgets."""

from ops.production.metrics.alert_rules import BUDGET_SPENT, WASTED_PART, once, total
from ops.production.metrics.boards.board import Board, Panel, PanelQuery, Shape, Variable, each

_QUEUES = "cluster_queue=~$cluster_queue"
_OWN = ("cluster_queue", "resource")
_USED = total("kueue_cluster_queue_resource_usage", *_OWN, selector=_QUEUES)
_NOMINAL = total("kueue_cluster_queue_nominal_quota", *_OWN, selector=_QUEUES)
_BY_RESOURCE, _BUDGET = "{{cluster_queue}} {{resource}}", "{{kind}} {{name}} {{resource}}"
_BY_PREEMPTOR = "{{preempting_cluster_queue}} {{reason}}"
_LEFT = f"clamp_min({once('kuelog_budget_limit')} - {once('kuelog_budget_used')}, 0)"

# fmt: off
_PANELS = (
    Panel(title="Shares of queues", queries=(PanelQuery(once("kueue_cluster_queue_weighted_share", _QUEUES), "{{cluster_queue}}"),), note="Borrowed, as a part of the cohort's quota, by weight; where sharing is fair"),
    Panel(title="Shares of cohorts", queries=(each("kueue_cohort_weighted_share", "{{cohort}}"),)),
    Panel(title="Borrowed", stacked=True, queries=(PanelQuery(f"clamp_min({_USED} - {_NOMINAL}, 0)", _BY_RESOURCE),), note="CPU in cores"),
    Panel(title="Left to others: lent or idle", stacked=True, queries=(PanelQuery(f"clamp_min({_NOMINAL} - {_USED}, 0)", _BY_RESOURCE),), note="Which of it is lent, and to whom, the console shows as flows"),
    Panel(title="Past usage of local queues", queries=(each("kueue_local_queue_admission_fair_sharing_usage", "{{namespace}}/{{name}}"),), note="Where local queues are ordered by it"),
    Panel(title="Preemptions of the last day", stacked=True, queries=(PanelQuery(total("kueue_preempted_workloads_total", "preempting_cluster_queue", "reason", over="increase[1d]"), _BY_PREEMPTOR),)),
    Panel(title="Wasted preemptions of the last day", stacked=True, queries=(PanelQuery(total("kuelog_preemptions_wasted_total", "preempting_cluster_queue", "reason", over="increase[1d]"), _BY_PREEMPTOR),), note="For one that went without quota"),
    Panel(title="Part of the preemptions that are wasted", unit="percentunit", queries=(PanelQuery(WASTED_PART, "of the last 6 h"),)),
    Panel(title="Budgets, how much is used", unit="percentunit", queries=(PanelQuery(BUDGET_SPENT, _BUDGET),), note="Of the period that goes on"),
    Panel(title="Budgets, what is left", shape=Shape.TABLE, queries=(PanelQuery(_LEFT, _BUDGET),), note="Hours of the resource (CPU in cores), or money"),
    Panel(title="Users whose share of a budget is used up", stacked=True, queries=(each("kuelog_budget_users_spent", _BUDGET),)),
)
# fmt: on

FAIRNESS = Board(
    name="fairness",
    title="Fairness and money",
    panels=_PANELS,
    variables=(Variable(name="cluster_queue", metric="kueue_cluster_queue_info", label="cluster_queue"),),
)
