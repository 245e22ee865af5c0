"""What somebody types in the first hour, with kubectl unmodified where it is installed: it works, or says why not in one sentence."""

import asyncio
import json
import shutil
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import pytest_asyncio

from events.settings import SettingsObserved
from ops.production.crds.definitions import manifests as crds
from ops.production.process.clock import ScaledClock
from ops.sandbox.embedded_cluster.embedded import EmbeddedCluster
from ops.sandbox.embedded_cluster.nodes.node_objects import gpu_node, plain_node
from ops.sandbox.scenario.platform import convert, validating

KUBECTL = shutil.which("kubectl")
Kubectl = Callable[..., Awaitable[str]]
needs_kubectl = pytest.mark.skipif(KUBECTL is None, reason="kubectl is not installed here")
pytestmark = needs_kubectl
QUEUE = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: q}
spec:
  cohort: x
"""


@pytest_asyncio.fixture
async def kubectl(tmp_path: Path) -> AsyncIterator[Kubectl]:
    cluster = EmbeddedCluster(
        clock=ScaledClock(10),
        kubeconfig=tmp_path / "kubeconfig",
        converter=convert,
        validators=(validating(SettingsObserved()),),
        serving=True,
    )
    for crd in crds():
        cluster.add(crd)
    await cluster.start()
    cluster.add(plain_node("n1"))
    cluster.add(gpu_node("g1", product="V100", zone="a", cards=2, memory_mib=32768, model="NVIDIA-V100"))

    async def run(*words: str, given: str = "", code: int = 0, told: bool = False) -> str:
        """What it prints; of one that fails what it complains of, unless it is said to tell something all the same."""
        done = await asyncio.to_thread(
            subprocess.run,
            [str(KUBECTL), "--kubeconfig", str(tmp_path / "kubeconfig"), *words],
            input=given,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stderr if code and not told else done.stdout

    yield run
    await cluster.stop()


async def test_everything_that_kubectl_creates_is_created(kubectl: Kubectl) -> None:
    for words in (
        ("namespace", "t"),
        ("job", "j", "--image=x", "--", "sleep", "3"),
        ("deployment", "d", "--image=x", "--replicas=2"),
        ("cronjob", "c", "--image=x", "--schedule=*/5 * * * *"),
        ("configmap", "m", "--from-literal=a=b"),
        ("secret", "generic", "s", "--from-literal=a=b"),
        ("quota", "q", "--hard=pods=20"),
        ("serviceaccount", "robot"),
        ("priorityclass", "p", "--value=5"),
        ("role", "r", "--verb=get", "--resource=pods"),
        ("clusterrolebinding", "b", "--clusterrole=admin", "--user=u"),
        ("poddisruptionbudget", "pdb", "--selector=app=d", "--min-available=1"),
        ("service", "clusterip", "d", "--tcp=80"),
    ):
        assert "created" in await kubectl("create", *words)


async def test_a_deployment_is_scaled_watched_restarted_and_its_log_says_what_would_run(kubectl: Kubectl) -> None:
    await kubectl("create", "deployment", "d", "--image=registry/x:1", "--replicas=2")
    await kubectl("scale", "deployment", "d", "--replicas=3")
    assert "successfully rolled out" in await kubectl("rollout", "status", "deployment", "d", "--timeout=100s")
    await kubectl("rollout", "restart", "deployment", "d")
    assert "successfully rolled out" in await kubectl("rollout", "status", "deployment", "d", "--timeout=100s")
    wide = await kubectl("get", "deployments", "-o", "wide")
    assert "3/3" in wide and "registry/x:1" in wide
    told = await kubectl("logs", "deployment/d")
    assert told.startswith("The embedded cluster runs no containers") and "image registry/x:1" in told
    assert "runs no containers" in await kubectl("exec", "deployment/d", "--", "ls", code=1)


async def test_it_may_do_everything_and_is_told_what_fields_mean(kubectl: Kubectl) -> None:
    assert await kubectl("auth", "can-i", "create", "jobs") == "yes\n"
    assert "*.*" in await kubectl("auth", "can-i", "--list")
    assert "kuelog" in await kubectl("auth", "whoami")
    told = await kubectl("explain", "job.spec.suspend")
    assert "FIELD: suspend <boolean>" in told and "Job controller" in told
    assert "nominalQuota" in await kubectl("explain", "clusterqueue.spec.resourceGroups.flavors.resources")
    assert "g1" in (wide := await kubectl("get", "nodes", "-o", "wide")) and "V100" in wide


async def test_a_token_of_a_service_account_is_known_again(kubectl: Kubectl) -> None:
    await kubectl("create", "serviceaccount", "robot")
    token = (await kubectl("create", "token", "robot", "--audience", "kuelog-console")).strip()
    path = "/apis/authentication.k8s.io/v1/tokenreviews"
    for audience, known in (("kuelog-console", True), ("others", False)):
        review = json.dumps({"kind": "TokenReview", "spec": {"token": token, "audiences": [audience]}})
        status = json.loads(await kubectl("create", "--raw", path, "-f", "-", given=review))["status"]
        assert status["authenticated"] is known
        assert not known or status["user"]["username"] == "system:serviceaccount:default:robot"
    assert "not found" in await kubectl("create", "token", "nobody", code=1)


async def test_mistakes_are_named_in_kubectls_own_words(kubectl: Kubectl) -> None:
    assert 'unknown field "spec.cohort"' in await kubectl("create", "-f", "-", given=QUEUE, code=1)
    low = QUEUE.replace("  cohort: x", LOW)
    assert "nominalQuota" in await kubectl("create", "-f", "-", given=low, code=1)


LOW = """  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: f, resources: [{name: cpu, nominalQuota: -4}]}]"""


async def test_a_pod_without_a_node_says_why(kubectl: Kubectl) -> None:
    await kubectl("run", "p", "--image=x", '--overrides={"spec":{"nodeSelector":{"a":"b"}}}')
    await kubectl("wait", "pod/p", "--for=condition=PodScheduled=false", "--timeout=60s")
    assert "is waiting to start: 0/2 nodes are available" in await kubectl("logs", "p", code=1)
