"""Jobs that run on other clusters: the whole way through a manager and two workers, decided again after each story."""

import asyncio
import base64
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import yaml
from msgspec.structs import replace

from events.api.labels import DECISION
from events.json_path import look
from events.multikueue import MultiKueueSettings
from events.settings import SettingsObserved
from ops.production.archive.history import read_everything
from ops.production.deploy.chart import CHOICES, NAMESPACE
from ops.production.health import Health
from ops.production.kubernetes.absent import AbsentCluster
from ops.production.kubernetes.remote import KubeConnector
from ops.production.log.streams import PARTITION
from ops.production.served import MULTIKUEUE, SERVICES
from ops.production.wiring import Running
from ops.queries.replay import fold_partition
from services.applier.writing import WORKLOADS
from services.multikueue.cluster_access import SECRETS
from services.multikueue.connection import CLUSTERS as CONNECTED
from services.runtime.cluster_port import Resource
from services.runtime.own_task import stopped
from tests.ops.production.deploy.test_least_rights import granted, question
from tests.ops.production.kubernetes.recording import recording
from tests.stage.cluster import UNTIL_ENDED_S
from tests.stage.cluster import WORKLOADS as COPIES
from tests.stage.kuelog_worker import KuelogWorker
from tests.stage.kueue_worker import KueueWorker
from tests.stage.played_kueue import Worker
from tests.stage.stage import CLUSTER_QUEUES, Stage, job
from tests.stories.test_checks import conditions, workload

RULE = MultiKueueSettings(worker_lost_timeout=60_000)
SETTINGS = SettingsObserved(multikueue=RULE, devices=False)
BESIDE = {("get", "", "secrets"), ("get", "multicluster.x-k8s.io", "clusterprofiles")}
"""What it may ask for in its own namespace."""
KUEUE = "kueue.x-k8s.io/v1beta2"
CONFIGS = Resource(group="kueue.x-k8s.io", plural="multikueueconfigs", version="v1beta2", kind="MultiKueueConfig")
CHECK = {
    "apiVersion": KUEUE,
    "kind": "AdmissionCheck",
    "metadata": {"name": "elsewhere"},
    "spec": {
        "controllerName": "kueue.x-k8s.io/multikueue",
        "parameters": {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": "all"},
    },
}


def delegated(name: str, seconds: int) -> dict[str, Any]:
    """A job that may run elsewhere, on cards whose nodes take only who says so."""
    found = job(name, seconds)
    found["spec"]["template"]["spec"]["tolerations"] = [{"key": "nvidia.com/gpu", "operator": "Exists"}]
    return {**found, "spec": {**found["spec"], "managedBy": "kueue.x-k8s.io/multikueue"}}


def active(stage: Stage, name: str) -> tuple[str, str, str]:
    """The condition Active of a worker cluster."""
    value = stage.get("multikueueclusters.kueue.x-k8s.io", "", name)
    found = next((one for one in value.get("status", {}).get("conditions", ()) if one["type"] == "Active"), {})
    return found.get("status", ""), found.get("reason", ""), found.get("message", "")


def check_of(stage: Stage) -> tuple[str, str]:
    found = (workload(stage).get("status", {}).get("admissionChecks") or [{}])[0]
    return found.get("state", ""), found.get("message", "")


async def said(running: Running, *away: str) -> None:
    """Wait until its health names these clusters, and no others, as away."""
    told = [f"MultiKueueCluster {name} is not connected; its condition Active says why" for name in away]
    while await Health(running).worth_knowing() != told:  # noqa: ASYNC110 - what it knows comes over the log
        await asyncio.sleep(0.05)


@asynccontextmanager
async def clusters(
    stage: Stage, folder: Path, *, settings: SettingsObserved = SETTINGS
) -> AsyncGenerator[list[Worker]]:
    """Two workers whose Kueue is played, and a manager."""
    workers = [Worker(name, folder, stage.clock) for name in ("w1", "w2")]
    async with managing(stage, workers, settings):
        yield workers


def home_of(stage: Stage) -> str:
    """The namespace of the Secrets for worker clusters."""
    return NAMESPACE if stage.cluster.real else "default"


async def set_up(stage: Stage, workers: Sequence[Worker | KuelogWorker | KueueWorker]) -> None:
    """Start the workers, and lead the queue to them."""
    home = home_of(stage)
    for one in workers:
        await one.start()
        text = one.kubeconfig.read_bytes()
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": one.name, "namespace": home},
        }
        await stage.add({**secret, "data": {"kubeconfig": base64.b64encode(text).decode()}})
        meta, source = {"name": one.name}, {"kubeConfig": {"location": one.name, "locationType": "Secret"}}
        cluster = {"apiVersion": KUEUE, "kind": "MultiKueueCluster", "metadata": meta}
        await stage.add({**cluster, "spec": {"clusterSource": source}})
    config = {"apiVersion": KUEUE, "kind": "MultiKueueConfig", "metadata": {"name": "all"}}
    await stage.add({**config, "spec": {"clusters": [one.name for one in workers]}})
    await stage.add(CHECK)
    strategy = {"admissionChecks": [{"name": "elsewhere"}]}
    await stage.client.merge(CLUSTER_QUEUES, "", "team", {"spec": {"admissionChecksStrategy": strategy}})


