"""The policy that holds the label `kuelog.io/user` to whoever asks, so that nobody spends the share of a budget that is another's.

Rule: docs/rules/budgets.md#users

A ValidatingAdmissionPolicy: the API server itself decides, also while the webhook is away.
"""

from events.api.labels import QUEUE_NAME, USER
from events.json_object import JsonObject
from ops.production.crds.definitions import GROUP
from ops.production.deploy.chart_values import ChartValues
from ops.production.deploy.permissions import job_resources
from services.jobs.kinds.managed_kinds import kinds_of

NAME = "users.kuelog.io"
RIGHT = ("kuelog.io", "users", "use")
"""Group, resource and verb of the right to write another name."""
_MAKERS = {"batch": ["cronjobs"], "apps": ["replicasets"]}
"""What makes jobs or pods of a template, besides the kinds of jobs."""
_TEMPLATES = (
    "",
    "?spec.?template.",
    "?spec.?jobTemplate.",
    "?spec.?jobTemplate.?spec.?template.",
    "?spec.?leaderWorkerTemplate.?leaderTemplate.",
    "?spec.?leaderWorkerTemplate.?workerTemplate.",
)


def user_policy(values: ChartValues) -> list[JsonObject]:
    """The policy, its binding, and the role of who may write other names."""
    group, resource, verb = RIGHT
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": f"{values.text('roles.prefix')}-user-namer-role"},
        "rules": [{"apiGroups": [group], "resources": [resource], "verbs": [verb]}],
    }
    policy = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": NAME},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": _rules(values)},
            "matchConditions": [
                {"name": "nobody-of-the-system", "expression": _not_in("system:serviceaccounts:kube-system")},
                {"name": "no-kubelet", "expression": _not_in("system:nodes")},
                {"name": "not-ourselves", "expression": _not_in(f"system:serviceaccounts:{values.namespace}")},
            ],
            "variables": _VARIABLES,
            "validations": _VALIDATIONS,
        },
    }
    binding = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": NAME},
        "spec": {"policyName": NAME, "validationActions": ["Deny"]},
    }
    return [role, policy, binding]


def _rules(values: ChartValues) -> list[JsonObject]:
    plurals: dict[str, list[str]] = {GROUP: ["workloads"], "": ["pods"], **{k: [*v] for k, v in _MAKERS.items()}}
    for one in (*job_resources(values.settings), *kinds_of(values.settings).serving):
        named = plurals.setdefault(one.group, [])
        if one.plural not in named:
            named.append(one.plural)
    return [
        {
            "apiGroups": [group],
            "apiVersions": ["*"],
            "operations": ["CREATE", "UPDATE"],
            "resources": sorted(names),
            "scope": "Namespaced",
        }
        for group, names in sorted(plurals.items())
    ]


def _not_in(group: str) -> str:
    return f"!('{group}' in request.userInfo.groups)"


def _labels(of: str) -> str:
    found = ", ".join(f"{of}.{at}?metadata.?labels.orValue({{}})" for at in _TEMPLATES)
    return f"[{found}]"


_NAMES = "{}.filter(l, '" + USER + "' in l).map(l, l['" + USER + "'])"
_UNNAMED = "{}.exists(l, '" + QUEUE_NAME + "' in l && !('" + USER + "' in l))"
_VARIABLES = [
    {"name": "own", "expression": "request.userInfo.username.replace(':', '_').replace('@', '_').replace('/', '_')"},
    {"name": "labels", "expression": _labels("object")},
    {"name": "before", "expression": f"oldObject == null ? [] : {_labels('oldObject')}"},
    {"name": "names", "expression": _NAMES.format("variables.labels")},
    {"name": "named", "expression": _NAMES.format("variables.before")},
]
_VALIDATIONS = [
    {
        "expression": "variables.names.all(name, name == variables.own || name in variables.named || "
        f"authorizer.group('{RIGHT[0]}').resource('{RIGHT[1]}').name(name).check('{RIGHT[2]}').allowed())",
        "messageExpression": f"'the label {USER} names somebody else: write ' + variables.own",
        "reason": "Forbidden",
    },
    {
        "expression": f"!{_UNNAMED.format('variables.labels')} || {_UNNAMED.format('variables.before')}",
        "messageExpression": f"'what names a queue says whose it is: add the label {USER}: ' + variables.own",
        "reason": "Invalid",
    },
]
