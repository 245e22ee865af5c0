"""What is mutated, area by area, and the tests of this repository that have to notice."""

from typing import NamedTuple


class Area(NamedTuple):
    """Some modules that decide one thing, and the tests that hold them."""

    modules: tuple[str, ...]
    tests: tuple[str, ...]


CASES = "tests/cases"
AREAS = {
    "quota": Area(
        ("projections/quota/node.py", "projections/quota/layout.py", "projections/quota/tree.py"),
        (CASES, "tests/projections/quota"),
    ),
    "flavors": Area(
        (
            "projections/flavors/search.py",
            "projections/flavors/mode.py",
            "projections/flavors/refusal.py",
            "projections/flavors/first_fit.py",
        ),
        (CASES, "tests/projections/flavors", "tests/services/admitter"),
    ),
    "preemption": Area(
        (
            "projections/preemption/candidates.py",
            "projections/preemption/classic.py",
            "projections/preemption/oracle.py",
            "projections/preemption/policy.py",
        ),
        (
            CASES,
            "tests/projections/preemption/test_policy.py",
            "tests/projections/preemption/test_work.py",
            "tests/projections/preemption/test_classic.py",
            "tests/services/preemptor",
        ),
    ),
    "fair sharing": Area(
        (
            "projections/fair_sharing/share.py",
            "projections/preemption/fair.py",
            "projections/preemption/fair_strategy.py",
            "projections/preemption/fair_targets.py",
        ),
        (CASES, "tests/projections/preemption/test_fair.py", "tests/projections/fair_sharing"),
    ),
    "topology": Area(
        (
            "projections/topology/search/balanced.py",
            "projections/topology/search/counts.py",
            "projections/topology/search/distribution.py",
            "projections/topology/search/evenness.py",
            "projections/topology/search/failure_text.py",
            "projections/topology/search/optimal_domains.py",
            "projections/topology/search/order.py",
            "projections/topology/requests/level_parameters.py",
            "projections/topology/placement/replacement.py",
            "projections/topology/placement/resized.py",
            "projections/topology/domains/room.py",
            "projections/topology/search/level_search.py",
            "projections/topology/domains/stored_assignment.py",
            "projections/topology/placement/workload_placement.py",
        ),
        ("tests/projections/topology", "tests/services/admitter/test_topology_with_cards.py"),
    ),
    "pods that stay or hang": Area(
        (
            "projections/topology/pods/remaining.py",
            "projections/topology/placement/node_failures.py",
            "projections/devices/placement/hanging_pods.py",
        ),
        (
            "tests/projections/topology/pods/test_remaining.py",
            "tests/services/admitter/test_elastic_in_domains.py",
            "tests/services/queue_manager/test_any_failure.py",
            "tests/services/queue_manager/test_failed_hosts.py",
            "tests/services/queue_manager/test_hanging_pods.py",
            "tests/services/queue_manager/test_node_failures.py",
        ),
    ),
    "fit": Area(
        (
            "projections/devices/fit/pod_fit.py",
            "projections/devices/fit/pick.py",
            "projections/devices/fit/pod_count.py",
        ),
        ("tests/projections/devices/fit/test_fit.py", "tests/projections/devices", "tests/laws/test_placements.py"),
    ),
    "back-off": Area(
        (
            "services/queue_manager/eviction.py",
            "services/queue_manager/upkeep.py",
            "projections/workloads/deadlines.py",
            "projections/workloads/pods_ready.py",
        ),
        (
            "tests/projections/workloads/test_deadlines.py",
            "tests/projections/workloads/test_pods_ready.py",
            "tests/services/queue_manager",
        ),
    ),
    "partition": Area(
        ("services/runtime/partition/fold.py", "services/runtime/partition/host.py"),
        (
            "tests/services/runtime/partition/test_fold_order.py",
            "tests/services/runtime/partition/test_fold.py",
            "tests/services/runtime/partition/test_forks.py",
            "tests/services/runtime/partition/test_chain.py",
            "tests/services/runtime/partition/test_turns.py",
            "tests/services/runtime/partition/test_host.py",
            "tests/services/runtime/partition/test_clocks_ahead.py",
            "tests/services/runtime/partition/test_admission_window.py",
            "tests/services/runtime/partition/test_killed_hosts.py",
            "tests/services/runtime/partition/test_routed_facts.py",
            "tests/services/runtime/partition/test_bad_messages.py",
        ),
    ),
    "claims": Area(
        (
            "services/watcher/claims/capacity.py",
            "services/watcher/claims/counting.py",
            "services/watcher/claims/extended_resources.py",
            "services/watcher/claims/held_devices.py",
            "services/watcher/claims/older_versions.py",
            "projections/claims/held_devices.py",
            "projections/billing/claims/claim_time.py",
            "projections/billing/claims/device_lines.py",
        ),
        (
            "tests/services/watcher/claims",
            "tests/projections/claims",
            "tests/projections/billing/claims",
        ),
    ),
    "quota of other clusters": Area(
        (
            "projections/checks/quota_automation.py",
            "projections/folds/quota_automation.py",
            "services/multikueue/followed_queues.py",
            "services/applier/queue_status/quota_patch.py",
        ),
        (
            "tests/projections/checks/test_quota_automation.py",
            "tests/services/multikueue/test_quota_automation.py",
            "tests/services/multikueue/test_followed_queues.py",
            "tests/services/applier/queue_status/test_quota_patch.py",
        ),
    ),
    "hash chain": Area(
        ("ops/queries/audit/chain.py", "ops/queries/audit/verify.py"),
        (
            "tests/ops/queries/audit/test_chain.py",
            "tests/ops/queries/audit/test_places.py",
            "tests/ops/queries/audit/test_same_auditor.py",
            "tests/ops/queries/audit/test_amiss.py",
            "tests/ops/queries/audit/test_quarantined.py",
        ),
    ),
    "billing": Area(
        ("projections/billing/lines/charge.py", "projections/billing/ledger.py"),
        (
            "tests/projections/billing",
            "tests/projections/workloads/test_decided_moments.py",
            "tests/ops/queries/billing/test_reading.py",
            "tests/laws/test_ledger.py",
        ),
    ),
}