@asynccontextmanager
async def managing(
    stage: Stage,
    workers: Sequence[Worker | KuelogWorker | KueueWorker],
    settings: SettingsObserved = SETTINGS,
    **choices: Any,
) -> AsyncGenerator[None]:
    """A manager whose service of other clusters runs apart; in the end all that was decided is decided again."""
    opened = AsyncExitStack()
    try:
        await set_up(stage, workers)
        story = (stage, *(one.stage for one in workers if isinstance(one, KuelogWorker)))
        for one in story:
            one.story = story
        here = await recording(str(await stage.cluster.kubeconfig_of(MULTIKUEUE)), MULTIKUEUE)
        opened.push_async_callback(here.close)
        stage.serve(*(one for one in SERVICES if one != MULTIKUEUE), settings=settings)
        apart = replace(stage.ports, reader=AbsentCluster(), writer=here, connector=KubeConnector(home_of(stage)))
        running = Running(apart, (MULTIKUEUE,), replica="apart")
        stage.tasks.append(asyncio.create_task(running.run()))
        await stage.until(lambda: all(active(stage, one.name)[:2] == ("True", "Active") for one in workers))
        await said(running)
        yield
        names = sorted(one["metadata"]["name"] for one in stage.of("multikueueclusters.kueue.x-k8s.io"))
        away = [name for name in names if active(stage, name)[0] != "True"]
        await said(running, *away)
        asked = {question(method, url) for method, url, _ in here.answers} - BESIDE
        installed = granted(MULTIKUEUE, "multikueue", multiKueue={**CHOICES["multiKueue"], "enabled": True}, **choices)
        assert asked <= installed, "it asks here for no more than it may"
        entries = await read_everything(stage.bus)
        _, replayed = fold_partition(PARTITION, entries, verify=True)
        assert not replayed.differences, "every decision, decided again, is the same"
    finally:
        for task in stage.tasks:
            await stopped(task)
        for one in workers:
            await one.stop()
        await opened.aclose()


async def test_a_job_runs_where_it_is_admitted_first_and_nothing_of_it_stays_there(tmp_path: Path) -> None:
    async with asyncio.timeout(120), Stage(tmp_path) as stage, clusters(stage, tmp_path) as (w1, w2):
        w1.admits = False
        await stage.add(delegated("patient", UNTIL_ENDED_S))
        await w1.cluster.until(lambda: w1.cluster.changes(COPIES) > 0)
        await stage.until(lambda: check_of(stage) == ("Ready", 'The workload was admitted on "w2"'))
        await stage.until(lambda: workload(stage).get("status", {}).get("clusterName") == "w2")
        await stage.until(lambda: stage.running("patient"))
        assert not w1.copies and not w1.jobs, "the loser went before the job was made"
        assert not stage.of("pods"), "no pod of it runs here"
        (there,) = w2.jobs
        assert there["metadata"]["labels"]["kueue.x-k8s.io/multikueue-origin"] == "multikueue"
        assert "managedBy" not in there["spec"]
        await w2.end_pods("patient")
        await stage.until(lambda: stage.complete("patient"))
        await stage.until(lambda: conditions(stage).get("Finished", ("", ""))[0] == "True")
        await w2.cluster.until(lambda: not w2.copies and not w2.jobs)


async def test_a_job_that_is_evicted_there_comes_back_and_is_tried_again(tmp_path: Path) -> None:
    async with asyncio.timeout(120), Stage(tmp_path) as stage, clusters(stage, tmp_path) as (w1, w2):
        w2.admits = False
        await stage.add(delegated("patient", UNTIL_ENDED_S))
        await stage.until(lambda: stage.running("patient"))
        w1.admits = False
        w1.evict()
        await stage.until(lambda: workload(stage).get("status", {}).get("clusterName") is None)
        w2.admit()
        await stage.until(lambda: workload(stage).get("status", {}).get("clusterName") == "w2")
        await stage.until(lambda: stage.running("patient"))
        assert [len(one.jobs) for one in (w1, w2)] == [0, 1]


