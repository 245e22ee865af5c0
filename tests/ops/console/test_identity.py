"""Who asks the console: sessions of browsers, and proxies that sign people in; nobody else's word counts."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest
from multidict import CIMultiDict

from ops.console.gate import AskersAccess
from ops.console.identity import ByProxy, TrustedProxy
from ops.console.server import Door, console_served
from ops.console.sessions import COOKIE, LASTS_S, MOST
from ops.production.listeners.certificate import Certificate
from ops.production.listeners.front_proxy import FrontProxy, Unproven, person_in
from ops.production.listeners.token_review import AT_ONCE, TokenReviews, TooManyTokens
from tests.ops.console.people import MINE, NAMESPACES, People, people
from tests.ops.console.served import Console, served
from tests.ops.production.visibility.test_access import Authority

SESSION = "/api/v1/session"


@pytest.fixture
async def everybody(tmp_path: Path) -> AsyncIterator[People]:
    async with people(tmp_path / "cluster") as found:
        yield found


@pytest.fixture
async def signing(tmp_path: Path, everybody: People) -> AsyncIterator[Console]:
    async with served(tmp_path, access=everybody.access(), namespaces=NAMESPACES) as console:
        yield console


async def test_a_browser_signs_in_with_a_token_and_holds_no_more_than_a_name_for_it(
    signing: Console, everybody: People
) -> None:
    stranger = (await signing.ask(SESSION))[1]
    assert stranger["user"] == "" and stranger["signs_in"] and "kubectl create token" in stranger["problem"]
    status, _, headers = await signing.ask(SESSION, "POST", sent={"token": everybody.tokens["tenant"]})
    assert status == 204
    cookie = headers["Set-Cookie"]
    assert cookie.startswith(f"{COOKIE}=") and everybody.tokens["tenant"] not in cookie
    for word in ("Secure", "HttpOnly", "SameSite=Strict", "Path=/"):
        assert word in cookie
    assert "Domain" not in cookie
    bearing = {"Cookie": cookie.partition(";")[0]}
    assert (await signing.ask("/api/v1/workloads", **bearing))[0] == 200
    said = (await signing.ask(SESSION, **bearing))[1]
    assert (said["user"], said["namespaces"], said["queues"]) == ("system:serviceaccount:people:tenant", [MINE], False)
    status, _, headers = await signing.ask(SESSION, "DELETE", **bearing)
    assert status == 204 and "Max-Age=0" in headers["Set-Cookie"]
    assert (await signing.ask("/api/v1/workloads", **bearing))[0] == 401


async def test_a_session_ends_with_its_token_and_after_twelve_hours(signing: Console, everybody: People) -> None:
    bearing: dict[str, dict[str, str]] = {}
    for who in ("tenant", "viewer"):
        _, _, headers = await signing.ask(SESSION, "POST", sent={"token": everybody.tokens[who]})
        bearing[who] = {"Cookie": headers["Set-Cookie"].partition(";")[0]}
    everybody.cluster.store.remove("serviceaccounts", ("people", "tenant"))
    everybody.time += 11
    assert (await signing.ask("/api/v1/workloads", **bearing["tenant"]))[0] == 401
    assert (await signing.ask("/api/v1/workloads", **bearing["viewer"]))[0] == 200
    everybody.time += LASTS_S
    assert (await signing.ask("/api/v1/workloads", **bearing["viewer"]))[0] == 401


async def test_who_signs_in_again_and_again_signs_nobody_else_out(signing: Console, everybody: People) -> None:
    async def signed_in(who: str) -> dict[str, str]:
        _, _, headers = await signing.ask(SESSION, "POST", sent={"token": everybody.tokens[who]})
        return {"Cookie": headers["Set-Cookie"].partition(";")[0]}

    viewer, first = await signed_in("viewer"), await signed_in("tenant")
    for _ in range(MOST):
        last = await signed_in("tenant")
    assert (await signing.ask("/api/v1/workloads", **first))[0] == 401
    for bearing in (viewer, last):
        assert (await signing.ask("/api/v1/workloads", **bearing))[0] == 200


async def test_no_page_of_another_site_signs_anybody_in_or_out_and_nothing_else_is_taken(
    signing: Console, everybody: People
) -> None:
    token = {"token": everybody.tokens["tenant"]}
    for foreign in (
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "https://["},
    ):
        for method in ("POST", "DELETE"):
            status, plain, headers = await signing.ask(SESSION, method, sent=token, **foreign)
            assert status == 403 and "another site" in plain["message"] and "Set-Cookie" not in headers
    own = f"http://127.0.0.1:{signing.port}"
    assert (await signing.ask(SESSION, "POST", sent=token, Origin=own))[0] == 204
    assert (await signing.ask(SESSION, "POST", sent=token, **{"Sec-Fetch-Site": "same-origin"}))[0] == 204
    assert (await signing.ask(SESSION, "POST", **{"Content-Type": "text/plain"}))[0] == 415
    assert (await signing.ask(SESSION, "POST", sent={"token": "x" * 30_000}))[0] == 413
    assert (await signing.ask(SESSION, "POST", sent={"token": 5}))[0] == 400
    assert (await signing.ask(SESSION, "POST", sent={"token": "made-up"}))[0] == 401
    assert (await signing.ask("/api/v1/workloads", "POST", sent=token))[0] == 405


async def test_a_token_counts_only_where_it_was_made_for_this_console(everybody: People) -> None:
    reviews = TokenReviews(everybody.client, everybody.now, ("kuelog-console",))
    with pytest.raises(Unproven):
        await reviews.person(everybody.tokens["tenant"])
    path = "/api/v1/namespaces/people/serviceaccounts/tenant/token"
    given = await everybody.client.request("POST", path, {"spec": {"audiences": ["kuelog-console"]}})
    assert (await reviews.person(given["status"]["token"])).user == "system:serviceaccount:people:tenant"
    with pytest.raises(Unproven):
        await TokenReviews(everybody.client, everybody.now).person(given["status"]["token"])

    class Heedless:
        """An authenticator that knows nothing of audiences."""

        async def request(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
            del method, path, body
            return {"status": {"authenticated": True, "user": {"username": "alice"}}}

    with pytest.raises(Unproven, match="was not made for kuelog-console"):
        await TokenReviews(Heedless(), everybody.now, ("kuelog-console",)).person("token")
    for broken in ("", "two words\n", "ü", "x" * 20_000):
        with pytest.raises(Unproven, match="no bearer token"):
            await reviews.person(broken)


async def test_strangers_with_made_up_tokens_keep_the_api_server_busy_only_so_far(everybody: People) -> None:
    reviews = TokenReviews(everybody.client, everybody.now)
    found = await asyncio.gather(*(reviews.person(f"made-up-{n}") for n in range(3 * AT_ONCE)), return_exceptions=True)
    assert sum(isinstance(one, Unproven) for one in found) == AT_ONCE
    assert sum(isinstance(one, TooManyTokens) for one in found) == 2 * AT_ONCE


def proxied(everybody: People, proxy: TrustedProxy) -> AskersAccess:
    return everybody.access(lambda _reviews, _sessions: ByProxy(proxy))


def bind(everybody: People, kind: str, name: str, role: str, namespace: str) -> None:
    group = "rbac.authorization.k8s.io"
    everybody.cluster.add(
        {
            "apiVersion": f"{group}/v1",
            "kind": "RoleBinding",
            "metadata": {"name": f"{kind}-{role}".lower(), "namespace": namespace},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
            "subjects": [{"apiGroup": group, "kind": kind, "name": name}],
        }
    )


async def asked_with(console: Console, headers: Sequence[tuple[str, str]]) -> tuple[int, str]:
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{console.port}/api/v1/time", headers=headers) as answer,
        session.get(f"http://127.0.0.1:{console.port}{SESSION}", headers=headers) as said,
    ):
        return answer.status, await said.text()


async def test_whom_a_proxy_names_is_believed_with_its_secret_alone(tmp_path: Path, everybody: People) -> None:
    secret = tmp_path / "secret"
    secret.write_text("of the proxy\n")
    bind(everybody, "Group", "oidc:team", "workloads", MINE)
    proxy = TrustedProxy(secret=secret, user_prefix="oidc:", group_prefix="oidc:")
    ours = ("X-Kuelog-Proxy-Secret", "of the proxy")
    async with served(tmp_path, access=proxied(everybody, proxy), namespaces=NAMESPACES) as console:
        alice = [("X-Forwarded-User", "alice"), ("X-Forwarded-Groups", "team, system:masters")]
        status, text = await asked_with(console, [ours, *alice])
        assert status == 200
        # What the identity provider calls a group of Kubernetes' own is one of its own, with its prefix.
        groups = '"groups":["oidc:team","oidc:system:masters","system:authenticated"]'
        assert '"user":"oidc:alice"' in text and groups in text and f'"namespaces":["{MINE}"]' in text
        for headers in (
            alice,
            [("X-Kuelog-Proxy-Secret", "guessed"), *alice],
            [("Authorization", f"Bearer {everybody.tokens['operator']}")],
            [ours],
            [ours, *alice, ("X-Forwarded-User", "mallory")],
            [ours, *alice, ("X-Forwarded-Groups", "admins")],
        ):
            assert (await asked_with(console, headers))[0] == 401, headers
        secret.write_text("")
        assert (await asked_with(console, [ours, *alice]))[0] == 401
        assert (await asked_with(console, [("X-Kuelog-Proxy-Secret", ""), *alice]))[0] == 401
        assert (await console.ask(SESSION, "POST", sent={"token": everybody.tokens["operator"]}))[0] == 401


async def test_nobody_is_named_as_kubernetes_names_its_own(tmp_path: Path, everybody: People) -> None:
    secret = tmp_path / "secret"
    secret.write_text("s")
    console_access = ByProxy(TrustedProxy(secret=secret))
    async with served(tmp_path, access=everybody.access(lambda *_: console_access), namespaces=NAMESPACES) as console:
        ours = ("X-Kuelog-Proxy-Secret", "s")
        admin = [ours, ("X-Forwarded-User", "system:admin")]
        assert (await asked_with(console, admin))[0] == 401
        masters = [ours, ("X-Forwarded-User", "bob"), ("X-Forwarded-Groups", "system:masters,system:nodes")]
        status, text = await asked_with(console, masters)
        assert status == 200 and '"groups":["system:authenticated"]' in text and '"namespaces":[]' in text
    with pytest.raises(ValueError, match="known by a secret"):
        ByProxy(TrustedProxy())


@pytest.mark.parametrize("header", ["X-Remote-User", "X-Remote-Group"])
def test_nobody_is_named_in_bytes_that_are_no_text(header: str) -> None:
    # As aiohttp gives the byte FF of a header.
    request: Any = SimpleNamespace(headers=CIMultiDict({"X-Remote-User": "alice", header: "\udcff"}))
    with pytest.raises(Unproven, match="UTF-8"):
        person_in(request, FrontProxy(authorities=""))


async def test_a_proxy_is_known_by_its_client_certificate(tmp_path: Path, everybody: People) -> None:
    ours, stranger = Authority(tmp_path, "proxy-ca"), Authority(tmp_path, "stranger-ca")
    certificate = Certificate(asks_clients=True)
    certificate.show(*(file.read_text() for file in ours.sign("localhost")))
    certificate.believe(ours.text)
    proxy = TrustedProxy(certificate=True, names=("signs-in",))
    bind(everybody, "User", "alice", "workloads", MINE)
    async with served(tmp_path) as console:
        door = Door(port=0, access=proxied(everybody, proxy), tls=certificate.context)
        async with console_served(console.bus, door) as secure, aiohttp.ClientSession() as session:

            async def ask(*shown: Path) -> int:
                context = ssl.create_default_context(cafile=ours.file)
                if shown:
                    context.load_cert_chain(*shown)
                url = f"https://localhost:{secure.port}/api/v1/time"
                async with session.get(url, ssl=context, headers={"X-Forwarded-User": "alice"}) as answer:
                    return answer.status

            async def once_folded(*shown: Path) -> int:
                while (found := await ask(*shown)) == 503:
                    pass
                return found

            assert await once_folded(*ours.sign("signs-in")) == 200
            assert await ask() == 401
            assert await ask(*ours.sign("somebody-else")) == 401
            with pytest.raises((aiohttp.ClientError, ssl.SSLError, OSError)):
                await ask(*stranger.sign("signs-in"))
