"""`kuelog run webhook` and `kuelog deploy` as processes of their own, as an installation starts them."""

import asyncio
import os
import ssl
import subprocess
import sys
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

import aiohttp
import yaml

from ops.production.deploy.__main__ import FOLDER
from ops.production.deploy.bus import users_of
from ops.production.log.streams import SOLE, streams_of
from ops.production.webhook.trust import DEFINED
from tests.ops.production.webhook.test_https import NAMES, cluster
from tests.ops.production.webhook.test_review import NAMED, job, review
from tests.places import ROOT
from tests.stage.forked_commands import forked
from tests.stage.ports import reserved_port

COMMAND = (sys.executable, "-m", "ops.cli.main")


def kuelog(*words: str) -> "subprocess.CompletedProcess[str]":
    return forked(words, env=os.environ)


async def test_the_webhook_serves_with_a_certificate_that_it_has_made_and_told(tmp_path: Path) -> None:
    async with cluster(tmp_path) as (_, client):
        port = reserved_port()
        words = ["run", "webhook", "--kubeconfig", str(tmp_path / "kubeconfig"), "--port", str(port)]
        process = await asyncio.create_subprocess_exec(
            *COMMAND, *words, cwd=ROOT, env={**os.environ, "KUELOG_LOG": "error"}
        )
        try:
            bundle = ""
            async with asyncio.timeout(120):
                while not bundle:
                    await asyncio.sleep(0.1)
                    found = await client.get(DEFINED, "", "workloads.kueue.x-k8s.io")
                    webhook = (found["spec"].get("conversion") or {}).get("webhook") or {}
                    bundle = b64decode((webhook.get("clientConfig") or {}).get("caBundle", "")).decode()
            context = ssl.create_default_context(cadata=bundle)
            place = {"ssl": context, "server_hostname": NAMES[0]}
            async with aiohttp.ClientSession() as session, asyncio.timeout(120):
                while True:
                    await asyncio.sleep(0.1)
                    try:
                        async with session.get(f"https://127.0.0.1:{port}/readyz", **place) as answer:
                            if answer.status == 200:
                                break
                    except aiohttp.ClientConnectorError:
                        continue
                body = review("Job", job(NAMED), group="batch")
                async with session.post(f"https://127.0.0.1:{port}/mutate", data=body, **place) as answer:
                    assert "patch" in (await answer.json())["response"]
                async with session.post(f"https://127.0.0.1:{port}/validate", data=b"nonsense", **place) as answer:
                    assert answer.status == 400
        finally:
            process.terminate()
            assert await process.wait() == 0


async def test_a_probe_of_life_is_answered_while_the_api_server_is_away_from_the_start(tmp_path: Path) -> None:
    """Its certificate is kept by the API server: nothing that is away there is mended by a restart."""
    kubeconfig, port = tmp_path / "kubeconfig", reserved_port()
    away = {"cluster": {"server": f"http://127.0.0.1:{reserved_port()}"}, "name": "away"}
    context = {"context": {"cluster": "away", "user": "u"}, "name": "c"}
    users = [{"name": "u", "user": {}}]
    kubeconfig.write_text(
        yaml.safe_dump({"clusters": [away], "contexts": [context], "users": users, "current-context": "c"})
    )
    words = ["run", "webhook", "--kubeconfig", str(kubeconfig), "--port", str(port)]
    process = await asyncio.create_subprocess_exec(
        *COMMAND, *words, cwd=ROOT, env={**os.environ, "KUELOG_LOG": "error"}
    )
    try:
        async with aiohttp.ClientSession() as session, asyncio.timeout(120):
            while True:
                await asyncio.sleep(0.1)
                try:
                    # The kubelet believes any certificate.
                    async with session.get(f"https://127.0.0.1:{port}/livez", ssl=False) as answer:
                        assert answer.status == 200
                except aiohttp.ClientConnectorError:
                    continue
                async with session.get(f"https://127.0.0.1:{port}/readyz", ssl=False) as answer:
                    assert answer.status == 503
                break
    finally:
        process.terminate()
        assert await process.wait() == 0


def test_mistakes_of_the_command_line_are_named() -> None:
    done = kuelog("run", "webhook", "--service", "kuelog-webhook")
    assert done.returncode == 2 and "NAMESPACE/NAME" in done.stderr
    done = kuelog("run", "webhook", "--cert-dir", "/nowhere")
    assert done.returncode == 2 and "there is no tls.crt" in done.stderr


