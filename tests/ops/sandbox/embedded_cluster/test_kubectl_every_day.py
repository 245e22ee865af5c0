"""kubectl's other commands, unmodified, against the embedded API: each does what it does elsewhere, or says in one sentence why not."""

import json
from pathlib import Path

import pytest

from tests.ops.sandbox.embedded_cluster.test_kubectl_first_hour import Kubectl, kubectl, needs_kubectl

__all__ = ["kubectl"]
pytestmark = needs_kubectl
MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: m, labels: {{a: b}}}}\ndata: {{x: {value}}}\n"


def titles(table: str) -> list[str]:
    """The titles of a table; those of two words are parted by one space."""
    return [one.strip() for one in table.splitlines()[0].split("  ") if one.strip()]


def names(table: str) -> list[str]:
    return [line.split()[0] for line in table.splitlines()[1:]]


@pytest.mark.parametrize(
    ("create", "get", "columns"),
    [
        (
            ["job", "j", "--image=x"],
            "jobs",
            ["NAME", "STATUS", "COMPLETIONS", "SUSPENDED", "AGE", "CONTAINERS", "IMAGES"],
        ),
        (["configmap", "m", "--from-literal=a=b"], "cm", ["NAME", "DATA", "AGE"]),
        (["secret", "generic", "s", "--from-literal=a=b"], "secrets", ["NAME", "TYPE", "DATA", "AGE"]),
        (
            ["service", "clusterip", "s", "--tcp=80"],
            "svc",
            ["NAME", "TYPE", "CLUSTER-IP", "PORT(S)", "AGE", "SELECTOR"],
        ),
        (["serviceaccount", "r"], "sa", ["NAME", "SECRETS", "AGE"]),
        (["quota", "q", "--hard=pods=20"], "quota", ["NAME", "REQUEST", "LIMIT", "AGE"]),
        (["rolebinding", "b", "--clusterrole=admin", "--user=u"], "rolebindings", ["NAME", "ROLE", "AGE"]),
        (["priorityclass", "p", "--value=5"], "pc", ["NAME", "VALUE", "GLOBAL-DEFAULT", "AGE"]),
        (
            ["cronjob", "c", "--image=x", "--schedule=0 0 * * *"],
            "cronjobs",
            ["NAME", "SCHEDULE", "SUSPEND", "ACTIVE", "LAST-SCHEDULE", "AGE", "CONTAINERS", "IMAGES"],
        ),
        (
            ["deployment", "d", "--image=x"],
            "deployments",
            ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE", "CONTAINERS", "IMAGES"],
        ),
        (
            ["poddisruptionbudget", "pdb", "--selector=app=d", "--min-available=1"],
            "pdb",
            ["NAME", "MIN AVAILABLE", "MAX UNAVAILABLE", "AGE"],
        ),
    ],
    ids=lambda one: one if isinstance(one, str) else one[0],
)
async def test_a_kind_has_its_columns(kubectl: Kubectl, create: list[str], get: str, columns: list[str]) -> None:
    await kubectl("create", *create)
    assert titles(await kubectl("get", get, "-o", "wide")) == columns


async def test_lists_are_sorted_by_any_field_of_their_objects_and_chosen_by_labels_and_fields(kubectl: Kubectl) -> None:
    for name, parallelism in (("a", 3), ("b", 1), ("c", 2)):
        spec = f'{{"spec":{{"parallelism":{parallelism},"suspend":true}}}}'
        await kubectl("create", "job", name, "--image=x")
        await kubectl("patch", "job", name, "-p", spec)
    assert names(await kubectl("get", "jobs", "--sort-by=.spec.parallelism")) == ["b", "c", "a"]
    await kubectl("label", "job", "a", "b", "team=red")
    await kubectl("annotate", "job", "a", "why=because")
    assert names(await kubectl("get", "jobs", "-l", "team=red")) == ["a", "b"]
    assert names(await kubectl("get", "jobs", "--field-selector=metadata.name=c")) == ["c"]
    await kubectl("label", "job", "b", "team-")
    assert names(await kubectl("get", "jobs", "-l", "!team")) == ["b", "c"]
    assert await kubectl("get", "job", "a", "-o", "jsonpath={.metadata.annotations.why}") == "because"
    assert (await kubectl("get", "jobs", "-o", "name")).split() == ["job.batch/a", "job.batch/b", "job.batch/c"]
    assert names(await kubectl("get", "jobs", "--chunk-size=1")) == ["a", "b", "c"]


