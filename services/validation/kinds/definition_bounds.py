"""The bounds that Kueue's definitions have for single fields, beside those that the structs in `events/api` say.

Those are for what must be so where the object is read; these are asked of what is new in an object, so that one that was stored before
goes on meaning what it says (docs/rules/objects.md#validation).
"""

from collections.abc import Mapping

from services.validation.fields.bounds import Bounds, Form

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
DNS_LABEL = Form(f"^{_LABEL}$", "lower case letters, digits and '-', such as workers-2")
DNS_SUBDOMAIN = Form(f"^{_SUBDOMAIN}$", "lower case letters, digits, '-' and '.', such as example.com")
_OPTIONAL = Form(f"^({_SUBDOMAIN})?$", DNS_SUBDOMAIN.words)
_QUALIFIED = Form(f"^({_SUBDOMAIN}/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$", "such as example.com/rack")
_KIND = Form("^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$", "a kind of object, such as Budget")
NAME = Bounds(least=1, most=253, form=DNS_SUBDOMAIN)
_MAY_NAME = Bounds(most=253, form=_OPTIONAL)
"""A name that may be empty, which stands for none."""
CHECK_NAME = Bounds(least=1, most=316)
POD_SETS_AT_MOST = 18
PRIORITY_CLASSES = {"kueue.x-k8s.io": "WorkloadPriorityClass", "scheduling.k8s.io": "PriorityClass"}
"""By group, the kind of class that a Workload may be in."""

_CHECKS = "spec.admissionChecksStrategy.admissionChecks"
_FLAVOR_NAMES: Mapping[str, Bounds] = {"spec.resourceGroups[].flavors[].name": NAME}
_REQUEST = "spec.podSets[].topologyRequest"
_LEAST_SLICE = Bounds(least=1, told_elsewhere=True)
BOUNDS: Mapping[str, Mapping[str, Bounds]] = {
    "AdmissionCheck": {
        "spec.controllerName": Bounds(least=1, most=253),
        "spec.parameters.apiGroup": NAME,
        "spec.parameters.kind": Bounds(least=1, most=63, form=_KIND),
        "spec.parameters.name": Bounds(least=1, most=63, form=DNS_LABEL),
    },
    "ClusterQueue": {
        **_FLAVOR_NAMES,
        "spec.cohortName": _MAY_NAME,
        "spec.admissionScope": Bounds(needs=("admissionMode",)),
        "spec.admissionChecksStrategy": Bounds(needs=("admissionChecks",)),
        _CHECKS: Bounds(least=1, most=64),
        f"{_CHECKS}[].name": CHECK_NAME,
        f"{_CHECKS}[].onFlavors": Bounds(most=64, once=True),
        f"{_CHECKS}[].onFlavors[]": NAME,
        "spec.concurrentAdmissionPolicy.migration.constraints.lastAcceptableFlavorName": _MAY_NAME,
    },
    "Cohort": {**_FLAVOR_NAMES, "spec.parentName": _MAY_NAME},
    "LocalQueue": {"spec.clusterQueue": _MAY_NAME},
    "MultiKueueCluster": {
        "spec.clusterSource.kubeConfig.location": Bounds(least=1, most=256),
        "spec.clusterSource.clusterProfileRef.name": Bounds(least=1, most=256),
    },
    "MultiKueueConfig": {"spec.clusters[]": Bounds(most=256)},
    "ProvisioningRequestConfig": {
        "spec.provisioningClassName": Bounds(least=1, most=253, form=DNS_SUBDOMAIN, told_elsewhere=True),
        "spec.parameters": Bounds(most=100),
        "spec.parameters{}": Bounds(most=255),
        "spec.managedResources": Bounds(once=True),
        "spec.podSetUpdates.nodeSelector[].key": Bounds(least=1, most=317, form=_QUALIFIED, told_elsewhere=True),
        "spec.podSetUpdates.nodeSelector[].valueFromProvisioningClassDetail": Bounds(least=1, most=32_768),
    },
    "ResourceFlavor": {
        "spec.nodeLabels": Bounds(most=8),
        "spec.topologyName": _MAY_NAME,
    },
    "Topology": {"spec.levels[].nodeLabel": Bounds(form=_QUALIFIED, told_elsewhere=True)},
    "Workload": {
        "spec.podSets": Bounds(least=1),
        "spec.podSets[].name": Bounds(most=63, form=DNS_LABEL),
        f"{_REQUEST}.podSetSliceSize": _LEAST_SLICE,
        f"{_REQUEST}.podsetSliceRequiredTopologyConstraints[].size": _LEAST_SLICE,
        "spec.preemptionGates[].name": Bounds(least=1, most=63),
        "spec.priorityClassRef": Bounds(needs=("group", "kind", "name")),
        "spec.priorityClassRef.group": Bounds(options=tuple(PRIORITY_CLASSES)),
        "spec.priorityClassRef.kind": Bounds(options=tuple(sorted(PRIORITY_CLASSES.values()))),
        "spec.priorityClassRef.name": NAME,
        "spec.queueName": _MAY_NAME,
    },
    "WorkloadPriorityClass": {"description": Bounds(most=2048)},
}
"""By kind and path."""