async def test_what_runs_in_a_cluster_that_is_lost_for_too_long_runs_in_another_and_the_rest_goes_when_it_is_back(
    tmp_path: Path,
) -> None:
    async with asyncio.timeout(150), Stage(tmp_path) as stage, clusters(stage, tmp_path) as (w1, w2):
        w2.admits = False
        await stage.add(delegated("patient", UNTIL_ENDED_S))
        await stage.until(lambda: stage.running("patient"))
        w2.admit()
        await w1.stop()
        await stage.until(lambda: active(stage, "w1")[:2] == ("False", "ClientConnectionFailed"))
        await stage.until(lambda: workload(stage).get("status", {}).get("clusterName") == "w2")
        await stage.until(lambda: stage.running("patient"))
        await w1.start()
        await stage.until(lambda: active(stage, "w1") == ("True", "Active", "Connected"))
        await w1.cluster.until(lambda: not w1.copies and not w1.jobs)
        assert len(w2.jobs) == 1


async def test_a_job_is_tried_where_the_dispatcher_of_somebody_else_names_a_cluster(tmp_path: Path) -> None:
    settings = replace(SETTINGS, multikueue=replace(RULE, dispatcher="example.com/dispatcher"))
    async with (
        asyncio.timeout(120),
        Stage(tmp_path) as stage,
        clusters(stage, tmp_path, settings=settings) as (w1, w2),
    ):
        w1.admits = w2.admits = False
        await stage.add(delegated("patient", UNTIL_ENDED_S))
        before = await named(stage, "w2")
        await w2.cluster.until(lambda: bool(w2.copies))
        await stage.until(lambda: workload(stage)["metadata"]["annotations"][DECISION] != before)
        assert workload(stage)["status"]["nominatedClusterNames"] == ["w2"], "it is theirs, whatever else is written"
        w1.admit()
        w2.admit()
        await stage.until(lambda: workload(stage).get("status", {}).get("clusterName") == "w2")
        await stage.until(lambda: stage.running("patient"))
        assert not workload(stage)["status"].get("nominatedClusterNames")
        assert not w1.copies, "nobody has named it"
        w2.admits = False
        w2.evict()
        await stage.until(lambda: workload(stage).get("status", {}).get("clusterName") is None)
        await named(stage, "w2", "w1")
        await stage.until(lambda: workload(stage).get("status", {}).get("clusterName") == "w1")
        await stage.until(lambda: stage.running("patient"))
        assert [len(one.jobs) for one in (w1, w2)] == [1, 0]


async def named(stage: Stage, *names: str) -> str:
    """Name clusters once the workload holds quota and its check is Pending; the decision that its object bore then."""
    await stage.until(lambda: conditions(stage).get("QuotaReserved", ("", ""))[0] == "True")
    await stage.until(
        lambda: conditions(stage).get("Evicted", ("", ""))[0] != "True" and check_of(stage)[0] == "Pending"
    )
    found = workload(stage)
    assert not found["status"].get("nominatedClusterNames"), "kuelog names none"
    patch = {"status": {"nominatedClusterNames": list(names)}}
    await stage.client.merge(WORKLOADS, "default", found["metadata"]["name"], patch, subresource="status")
    return str(found["metadata"]["annotations"].get(DECISION, ""))


async def test_a_kubeconfig_that_may_not_be_used_is_refused_and_named_on_the_cluster(tmp_path: Path) -> None:
    async with asyncio.timeout(60), Stage(tmp_path) as stage, clusters(stage, tmp_path):
        meta, source = {"name": "w3"}, {"kubeConfig": {"location": "none", "locationType": "Secret"}}
        cluster = {"apiVersion": KUEUE, "kind": "MultiKueueCluster", "metadata": meta}
        await stage.add({**cluster, "spec": {"clusterSource": source}})
        await stage.until(
            lambda: (
                active(stage, "w3") == ("False", "BadKubeConfig", 'load client config failed: Secret "none" not found')
            )
        )


