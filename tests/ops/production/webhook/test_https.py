"""The webhooks as the API server meets them: over TLS, with an authority that it was told, through rotations."""

import asyncio
import json
import ssl
from base64 import b64decode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import aiohttp
import msgspec
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from events.event import Millis
from events.json_object import JsonObject
from events.settings import SettingsObserved
from ops.cli.serving.webhook_commands import keep_shown
from ops.production.crds.definitions import manifests
from ops.production.kubernetes.absent import AbsentCluster
from ops.production.kubernetes.client import KubeClient, connect
from ops.production.kubernetes.reflector import Reflector
from ops.production.listeners.certificate import Certificate
from ops.production.metrics.certificates import CertificateMetrics
from ops.production.webhook.certificates import AUTHORITY_LIFE, CERTIFICATE_LIFE, SETTLED, HeldCertificates, renewed
from ops.production.webhook.configurations import MUTATING, configurations
from ops.production.webhook.default_local_queues import DefaultLocalQueues
from ops.production.webhook.managed_namespaces import ManagedNamespaces
from ops.production.webhook.server import served_webhooks, webhook_app
from ops.production.webhook.trust import CONFIGURATIONS, DEFINED, SECRETS, Callers, CertificateKeeper, held_in
from ops.sandbox.embedded_cluster.embedded import EmbeddedCluster
from services.runtime.cluster_port import ClusterUnavailable, ObjectConflict, ObjectMissing
from tests.ops.production.webhook.test_review import NAMED, job, queue, review

NAMES = ("kuelog-webhook.kuelog-system.svc",)
DAY = 86_400_000


class Now:
    """A clock that stands where it is put."""

    def __init__(self) -> None:
        self.at: Millis = int(datetime.now(UTC).timestamp() * 1000)

    def now(self) -> Millis:
        return self.at

    async def sleep(self, duration: Millis) -> None:
        self.at += duration

    async def wait(self, news: asyncio.Event, until: Millis | None) -> None:
        raise NotImplementedError


@asynccontextmanager
async def cluster(folder: Path) -> AsyncIterator[tuple[EmbeddedCluster, KubeClient]]:
    found = EmbeddedCluster(controllers=False, kubeconfig=folder / "kubeconfig")
    for one in manifests():
        found.add(one)
    found.add({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kuelog-system"}})
    found.add({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}})
    for one in configurations("kuelog-webhook", "kuelog-system", ["kube-system"]):
        found.add(one)
    await found.start()
    client = await connect(str(folder / "kubeconfig"))
    try:
        yield found, client
    finally:
        await client.close()
        await found.stop()


def trust_of(client: KubeClient, clock: Now) -> CertificateKeeper:
    place = {"namespace": "kuelog-system", "service": "kuelog-webhook"}
    return CertificateKeeper(client, clock, Callers(client, **place), **place, secret="certificate")


ANYWHERE = ManagedNamespaces(AbsentCluster(), AbsentCluster(), None)


async def told(client: KubeClient) -> str:
    """The authorities that the API server was told, the same everywhere."""
    found: set[str] = set()
    for resource, name in CONFIGURATIONS:
        value = await client.get(resource, "", name)
        found |= {one["clientConfig"]["caBundle"] for one in value["webhooks"]}
    definition = await client.get(DEFINED, "", "workloads.kueue.x-k8s.io")
    conversions = definition["spec"]["conversion"]
    assert (
        conversions["strategy"] == "Webhook" and conversions["webhook"]["clientConfig"]["service"]["path"] == "/convert"
    )
    found.add(conversions["webhook"]["clientConfig"]["caBundle"])
    (one,) = found
    return b64decode(one).decode()


async def ask(port: int, authorities: str, path: str, body: bytes) -> JsonObject:
    """One request as the API server makes it: to the name of the service, with nothing believed but the bundle."""
    context = ssl.create_default_context(cadata=authorities)
    async with (
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True)) as session,
        session.post(f"https://127.0.0.1:{port}{path}", data=body, ssl=context, server_hostname=NAMES[0]) as answer,
    ):
        assert answer.status == 200, await answer.text()
        return await answer.json()


