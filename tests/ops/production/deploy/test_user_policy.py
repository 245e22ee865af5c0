"""The policy by which a user label is that of whoever asks, as a real API server decides it."""

import asyncio
from pathlib import Path

import pytest

from events.json_object import JsonObject
from ops.production.deploy.chart import CHOICES, NAMESPACE, manifests
from ops.production.deploy.users import NAME
from ops.production.kubernetes.client import KubeClient, connect
from services.runtime.cluster_port import ObjectInvalid, Resource
from tests.stage.api_server import STRANGER
from tests.stage.installation import JOBS
from tests.stage.real import Real

API = "/apis/admissionregistration.k8s.io/v1"
CRON_JOBS = Resource(group="batch", plural="cronjobs", kind="CronJob")
RIGHTS = Resource(group="rbac.authorization.k8s.io", plural="clusterroles", kind="ClusterRole", namespaced=False)
BOUND = Resource(
    group="rbac.authorization.k8s.io", plural="clusterrolebindings", kind="ClusterRoleBinding", namespaced=False
)
QUEUE, USER = "kueue.x-k8s.io/queue-name", "kuelog.io/user"
POLICY = manifests({**CHOICES, "userPolicy": True})["user-policy"]
TEMPLATE = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "x"}]}}


def job(labels: dict[str, str]) -> JsonObject:
    meta = {"generateName": "j-", "labels": labels}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": {"suspend": True, "template": TEMPLATE}}


def cron_job(labels: dict[str, str]) -> JsonObject:
    made = {"metadata": {"labels": labels}, "spec": {"template": TEMPLATE}}
    spec = {"schedule": "0 0 1 1 *", "jobTemplate": made}
    return {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"generateName": "c-"}, "spec": spec}


def test_a_chart_without_the_choice_has_no_policy() -> None:
    assert "user-policy" not in manifests(CHOICES)
    assert [one["kind"] for one in POLICY] == [
        "ClusterRole",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
    ]
    assert f"system:serviceaccounts:{NAMESPACE}" in str(POLICY[1]["spec"]["matchConditions"])
    kinds = {plural for rule in POLICY[1]["spec"]["matchConstraints"]["resourceRules"] for plural in rule["resources"]}
    assert kinds >= {"jobs", "cronjobs", "pods", "deployments", "statefulsets", "replicasets", "workloads", "rayjobs"}


async def test_nobody_writes_the_name_of_another_or_leaves_it_away(tmp_path: Path, real: Real) -> None:
    await real.start()
    assert real.installation.server is not None
    (tmp_path / "ann").write_text(real.installation.server.kubeconfig_of(STRANGER))
    admin, ann = (
        await connect(str(real.kubeconfig), service="tests"),
        await connect(str(tmp_path / "ann"), service="ann"),
    )
    try:
        own = await _allowed_to_work(admin, ann)
        for value in POLICY:
            await _put(admin, value)
        with pytest.raises(ObjectInvalid, match="names somebody else"):
            async with asyncio.timeout(60):
                while True:  # Until the API server has taken the policy up.
                    await ann.create(JOBS, "team", job({QUEUE: "q", USER: "ben"}))
        made = await ann.create(JOBS, "team", job({QUEUE: "q", USER: own}))
        with pytest.raises(ObjectInvalid, match=f"add the label kuelog.io/user: {own}"):
            await ann.create(JOBS, "team", job({QUEUE: "q"}))
        await ann.create(JOBS, "team", job({}))
        name = made["metadata"]["name"]
        with pytest.raises(ObjectInvalid, match="names somebody else"):
            await ann.merge(JOBS, "team", name, {"metadata": {"labels": {USER: "ben"}}})
        with pytest.raises(ObjectInvalid, match="says whose it is"):
            await ann.merge(JOBS, "team", name, {"metadata": {"labels": {USER: None}}})
        with pytest.raises(ObjectInvalid, match="names somebody else"):
            await ann.create(CRON_JOBS, "team", cron_job({QUEUE: "q", USER: "ben"}))
        bens = await admin.create(JOBS, "team", job({QUEUE: "q", USER: "ben"}))
        await ann.merge(JOBS, "team", bens["metadata"]["name"], {"metadata": {"annotations": {"seen": "yes"}}})
    finally:
        for kind in ("validatingadmissionpolicybindings", "validatingadmissionpolicies"):
            await admin.request("DELETE", f"{API}/{kind}/{NAME}")
        for right in (BOUND, RIGHTS):
            await admin.delete(right, "", "works")
        for client in (admin, ann):
            await client.close()
        await real.stop()


async def _allowed_to_work(admin: KubeClient, ann: KubeClient) -> str:
    """Let her make jobs, and the name that a label has for her."""
    rules = [{"apiGroups": ["batch"], "resources": ["jobs", "cronjobs"], "verbs": ["*"]}]
    await admin.create(RIGHTS, "", {"metadata": {"name": "works"}, "rules": rules})
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    told = await ann.request("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", review)
    user = str(told["status"]["userInfo"]["username"])
    subject = {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": user}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "works"}
    await admin.create(BOUND, "", {"metadata": {"name": "works"}, "subjects": [subject], "roleRef": role})
    return user.replace(":", "_").replace("@", "_")


async def _put(admin: KubeClient, value: JsonObject) -> None:
    group = value["apiVersion"].partition("/")[0]
    plural = f"{value['kind'].lower()}s".replace("policys", "policies")
    path = f"/apis/{group}/v1/{plural}/{value['metadata']['name']}?fieldManager=tests&force=true"
    await admin.request("PATCH", path, value, form="application/apply-patch+yaml")