def test_a_secret_has_a_password_of_its_own_for_every_user() -> None:
    value, token = yaml.safe_load_all(kuelog("deploy", "secret").stdout)
    assert set(value["stringData"]) == {one.name for one in users_of(SOLE)}
    assert len(set(value["stringData"].values())) == len(users_of(SOLE))
    assert all(text.isalnum() for text in value["stringData"].values())
    assert token["metadata"]["name"] == "kuelog-metrics-token" and token["stringData"]["token"].isalnum()


def test_passwords_that_are_there_stay_when_partitions_are_added(tmp_path: Path) -> None:
    before = list(yaml.safe_load_all(kuelog("deploy", "secret").stdout))
    kept: list[dict[str, Any]] = []
    for one in before:
        coded = {key: b64encode(text.encode()).decode() for key, text in one.pop("stringData").items()}
        kept.append({**one, "data": coded})
    file = tmp_path / "secrets.yaml"
    file.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": kept}))
    done = kuelog("deploy", "secret", "--partitions", "3", "--keep", str(file))
    users, token = yaml.safe_load_all(done.stdout)
    assert set(users["stringData"]) == {one.name for one in users_of(streams_of(3))} > set(kept[0]["data"])
    for now, then in ((users, kept[0]), (token, kept[1])):
        there = {key: b64decode(text).decode() for key, text in then["data"].items()}
        assert there.items() <= now["stringData"].items()
    file.write_text("kind: ConfigMap\n")
    done = kuelog("deploy", "secret", "--keep", str(file))
    assert (
        done.returncode == 2 and "it holds no Secret: write what kubectl get secret NAME -o yaml prints" in done.stderr
    )


def test_secrets_are_kept_as_they_were_printed_and_one_that_names_nothing_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "secrets.yaml"
    file.write_text(before := kuelog("deploy", "secret").stdout)
    assert kuelog("deploy", "secret", "--keep", str(file)).stdout == before
    file.write_text("")
    done = kuelog("deploy", "secret", "--keep", str(file))
    assert (done.returncode, done.stdout) == (2, "") and "there is no object in it" in done.stderr
    file.write_text("kind: Secret\ndata: {watcher: cA==}\n")
    done = kuelog("deploy", "secret", "--keep", str(file))
    assert (done.returncode, done.stdout) == (2, "") and "a Secret in it has no name" in done.stderr


def test_the_values_for_the_chart_of_nats_have_a_user_for_each_partition() -> None:
    whole = yaml.safe_load((FOLDER / "chart" / "values.yaml").read_text())
    assert yaml.safe_load(kuelog("deploy", "bus-values").stdout) == {"nats": whole["nats"]}
    nats = yaml.safe_load(kuelog("deploy", "bus-values", "--partitions", "2").stdout)["nats"]
    users = {one["user"] for one in nats["config"]["merge"]["accounts"]["KUELOG"]["users"]}
    assert {"admitter", "admitter-1"} <= users
    given = {one["valueFrom"]["secretKeyRef"]["key"] for one in nats["container"]["env"].values()}
    assert given == users


def test_manifests_follow_the_values_and_a_value_that_nobody_knows_is_named(tmp_path: Path) -> None:
    values = tmp_path / "values.yaml"
    values.write_text("replicas: 3\nimage: {tag: v9}\nbus: {address: elsewhere:4222}\n")
    done = kuelog("deploy", "manifests", "--values", str(values), "--no-bus", "--namespace", "here")
    found = [one for one in yaml.safe_load_all(done.stdout) if one["kind"] == "Deployment"]
    assert {one["metadata"]["namespace"] for one in found} == {"here"}
    assert {one["spec"]["replicas"] for one in found} == {3}
    assert found[0]["spec"]["template"]["spec"]["containers"][0]["image"] == "kuelog:v9"
    assert "elsewhere:4222" in done.stdout and "StatefulSet" not in done.stdout
    values.write_text("console: {enabled: true}\nmultiKueue: {enabled: true}\narchivist: {maxBytes: '7'}\n")
    done = kuelog("deploy", "manifests", "--values", str(values))
    assert done.returncode == 0, "what is said of a group leaves the rest of it as it is"
    assert "kuelog-console" in done.stdout and "- '7'" in done.stdout
    values.write_text("image: {tga: v9}\n")
    done = kuelog("deploy", "manifests", "--values", str(values))
    assert done.returncode == 2 and "unknown value image.tga" in done.stderr