async def test_a_cluster_whose_secret_is_taken_away_is_cut_off_and_connected_anew_once_it_is_back(
    tmp_path: Path,
) -> None:
    patient = replace(SETTINGS, multikueue=replace(RULE, worker_lost_timeout=3_600_000))
    async with asyncio.timeout(90), Stage(tmp_path) as stage, clusters(stage, tmp_path, settings=patient) as (w1, w2):
        w2.admits = False
        await stage.add(delegated("patient", UNTIL_ENDED_S))
        await stage.until(lambda: stage.running("patient"))
        (there,) = w1.jobs
        secret = await stage.client.get(SECRETS, "default", "w1")
        await stage.client.delete(SECRETS, "default", "w1")
        missing = ("False", "BadKubeConfig", 'load client config failed: Secret "w1" not found')
        await stage.until(lambda: active(stage, "w1") == missing)
        await stage.add({**secret, "metadata": {"name": "w1", "namespace": "default"}})
        await stage.until(lambda: active(stage, "w1") == ("True", "Active", "Connected"))
        insecure = yaml.safe_load(w1.kubeconfig.read_text())
        insecure["users"][0]["user"] = {"tokenFile": "/var/run/secrets/token"}
        changed = {"data": {"kubeconfig": base64.b64encode(yaml.safe_dump(insecure).encode()).decode()}}
        await stage.client.merge(SECRETS, "default", "w1", changed)
        refused = ("False", "InsecureKubeConfig", "load client config failed: tokenFile is not allowed")
        await stage.until(lambda: active(stage, "w1") == refused)
        await stage.client.merge(SECRETS, "default", "w1", {"data": secret["data"]})
        await stage.until(lambda: active(stage, "w1") == ("True", "Active", "Connected"))
        assert stage.running("patient") and [one["metadata"]["uid"] for one in w1.jobs] == [there["metadata"]["uid"]]


async def test_a_second_name_of_a_cluster_is_refused_and_what_runs_there_runs_on(tmp_path: Path) -> None:
    async with asyncio.timeout(60), Stage(tmp_path) as stage, clusters(stage, tmp_path) as (w1, w2):
        w2.admits = False
        await stage.add(delegated("patient", UNTIL_ENDED_S))
        await stage.until(lambda: stage.running("patient"))
        (there,) = w1.jobs
        meta, source = {"name": "a"}, {"kubeConfig": {"location": "w1", "locationType": "Secret"}}
        cluster = {"apiVersion": KUEUE, "kind": "MultiKueueCluster", "metadata": meta}
        await stage.client.merge(CONFIGS, "", "all", {"spec": {"clusters": ["a", "w1", "w2"]}})
        await stage.add({**cluster, "spec": {"clusterSource": source}})
        await stage.until(lambda: active(stage, "a")[:2] == ("False", "BadKubeConfig"))
        where = w1.kubeconfig.read_text().partition("server: ")[2].split()[0]
        assert active(stage, "a")[2] == (
            f"load client config failed: it leads to {where}, as MultiKueueCluster w1 does: a cluster has one name"
        )
        assert stage.running("patient") and [one["metadata"]["uid"] for one in w1.jobs] == [there["metadata"]["uid"]]
        await stage.client.delete(CONNECTED, "", "w1")
        await stage.until(lambda: active(stage, "a") == ("True", "Active", "Connected"))
        await stage.until(lambda: look(workload(stage), "status.clusterName") == "a")


async def test_a_kubeconfig_with_an_authority_that_is_none_is_shown_on_the_cluster_and_read_again_once_mended(
    tmp_path: Path,
) -> None:
    async with asyncio.timeout(90), Stage(tmp_path) as stage, clusters(stage, tmp_path) as (w1, _):
        whole = w1.kubeconfig.read_text()
        broken = yaml.safe_load(whole)
        broken["clusters"][0]["cluster"] = {"server": "https://127.0.0.1:1", "certificate-authority-data": "eA=="}
        meta, source = {"name": "w3", "namespace": "default"}, {"kubeConfig": {"location": "w3"}}
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": meta}
        await stage.add({**secret, "data": {"kubeconfig": base64.b64encode(yaml.safe_dump(broken).encode()).decode()}})
        cluster = {"apiVersion": KUEUE, "kind": "MultiKueueCluster", "metadata": {"name": "w3"}}
        await stage.add({**cluster, "spec": {"clusterSource": source}})
        await stage.until(lambda: active(stage, "w3")[:2] == ("False", "ClientConnectionFailed"))
        await stage.client.delete(CONNECTED, "", "w1")  # A cluster has one name.
        mended = {"data": {"kubeconfig": base64.b64encode(whole.encode()).decode()}}
        await stage.client.merge(SECRETS, "default", "w3", mended)
        await stage.until(lambda: active(stage, "w3") == ("True", "Active", "Connected"))