async def test_a_deployment_goes_back_to_the_revision_before_and_uses_its_replica_set_again(kubectl: Kubectl) -> None:
    await kubectl("create", "deployment", "d", "--image=x:1")
    await kubectl("rollout", "status", "deployment", "d", "--timeout=100s")
    await kubectl("set", "image", "deployment/d", "x=x:2")
    await kubectl("rollout", "status", "deployment", "d", "--timeout=100s")
    assert [line.split()[0] for line in (await kubectl("rollout", "history", "deployment", "d")).split("\n")[2:4]] == [
        "1",
        "2",
    ]
    await kubectl("rollout", "undo", "deployment", "d")
    await kubectl("rollout", "status", "deployment", "d", "--timeout=100s")
    assert "x:1" in await kubectl("get", "deployment", "d", "-o", "wide")
    assert len(names(await kubectl("get", "rs"))) == 2
    await kubectl("rollout", "pause", "deployment", "d")
    await kubectl("set", "env", "deployment/d", "A=b")
    await kubectl("set", "resources", "deployment/d", "--limits=cpu=1")
    assert len(names(await kubectl("get", "rs"))) == 2, "it is paused"
    await kubectl("rollout", "resume", "deployment", "d")
    await kubectl("rollout", "status", "deployment", "d", "--timeout=100s")
    assert len(names(await kubectl("get", "rs"))) == 3
    assert "exposed" in await kubectl("expose", "deployment", "d", "--port=80")


async def test_what_is_applied_is_compared_first_and_belongs_to_who_applied_it(
    kubectl: Kubectl, tmp_path: Path
) -> None:
    file = tmp_path / "map.yaml"
    file.write_text(MAP.format(value="one"))
    assert "+data:" in await kubectl("diff", "-f", str(file), code=1, told=True)
    assert "created" in await kubectl("apply", "-f", str(file))
    assert await kubectl("diff", "-f", str(file)) == ""
    assert "unchanged" in await kubectl("apply", "-f", str(file))
    assert "one" in await kubectl("apply", "view-last-applied", "-f", str(file))
    file.write_text(MAP.format(value="two"))
    difference = await kubectl("diff", "-f", str(file), code=1, told=True)
    assert "-  x: one" in difference and "+  x: two" in difference
    conflict = await kubectl("apply", "--server-side", "-f", str(file), code=1)
    assert "conflict" in conflict and ".data.x" in conflict
    for words, value in ((("--dry-run=server",), "one"), ((), "two")):
        assert "serverside-applied" in await kubectl(
            "apply", "--server-side", "--force-conflicts", "-f", str(file), *words
        )
        assert await kubectl("get", "cm", "m", "-o", "jsonpath={.data.x}") == value
    managers = json.loads(await kubectl("get", "cm", "m", "-o", "json", "--show-managed-fields"))["metadata"]
    assert "Apply" in {one["operation"] for one in managers["managedFields"]}
    assert "replaced" in await kubectl("replace", "-f", str(file))
    assert "deleted" in await kubectl("delete", "-f", str(file), "--wait")
    assert "not found" in await kubectl("get", "cm", "m", code=1)


