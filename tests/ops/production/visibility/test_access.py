"""Who may read who waits: only whom the front proxy names over its own certificate, and the API server allows."""

import asyncio
import os
import re
import signal
import ssl
import sys
from base64 import b64decode
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from events.json_object import JsonObject
from ops.production.listeners.access_review import AccessReviews
from ops.production.listeners.certificate import Certificate
from ops.production.listeners.front_proxy import FrontProxy, FrontProxyUnknown, front_proxy_of
from ops.production.visibility.access import AccessByReview
from ops.production.visibility.api import GROUP, Visibility
from ops.production.visibility.api_service import API_SERVICES, NAMES
from ops.production.visibility.server import serving
from ops.sandbox.embedded_cluster.api.http_api import reply
from services.runtime.cluster_port import ClusterUnavailable
from tests.ops.production.visibility.test_api import BASE, Shown, waiting_world
from tests.places import ROOT
from tests.stage.forked_commands import forked
from tests.stage.stage import Stage

QUEUE = f"{BASE}/clusterqueues/lender/pendingworkloads"
LOCAL = f"{BASE}/namespaces/team/localqueues/second/pendingworkloads"


class Authority:
    """Signs certificates of clients and servers, in a folder."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder, self._name = folder, name
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._own = self._make(name, self._key, authority=True)
        self.file = folder / f"{name}.crt"
        self.file.write_text(self.text)

    @property
    def text(self) -> str:
        return self._own.public_bytes(serialization.Encoding.PEM).decode()

    def sign(self, name: str) -> tuple[Path, Path]:
        """Certificate and key of that name."""
        key = ec.generate_private_key(ec.SECP256R1())
        made = self._make(name, key, authority=False)
        files = self._folder / f"{self._name}-{name}.crt", self._folder / f"{self._name}-{name}.key"
        files[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
        form = serialization.PrivateFormat.PKCS8
        files[1].write_bytes(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
        return files

    def _make(self, name: str, key: ec.EllipticCurvePrivateKey, *, authority: bool) -> x509.Certificate:
        named, now = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]), datetime.now(UTC)
        above = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, self._name)])
        return (
            x509.CertificateBuilder()
            .subject_name(named)
            .issuer_name(above)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + timedelta(hours=1))
            .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .sign(self._key, hashes.SHA256())
        )


class Reviewer:
    """An API server that allows alice everything in the namespace `team`, and takes note of who asked."""

    def __init__(self) -> None:
        self.asked: list[JsonObject] = []
        self.away = False

    async def request(self, method: str, path: str, body: JsonObject | None = None) -> JsonObject:
        assert (method, path) == ("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews") and body is not None
        self.asked.append(body["spec"])
        await asyncio.sleep(0)
        if self.away:
            raise ClusterUnavailable("away")
        attributes = body["spec"].get("resourceAttributes") or {}
        return {"status": {"allowed": body["spec"]["user"] == "alice" and attributes.get("namespace") == "team"}}


class Served:
    """The visibility API behind TLS, with everything that a test changes."""

    def __init__(self, folder: Path) -> None:
        self.proxy, self.stranger = Authority(folder, "front-proxy-ca"), Authority(folder, "stranger-ca")
        self.server = Authority(folder, "server-ca")
        self.reviewer, self.time = Reviewer(), 0.0
        self.access = AccessByReview(AccessReviews(self.reviewer, lambda: self.time))
        self.access.proxy = FrontProxy(authorities=self.proxy.text, names=("front-proxy-client",))
        self.certificate = Certificate(asks_clients=True)
        self.certificate.show(*(file.read_text() for file in self.server.sign("localhost")))
        self.certificate.believe(self.proxy.text)
        self.client = self.proxy.sign("front-proxy-client")
        self.port = 0

    async def ask(
        self, path: str, user: str = "", *groups: str, shown: tuple[Path, Path] | None = None, bare: bool = False
    ) -> tuple[int, Any]:
        context = ssl.create_default_context(cafile=self.server.file)
        if not bare:
            context.load_cert_chain(*(shown or self.client))
        headers = [*((("X-Remote-User", user),) if user else ()), *(("X-Remote-Group", one) for one in groups)]
        async with (
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context)) as session,
            session.get(f"https://localhost:{self.port}{path}", headers=headers) as answer,
        ):
            return answer.status, await answer.json(content_type=None) if path.startswith("/apis") else None


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    found = Served(tmp_path)
    visibility = Visibility(Shown(waiting_world()), found.access)
    async with serving(visibility, "127.0.0.1", 0, found.certificate.context) as found.port:
        yield found


async def test_who_the_api_server_allows_reads_and_who_it_does_not_is_forbidden(served: Served) -> None:
    status, answer = await served.ask(LOCAL, "alice", "dev", "system:authenticated")
    assert status == 200 and len(answer["items"]) == 2
    assert served.reviewer.asked == [
        {
            "user": "alice",
            "uid": "",
            "groups": ["dev", "system:authenticated"],
            "extra": {},
            "resourceAttributes": {
                "verb": "get",
                "group": GROUP,
                "version": "v1beta2",
                "resource": "localqueues",
                "subresource": "pendingworkloads",
                "name": "second",
                "namespace": "team",
            },
        }
    ]
    status, answer = await served.ask(QUEUE, "alice")
    assert (status, answer["reason"]) == (403, "Forbidden")
    assert 'User "alice" cannot get resource "clusterqueues/pendingworkloads"' in answer["message"]
    assert (await served.ask(LOCAL, "bob"))[0] == 403
    assert (await served.ask(f"{BASE}/clusterqueues/none/pendingworkloads", "bob"))[0] == 403, "nor what is there"


async def test_headers_count_for_nothing_without_the_certificate_of_the_front_proxy(served: Served) -> None:
    for path in (LOCAL, QUEUE, "/apis", f"/apis/{GROUP}"):
        assert (await served.ask(path, "alice", "system:masters", bare=True))[0] == 401
    other = served.proxy.sign("somebody-else")
    status, answer = await served.ask(LOCAL, "alice", "system:masters", shown=other)
    assert status == 401 and "somebody-else" in answer["message"]
    with pytest.raises((aiohttp.ClientError, ssl.SSLError, OSError)):
        await served.ask(LOCAL, "alice", shown=served.stranger.sign("front-proxy-client"))
    assert (await served.ask(LOCAL))[0] == 401, "the front proxy names nobody"
    assert served.reviewer.asked == []


async def test_masters_are_never_asked_about_and_probes_need_no_certificate(served: Served) -> None:
    assert (await served.ask(QUEUE, "admin", "system:masters"))[0] == 200
    assert served.reviewer.asked == []
    for path in ("/livez", "/readyz", "/healthz"):
        assert (await served.ask(path, bare=True))[0] == 200


async def test_an_answer_is_good_for_a_short_time_and_asked_for_once_by_many(served: Served) -> None:
    for user, status in (("alice", 200), ("bob", 403)):
        found = await asyncio.gather(*(served.ask(LOCAL, user) for _ in range(5)))
        assert [one for one, _ in found] == [status] * 5
        assert len(served.reviewer.asked) == 1
        served.time += 11
        await served.ask(LOCAL, user)
        assert len(served.reviewer.asked) == 2
        served.reviewer.asked.clear()


async def test_nobody_reads_while_the_api_server_does_not_say_who_may(served: Served) -> None:
    served.reviewer.away = True
    assert (await served.ask(LOCAL, "alice"))[0] == 503
    served.reviewer.away = False
    assert (await served.ask(LOCAL, "alice"))[0] == 200
    served.access.proxy = None
    assert (await served.ask(LOCAL, "alice"))[0] == 503


async def test_an_authority_that_was_replaced_is_believed_no_longer(served: Served) -> None:
    served.certificate.believe(served.stranger.text)
    with pytest.raises((aiohttp.ClientError, ssl.SSLError, OSError)):
        await served.ask(LOCAL, "alice")
    assert (await served.ask(LOCAL, "alice", shown=served.stranger.sign("front-proxy-client")))[0] == 200


def test_the_config_map_of_the_api_server_says_how_its_front_proxy_is_known() -> None:
    found = front_proxy_of(
        {
            "requestheader-client-ca-file": "PEM",
            "requestheader-allowed-names": '["front-proxy-client"]',
            "requestheader-username-headers": '["X-Remote-User","X-User"]',
            "requestheader-extra-headers-prefix": "[]",
        }
    )
    assert found.names == ("front-proxy-client",) and found.user_headers == ("X-Remote-User", "X-User")
    assert found.extra_prefixes == ("X-Remote-Extra-",)
    for broken in ({}, {"requestheader-client-ca-file": "P", "requestheader-allowed-names": "[1"}):
        with pytest.raises(FrontProxyUnknown):
            front_proxy_of(broken)


class Reviews:
    """The group of an API server that says who may what."""

    def group(self) -> JsonObject:
        return {"name": "authorization.k8s.io"}

    async def handle(self, request: web.Request) -> web.Response:
        spec = (await request.json())["spec"]
        return reply({"kind": "SubjectAccessReview", "status": {"allowed": spec["user"] == "alice"}})


async def test_a_process_learns_from_the_cluster_whom_to_believe_and_tells_its_own_authority(
    embedded_stage: Stage, tmp_path: Path
) -> None:
    stage, proxy = embedded_stage, Authority(tmp_path, "front-proxy-ca")
    stage.serve()
    stage.embedded.aggregated["authorization.k8s.io"] = Reviews()
    known = {"requestheader-client-ca-file": proxy.text, "requestheader-allowed-names": '["proxy"]'}
    meta = {"name": "extension-apiserver-authentication", "namespace": "kube-system"}
    await stage.add({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-system"}})
    await stage.add({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kuelog-system"}})
    await stage.add({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": known})
    leads = {"namespace": "kuelog-system", "name": "kuelog-visibility"}
    for name in NAMES:
        made = {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": name}}
        await stage.add({**made, "spec": {"service": leads}})
    server = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "ops.cli.main", "visibility", "--nats", stage.server.url),
        *("--host", "127.0.0.1", "--port", "0", "--kubeconfig", str(stage.kubeconfig)),
        cwd=ROOT,
        env={**os.environ, "COLUMNS": "200"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert server.stdout is not None
    told = re.search(rb"port (\d+)", await asyncio.wait_for(server.stdout.readline(), 60))
    assert told is not None
    bundles: set[str] = set()
    async with asyncio.timeout(60):
        while len(bundles) != 1 or "" in bundles:
            services = [await stage.client.get(API_SERVICES, "", name) for name in NAMES]
            bundles = {one["spec"].get("caBundle", "") for one in services}
            await asyncio.sleep(0.05)
    context = ssl.create_default_context(cadata=b64decode(bundles.pop()).decode())
    context.load_cert_chain(*proxy.sign("proxy"))
    async with aiohttp.ClientSession() as session, asyncio.timeout(60):

        async def ask(user: str) -> int:
            headers, name = {"X-Remote-User": user}, "kuelog-visibility.kuelog-system.svc"
            url = f"https://127.0.0.1:{int(told[1])}{BASE}/clusterqueues/team/pendingworkloads"
            async with session.get(url, ssl=context, server_hostname=name, headers=headers) as answer:
                return answer.status

        async def once_ready(user: str) -> int:
            while (found := await ask(user)) == 503:  # noqa: ASYNC110 - another process
                await asyncio.sleep(0.05)
            return found

        assert await once_ready("alice") == 200
        assert await once_ready("mallory") == 403
    server.send_signal(signal.SIGTERM)
    await server.communicate()
    assert server.returncode == 0


def test_elsewhere_than_on_this_machine_it_is_not_served_without_a_cluster_to_ask(tmp_path: Path) -> None:
    words = ("visibility", "--host", "0.0.0.0", "--port", "0")
    bare = {name: text for name, text in os.environ.items() if not name.startswith(("KUBE", "KUELOG"))}
    done = forked(words, env=bare)
    assert done.returncode == 2 and "no Kubernetes cluster" in done.stderr and "Traceback" not in done.stderr
    broken = tmp_path / "ca.crt"
    broken.write_text("nonsense")
    done = forked((*words, "--kubeconfig", str(tmp_path / "none"), "--client-ca", str(broken)), env=bare)
    assert done.returncode == 2 and "ca.crt" in done.stderr and "Traceback" not in done.stderr
