"""`kuelog run webhook` and `kuelog deploy` as processes of their own, as an installation starts them."""

import asyncio
import os
import ssl
import subprocess
import sys
from base64 import b64decode
from pathlib import Path

import aiohttp
import yaml

from ops.production.deploy.bus import USERS
from ops.production.webhook.trust import DEFINED
from tests.ops.production.webhook.test_https import NAMES, cluster
from tests.ops.production.webhook.test_review import NAMED, job, review
from tests.places import ROOT
from tests.stage.ports import reserved_port

COMMAND = (sys.executable, "-m", "ops.cli.main")


def kuelog(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([*COMMAND, *words], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)


async def test_the_webhook_serves_with_a_certificate_that_it_has_made_and_told(tmp_path: Path) -> None:
    async with cluster(tmp_path) as (_, client):
        port = reserved_port()
        words = ["run", "webhook", "--kubeconfig", str(tmp_path / "kubeconfig"), "--port", str(port)]
        process = await asyncio.create_subprocess_exec(
            *COMMAND, *words, cwd=ROOT, env={**os.environ, "KUELOG_LOG": "error"}
        )
        try:
            bundle = ""
            async with asyncio.timeout(30):
                while not bundle:
                    await asyncio.sleep(0.1)
                    found = await client.get(DEFINED, "", "workloads.kueue.x-k8s.io")
                    webhook = (found["spec"].get("conversion") or {}).get("webhook") or {}
                    bundle = b64decode((webhook.get("clientConfig") or {}).get("caBundle", "")).decode()
            context = ssl.create_default_context(cadata=bundle)
            place = {"ssl": context, "server_hostname": NAMES[0]}
            async with aiohttp.ClientSession() as session, asyncio.timeout(20):
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


def test_mistakes_of_the_command_line_are_named() -> None:
    done = kuelog("run", "webhook", "--service", "kuelog-webhook")
    assert done.returncode == 2 and "NAMESPACE/NAME" in done.stderr
    done = kuelog("run", "webhook", "--cert-dir", "/nowhere")
    assert done.returncode == 2 and "there is no tls.crt" in done.stderr


def test_a_secret_has_a_password_of_its_own_for_every_user() -> None:
    value, token = yaml.safe_load_all(kuelog("deploy", "secret").stdout)
    assert set(value["stringData"]) == {one.name for one in USERS}
    assert len(set(value["stringData"].values())) == len(USERS)
    assert all(text.isalnum() for text in value["stringData"].values())
    assert token["metadata"]["name"] == "kuelog-metrics-token" and token["stringData"]["token"].isalnum()


def test_manifests_follow_the_values_and_a_value_that_nobody_knows_is_named(tmp_path: Path) -> None:
    values = tmp_path / "values.yaml"
    values.write_text("replicas: 3\nimage: {tag: v9}\nbus: {address: elsewhere:4222}\n")
    done = kuelog("deploy", "manifests", "--values", str(values), "--no-bus", "--namespace", "here")
    found = [one for one in yaml.safe_load_all(done.stdout) if one["kind"] == "Deployment"]
    assert {one["metadata"]["namespace"] for one in found} == {"here"}
    assert {one["spec"]["replicas"] for one in found} == {3}
    assert found[0]["spec"]["template"]["spec"]["containers"][0]["image"] == "kuelog:v9"
    assert "elsewhere:4222" in done.stdout and "StatefulSet" not in done.stdout
    values.write_text("image: {tga: v9}\n")
    done = kuelog("deploy", "manifests", "--values", str(values))
    assert done.returncode == 2 and "unknown value image.tga" in done.stderr