async def test_reviews_are_answered_over_tls_and_go_on_through_a_rotation(tmp_path: Path) -> None:
    async with cluster(tmp_path) as (embedded, client):
        clock, certificate, doors = Now(), Certificate(), DefaultLocalQueues(Reflector(client))
        clock.at -= 61 * DAY
        watching = asyncio.create_task(doors.run())
        app = webhook_app(SettingsObserved(), doors, ANYWHERE, doors.listed.is_set)
        async with served_webhooks(app, certificate, 0, "127.0.0.1") as port:
            trust = trust_of(client, clock)
            held = await trust.look()
            certificate.show(held.certificate, held.key)
            authorities = await told(client)

            mutated = await ask(port, authorities, "/mutate", review("Job", job(NAMED), group="batch"))
            assert json.loads(b64decode(mutated["response"]["patch"]))[0]["path"] == "/spec/suspend"
            refused = await ask(port, authorities, "/validate", review("ClusterQueue", queue(resourceGroups=[{}])))
            assert refused["response"]["allowed"] is False
            wanted = {"uid": "u", "desiredAPIVersion": "kueue.x-k8s.io/v1beta1", "objects": [queue(cohortName="all")]}
            raw = json.dumps({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": wanted})
            older = await ask(port, authorities, "/convert", raw.encode())
            assert older["response"]["convertedObjects"][0]["spec"] == {"cohort": "all"}

            local = {
                "apiVersion": "kueue.x-k8s.io/v1beta2",
                "kind": "LocalQueue",
                "metadata": {"name": "default", "namespace": "team"},
                "spec": {"clusterQueue": "cq"},
            }
            embedded.add(local)
            async with asyncio.timeout(120):
                while "team" not in doors.open:  # noqa: ASYNC110 - the watch itself is what is waited for
                    await asyncio.sleep(0.01)
            defaulted = await ask(port, authorities, "/mutate", review("Job", job(), group="batch"))
            assert b"default" in b64decode(defaulted["response"]["patch"])

            clock.at += 61 * DAY
            again = await trust.look()
            assert again.certificate != held.certificate and again.authorities == held.authorities
            certificate.show(again.certificate, again.key)
            assert (await ask(port, authorities, "/validate", review("Job", job(NAMED), group="batch")))["response"][
                "allowed"
            ]
        watching.cancel()


async def test_two_replicas_agree_on_one_certificate(tmp_path: Path) -> None:
    async with cluster(tmp_path) as (_, client):
        clock = Now()
        looks = await asyncio.gather(*(trust_of(client, clock).look() for _ in range(3)), return_exceptions=True)
        assert all(isinstance(one, HeldCertificates | ObjectConflict) for one in looks)
        first, second = await trust_of(client, clock).look(), await trust_of(client, clock).look()
        assert first == second == held_in((await client.get(SECRETS, "kuelog-system", "certificate"))["data"])


async def test_nothing_is_written_while_nothing_is_due(tmp_path: Path) -> None:
    async with cluster(tmp_path) as (_, client):
        clock = Now()
        await trust_of(client, clock).look()
        before = (
            await client.get(CONFIGURATIONS[0][0], "", MUTATING),
            await client.get(DEFINED, "", "cohorts.kueue.x-k8s.io"),
        )
        await trust_of(client, clock).look()
        after = (
            await client.get(CONFIGURATIONS[0][0], "", MUTATING),
            await client.get(DEFINED, "", "cohorts.kueue.x-k8s.io"),
        )
        assert before == after


async def test_an_unknown_authority_is_not_believed(tmp_path: Path) -> None:
    ours, theirs = renewed(None, NAMES, Now().at), renewed(None, NAMES, Now().at)
    assert ours is not None and theirs is not None
    certificate = Certificate()
    certificate.show(ours.certificate, ours.key)
    app = webhook_app(SettingsObserved(), DefaultLocalQueues(Reflector.__new__(Reflector)), ANYWHERE, lambda: True)
    async with served_webhooks(app, certificate, 0, "127.0.0.1") as port:
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await ask(port, theirs.authorities, "/validate", review("Job", job(NAMED), group="batch"))


async def test_files_of_cert_manager_are_shown_anew_when_they_change(tmp_path: Path) -> None:
    shown = Certificate()
    made = [renewed(None, NAMES, Now().at) for _ in range(2)]
    texts = iter([(one.certificate, one.key) for one in made if one is not None])
    current = next(texts)

    async def source() -> tuple[str, str]:
        return current

    keeping = asyncio.create_task(keep_shown(shown, source, every=0.01))
    app = webhook_app(SettingsObserved(), DefaultLocalQueues(Reflector.__new__(Reflector)), ANYWHERE, lambda: True)
    async with served_webhooks(app, shown, 0, "127.0.0.1") as port:
        await shown.shown.wait()
        body = review("Job", job(NAMED), group="batch")
        assert made[0] is not None and made[1] is not None
        await ask(port, made[0].authorities, "/validate", body)
        current = next(texts)
        async with asyncio.timeout(120):
            while True:
                try:
                    await ask(port, made[1].authorities, "/validate", body)
                    break
                except aiohttp.ClientConnectorCertificateError:
                    await asyncio.sleep(0.01)
    keeping.cancel()


@pytest.mark.parametrize(
    "problem", [ObjectMissing("no Secret"), ClusterUnavailable("away"), ObjectConflict(), OSError("no file")], ids=str
)
async def test_a_certificate_that_can_t_be_had_now_is_asked_for_again(
    problem: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever serves does so until it ends: with nobody who looks after it that is the end of its certificate."""
    monkeypatch.setattr("ops.cli.serving.webhook_commands._AGAIN_S", 0.01)
    made, shown = renewed(None, NAMES, Now().at), Certificate()
    assert made is not None
    answers = iter([problem, problem, (made.certificate, made.key)])

    async def source() -> tuple[str, str]:
        found = next(answers)
        if isinstance(found, Exception):
            raise found
        return found

    keeping = asyncio.create_task(keep_shown(shown, source))
    shown_at_last = asyncio.create_task(shown.shown.wait())
    await asyncio.wait({keeping, shown_at_last}, return_when=asyncio.FIRST_COMPLETED, timeout=60)
    assert not keeping.done() and shown.shown.is_set()
    for one in (keeping, shown_at_last):
        one.cancel()


async def test_a_certificate_that_has_expired_is_no_readiness_and_one_that_is_not_renewed_is_told_before() -> None:
    clock, shown = Now(), Certificate()
    made = renewed(None, NAMES, clock.at)
    assert made is not None
    files = made.certificate, made.key

    async def source() -> tuple[str, str]:
        return files

    app = webhook_app(
        SettingsObserved(),
        DefaultLocalQueues(Reflector.__new__(Reflector)),
        ANYWHERE,
        lambda: True,
        why_not=lambda: shown.why_not(clock.at),
        worth_knowing=shown.worth_knowing,
    )

    async def readiness() -> tuple[int, str]:
        async with session.get(f"https://127.0.0.1:{port}/readyz", ssl=False) as answer:
            return answer.status, await answer.text()

    def told(name: str) -> float:
        [found] = [one for one in CertificateMetrics(shown, "webhook").collect() if one.name == name]
        return found.samples[0].value

    async with served_webhooks(app, shown, 0, "127.0.0.1") as port, aiohttp.ClientSession() as session:
        keeping = asyncio.create_task(keep_shown(shown, source, every=0.01))
        await shown.shown.wait()
        assert await readiness() == (200, "ok\n") and told("kuelog_certificate_not_renewed") == 0
        end = told("kuelog_certificate_expires_timestamp_seconds")
        # A certificate knows whole seconds.
        assert end == clock.at // 1000 + CERTIFICATE_LIFE.total_seconds()
        files = made.certificate, "no key"
        for _ in range(6_000):
            if shown.unread:
                break
            await asyncio.sleep(0.01)
        status, text = await readiness()
        assert status == 200 and "no newer certificate can be had" in text, "the one that is shown is good"
        assert told("kuelog_certificate_not_renewed") == 1
        clock.at += int(CERTIFICATE_LIFE.total_seconds() * 1000)
        status, text = await readiness()
        assert status == 503 and "the certificate has expired at " in text
        keeping.cancel()


def test_a_key_that_is_locked_by_a_password_is_replaced() -> None:
    held = renewed(None, NAMES, Now().at)
    assert held is not None
    locked = serialization.load_pem_private_key(held.key.encode(), None).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.BestAvailableEncryption(b"word")
    )
    fresh = renewed(msgspec.structs.replace(held, key=locked.decode()), NAMES, Now().at)
    assert fresh is not None and renewed(fresh, NAMES, Now().at) is None


def test_an_authority_is_told_of_before_anything_that_it_has_signed_is_shown() -> None:
    clock = Now()
    held = renewed(None, NAMES, clock.at)
    assert held is not None and renewed(held, NAMES, clock.at) is None
    seen: list[HeldCertificates] = [held]
    for _ in range(4 * 500):
        clock.at += DAY // 4
        fresh = renewed(seen[-1], NAMES, clock.at)
        if fresh is not None:
            believed = x509.load_pem_x509_certificates(seen[-1].authorities.encode())
            shown = x509.load_pem_x509_certificate(fresh.certificate.encode())
            assert shown.issuer in [one.subject for one in believed], "nobody has been told of its authority"
            seen.append(fresh)
        now = datetime.fromtimestamp(clock.at / 1000, UTC)
        assert x509.load_pem_x509_certificate(seen[-1].certificate.encode()).not_valid_after_utc > now
        assert len(x509.load_pem_x509_certificates(seen[-1].authorities.encode())) <= 3
    assert len({one.authority_key for one in seen}) >= 2, "the authority itself was renewed"
    assert SETTLED < CERTIFICATE_LIFE < AUTHORITY_LIFE


def test_what_somebody_has_broken_is_made_anew() -> None:
    at = Now().at
    held, other = renewed(None, NAMES, at), renewed(None, NAMES, at)
    assert held is not None and other is not None
    mixed = HeldCertificates(
        authorities=held.authorities, authority_key=held.authority_key, certificate=held.certificate, key=other.key
    )
    assert renewed(mixed, NAMES, at) is not None
    assert renewed(held, ("another.name.svc",), at) is not None
