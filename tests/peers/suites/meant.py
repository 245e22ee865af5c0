"""Specs of Kueue's suites that kuelog is not meant to pass, and why."""

import re
from collections.abc import Mapping

_DECIDED_BY_OTHERS = "what others write of a decision counts for nothing, and is written over"
_ADMISSION_REMOVED = "when The workload's admission is removed Should restore the original node selectors"
_KINDS = (
    "job",
    "mpijob",
    "pytorchjob",
    "rayjob",
    "raycluster",
    "trainjob",
    "appwrapper",
    "jaxjob",
    "tfjob",
    "xgboostjob",
    "paddlejob",
)

MEANT: Mapping[tuple[str, str], str] = {
    ("scheduler", "when Scheduler patch request fails Should not reserve quota"): (
        "it fakes the client inside of the manager, which kuelog does not have"
    ),
    **{
        ("multikueue", f"{what} MultiKueueClusters, kubeconfig provided by {how}"): why
        for how, why in {
            "secret": "it gives one cluster two names: docs/rules/multikueue.md#one-name",
            "file": "the file lies where later versions read none: docs/rules/multikueue.md#kubeconfig",
        }.items()
        for what in ("the active condition of AdmissionChecks and", "insecure kubeconfig of")
    },
    ("multikueue", "when MultiKueueAllowInsecureKubeconfigs enabled"): "a gate that later versions do not have",
    ("multikueue", "insecure kubeconfig of MultiKueueClusters and remove remote client"): _DECIDED_BY_OTHERS,
    ("multikueue/scheduler", "should not trigger concurrent preemptions"): (
        "who was evicted there leaves nothing there: docs/rules/multikueue.md#dispatch"
    ),
    ("multikueue/tas", "should admit workload when nodes are provisioned"): (
        "it turns a gate off that later versions do not have, by which a cluster is chosen before it admits"
    ),
    ("scheduler/delayedadmission", "should requeue workloads after a delayed retry"): (
        "who was never admitted gives its quota back at once: docs/rules/eviction.md#without-a-job"
    ),
    **dict.fromkeys(
        (
            *((f"controller/jobs/{kind}", _ADMISSION_REMOVED) for kind in _KINDS),
            (
                "controller/jobs/pod",
                "when The workload's admission is removed Should not restore the original node selectors",
            ),
            ("controller/jobs/job", "Interacting with scheduler Should schedule jobs with partial admission"),
        ),
        _DECIDED_BY_OTHERS,
    ),
    (
        "controller/jobs/job",
        "Interacting with scheduler when The job is deleted while admitted Its workload finalizer should be removed",
    ): ("the Workload of a job that is gone goes with it, which takes the garbage collector"),
    ("controller/jobs/job", "should scale up an elastic job with TAS unconstrained topology"): (
        "it grows only with the gate for it: docs/rules/elastic.md#with-topology"
    ),
    ("controller/jobs/job", "Should mark old pending workload-slice evicted by scheduler as finished"): (
        "a slice that another one replaces has not finished: docs/metrics.md"
    ),
    ("scheduler", "foundation-queue blocks capacity when it is not sure that it can reclaim"): (
        "it asks for what is so until the next cycle, which is over when it looks"
    ),
    **dict.fromkeys(
        (
            ("controller/dra", f"Should reject workload with {one}")
            for one in ("CEL selectors", "device constraints", "AdminAccess", "device config")
        ),
        "what 0.17 refuses of claims later versions count, as kuelog does: docs/claims.md",
    ),
    **dict.fromkeys(
        (
            ("controller/jobs/raycluster", "Should support raycluster scale-down and scale-up"),
            (
                "controller/jobs/raycluster",
                "Should support scheduling pending workload after freeing capacity on scale-down",
            ),
        ),
        "its queue has no memory, of which the container takes some that KubeRay adds for Ray's autoscaler: docs/jobs.md",
    ),
    ("tas", "uses exponential second-pass backoff for the workload admission"): (
        "it counts in one Event what are several here: each has a name that is the same whoever writes it, and whenever"
    ),
    ("webhook/jobs", "should reject a JobSet whose pod‑slice size exceeds total pod count"): (
        "it asks for Kueue's words, and kuelog says what is wrong, and what to write instead, in its own"
    ),
    ("scheduler/podsready", "NonblockingMode Tiny PodsReady timeout Should re-admit a timed out workload"): (
        "nobody gives its quota back: only then does its back-off end, docs/rules/eviction.md#without-a-job"
    ),
}
"""By suite and the end of a spec's whole name: why it is meant to fail."""


def meant_ends(suite: str) -> str:
    """An expression for the names of specs of a suite that are meant to fail: where one does, what follows it in order is left out."""
    ends = (re.escape(end).replace("\\ ", " ") for where, end in MEANT if where == suite)  # Go escapes no spaces.
    return "|".join(f"{end}$" for end in ends)


def meant(suite: str, spec: str) -> str:
    """Why a spec is meant to fail; empty if it is not."""
    return next((why for (where, end), why in MEANT.items() if where == suite and spec.endswith(end)), "")