async def test_what_is_waited_for_comes_and_what_is_deleted_takes_what_it_owns_along(kubectl: Kubectl) -> None:
    await kubectl("create", "job", "j", "--image=x", "--", "sleep", "1")
    assert "condition met" in await kubectl("wait", "job/j", "--for=condition=complete", "--timeout=100s")
    assert "command sleep 1" in await kubectl("logs", "job/j", "--tail=5")
    told = await kubectl("describe", "job", "j")
    assert "Completions:" in told
    await kubectl("create", "deployment", "d", "--image=x", "--replicas=2")
    await kubectl("wait", "deployment/d", "--for=condition=Available", "--timeout=100s")
    assert len(names(await kubectl("get", "pods", "-l", "app=d"))) == 2
    await kubectl("delete", "deployment", "d", "--cascade=foreground", "--wait", "--timeout=60s")
    assert names(await kubectl("get", "pods", "-l", "app=d")) == []
    await kubectl("create", "namespace", "t")
    await kubectl("create", "configmap", "m", "-n", "t")
    await kubectl("delete", "namespace", "t", "--wait", "--timeout=60s")
    assert "not found" in await kubectl("get", "namespace", "t", code=1)
    assert "timed out" in await kubectl("wait", "--for=create", "pod/never", "--timeout=1s", code=1)


async def test_nodes_are_cordoned_tainted_and_drained(kubectl: Kubectl) -> None:
    await kubectl("create", "deployment", "d", "--image=x")
    await kubectl("rollout", "status", "deployment", "d", "--timeout=100s")
    place = await kubectl("get", "pods", "-l", "app=d", "-o", "jsonpath={.items[0].spec.nodeName}")
    assert "drained" in await kubectl("drain", place, "--ignore-daemonsets", "--timeout=60s")
    assert "SchedulingDisabled" in await kubectl("get", "node", place)
    await kubectl("uncordon", place)
    await kubectl("taint", "nodes", place, "a=b:NoSchedule")
    assert "a=b:NoSchedule" in await kubectl("describe", "node", place)
    await kubectl("taint", "nodes", place, "a-")


async def test_what_there_is_can_be_asked(kubectl: Kubectl) -> None:
    kinds = await kubectl("api-resources")
    for one in ("jobs", "clusterqueues", "cronjobs", "rolebindings"):
        assert f"\n{one} " in kinds
    assert "kueue.x-k8s.io/v1beta2" in (await kubectl("api-versions")).split()
    assert "is running at" in await kubectl("cluster-info")
    assert "Server Version" in await kubectl("version")
    assert await kubectl("auth", "can-i", "list", "pods", "--as=someone", code=1, told=True) == "no\n"
    await kubectl("create", "clusterrole", "seer", "--verb=list", "--resource=pods")
    await kubectl("create", "clusterrolebinding", "seers", "--clusterrole=seer", "--group=team")
    assert await kubectl("auth", "can-i", "list", "pods", "--as=other", "--as-group=team") == "yes\n"
    assert "someone" in await kubectl("auth", "whoami", "--as=someone")
    for path in ("/healthz", "/livez", "/readyz"):
        assert "ok" in await kubectl("get", "--raw", path)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["create", "ingress", "i", "--rule=a.b/c=d:80"], "the embedded cluster has no ingresses.networking.k8s.io/v1"),
        (
            ["autoscale", "deployment", "d", "--max=5"],
            "the embedded cluster has no horizontalpodautoscalers.autoscaling",
        ),
        (["scale", "job", "j", "--replicas=3"], "jobs have no part scale"),
        (["top", "pods"], "Metrics API not available"),
        (["get", "daemonsets"], 'the server doesn\'t have a resource type "daemonsets"'),
        (["cp", "p:/a", "b"], "the embedded cluster runs no containers"),
        (["attach", "p"], "the embedded cluster runs no containers"),
        (["port-forward", "p", "1:1"], "the embedded cluster runs no containers"),
    ],
    ids=lambda one: one[0] if isinstance(one, list) else "",
)
async def test_what_is_not_here_is_said_in_a_sentence(kubectl: Kubectl, words: list[str], sentence: str) -> None:
    await kubectl("create", "deployment", "d", "--image=x")
    await kubectl("create", "job", "j", "--image=x")
    await kubectl("run", "p", "--image=x")
    await kubectl("wait", "pod/p", "--for=condition=Ready", "--timeout=60s")
    assert sentence in await kubectl(*words, code=1)
