"""One connection to a Kubernetes API, configured by the official client, spoken to in plain JSON.

The official client reads the kubeconfig or the service account, and brings TLS and authentication. Objects are decoded
by msgspec: 11 µs for a watch event, where the official client takes 408 µs.
"""

import asyncio
import os
import random
import re
import ssl
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping
from email.utils import parsedate_to_datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import msgspec

from events.json_object import JsonObject
from ops.files.reading import Unreadable, yaml_file
from ops.production.kubernetes.kept_connections import HttpAnswer, KeptConnections
from ops.production.kubernetes.official_client import ConfigException, RESTClientObject, kube, kube_config
from services.runtime.cluster_port import (
    AccessRefused,
    ClusterUnavailable,
    ListExpired,
    ObjectConflict,
    ObjectInvalid,
    ObjectMissing,
    Resource,
)

_TRIES = 5
_MOST_S = 5.0
"""Pauses grow from what the API server asks for, up to as many times this as there were tries."""
LONGEST_S = 60.0
"""No longer than this is waited at once, whatever the API server asks for."""
_DIGITS, _SOON_S = 9, 0.2
_UNAVAILABLE = frozenset({429, 500, 502, 503, 504})
_SILENT_S = 300.0
_MERGE, _APPLY = "application/merge-patch+json", "application/apply-patch+yaml"
_REDIRECTED, _BAD_REQUEST, _UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND, _CONFLICT, _GONE = 300, 400, 401, 403, 404, 409, 410
_NO_RIGHT = re.compile(r" cannot \w+ (resource|path) ")
"""How the API server words a missing right; any other 403 is a verdict on the object."""
MANAGER = "kuelog"
"""Whose fields they are that we write, in an object's managedFields."""
_WRITTEN_BY = f"?fieldManager={MANAGER}"


class ApiRequests(ABC):
    """Reads and writes of objects of any kind, with patience; what carries the requests is another's business."""

    @abstractmethod
    async def once(self, method: str, path: str, data: bytes | None, form: str) -> JsonObject:
        """One request, sent once; any failure is one of those that services know."""

    @abstractmethod
    def lines(self, path: str) -> AsyncGenerator[bytes, None]:
        """The lines of an answer that goes on for long, as a watch's does. Raises as `once`."""

    async def get(self, resource: Resource, namespace: str, name: str) -> JsonObject:
        """One object."""
        return await self.request("GET", path_of(resource, namespace, name))

    async def create(self, resource: Resource, namespace: str, value: JsonObject) -> JsonObject:
        """A new object."""
        return await self.request("POST", path_of(resource, namespace) + _WRITTEN_BY, value)

    async def merge(
        self, resource: Resource, namespace: str, name: str, patch: JsonObject, *, subresource: str = ""
    ) -> JsonObject:
        """A merge patch."""
        path = path_of(resource, namespace, name, subresource)
        return await self.request("PATCH", path + _WRITTEN_BY, patch, form=_MERGE)

    async def apply(
        self, resource: Resource, namespace: str, value: JsonObject, *, manager: str, subresource: str = ""
    ) -> JsonObject:
        """A server-side apply; of fields that others have written, too."""
        path = path_of(resource, namespace, value["metadata"]["name"], subresource)
        return await self.request("PATCH", f"{path}?fieldManager={manager}&force=true", value, form=_APPLY)

    async def delete(
        self, resource: Resource, namespace: str, name: str, *, uid: str = "", at_once: bool = False
    ) -> None:
        """Take an object away."""
        options: JsonObject = {"propagationPolicy": "Background"}
        if uid:
            options["preconditions"] = {"uid": uid}
        if at_once:
            options["gracePeriodSeconds"] = 0
        await self.request("DELETE", path_of(resource, namespace, name), options)

    async def request(
        self, method: str, path: str, body: JsonObject | None = None, *, form: str = "application/json"
    ) -> JsonObject:
        """One request, tried again while the API server asks for patience."""
        data = msgspec.json.encode(body) if body is not None else None
        for attempt in range(1, _TRIES + 1):
            try:
                return await self.once(method, path, data, form)
            except (AccessRefused, ListExpired):
                raise
            except ClusterUnavailable as problem:
                if attempt == _TRIES:
                    raise
                pause = max(min(problem.retry_after, _MOST_S) * attempt, min(problem.retry_after, LONGEST_S))
                await asyncio.sleep(pause * (1 + random.random() / 2))
        raise ClusterUnavailable("no answer")


class KubeClient(ApiRequests):
    """Reads and writes objects of any kind; `service` says in the API server's log who asks."""

    def __init__(self, configuration: kube.Configuration, *, burst: int = 64, service: str = "") -> None:
        self.host = configuration.host
        self._agent = f"{MANAGER}/{version('kuelog')}{f' ({service})' if service else ''}"
        self._configuration = configuration
        self._room = asyncio.Semaphore(burst)
        rest: Any = RESTClientObject(configuration)
        self._tls: ssl.SSLContext = rest.ssl_context
        # Asked once: the client would look into the environment, and for a netrc, at each request.
        self._proxy = _proxy_to(self.host)
        self._kept = KeptConnections(self.host, self._tls)
        self._session: aiohttp.ClientSession | None = None

    @property
    def session(self) -> aiohttp.ClientSession:
        """An HTTP session for watches, and for all that goes through a proxy, with the TLS that the official client has set up."""
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=0, ssl=self._tls)
            self._session = aiohttp.ClientSession(connector=connector, proxy=self._proxy)
        return self._session

    async def close(self) -> None:
        """Close the connection."""
        self._kept.close()
        if self._session is not None:
            await self._session.close()

    async def headers(self) -> dict[str, str]:
        """The authentication of each request; tokens are renewed by the official client."""
        settings: Any = await self._configuration.auth_settings()
        found = {one["key"]: one["value"] for one in settings.values() if one["in"] == "header"}
        return {"Accept": "application/json", "User-Agent": self._agent, **found}

    async def once(self, method: str, path: str, data: bytes | None, form: str) -> JsonObject:
        """One request over HTTP."""
        async with self._room:
            try:
                answer = await self.answer_to(method, path, {**(await self.headers()), "Content-Type": form}, data)
            except (aiohttp.ClientError, TimeoutError, OSError) as problem:
                raise ClusterUnavailable(str(problem) or type(problem).__name__, 0.2) from problem
        if answer.status < _REDIRECTED:
            try:
                return msgspec.json.decode(answer.body) if answer.body else {}
            except (msgspec.DecodeError, RecursionError) as problem:
                raise ClusterUnavailable(f"the answer to {method} {path} can't be read: {problem}", 5.0) from problem
        raise failure_of(answer.status, answer.body, answer.retry_after)

    async def answer_to(self, method: str, path: str, headers: Mapping[str, str], data: bytes | None) -> HttpAnswer:
        """What the server has answered, whatever that is. Raises what the client raises."""
        if self._proxy is None:
            return await self._kept.ask(method, path, headers, data)
        async with self.session.request(method, self.host + path, data=data, headers=headers) as answer:
            return HttpAnswer(answer.status, await answer.read(), answer.headers.get("Retry-After", ""))

    async def answers(self) -> bool:
        """Whether the API server answers anything at all, be it that it is busy or lets nobody in."""
        try:
            await self.answer_to("GET", "/version", await self.headers(), None)
        except (aiohttp.ClientError, TimeoutError, OSError):
            return False
        return True

    async def lines(self, path: str) -> AsyncGenerator[bytes, None]:
        """The lines of an answer over HTTP."""
        timeout = aiohttp.ClientTimeout(total=None, sock_read=_SILENT_S)
        try:
            headers = await self.headers()
            async with self.session.get(self.host + path, headers=headers, timeout=timeout) as answer:
                if answer.status >= _BAD_REQUEST:
                    raise failure_of(answer.status, await answer.read(), answer.headers.get("Retry-After", ""))
                try:
                    async for line in _lines(answer.content):
                        yield line
                finally:
                    _cut(answer)
        except (aiohttp.ClientError, TimeoutError, OSError) as problem:
            raise ClusterUnavailable(str(problem) or type(problem).__name__, 0.2) from problem


def _cut(answer: aiohttp.ClientResponse) -> None:
    """A watch that is given up ends at once: a proper end of TLS would outlive whoever has given it up."""
    if answer.connection is not None and answer.connection.transport is not None:
        answer.connection.transport.abort()


async def _lines(content: aiohttp.StreamReader) -> AsyncGenerator[bytes, None]:
    """Whole lines of a stream, whatever their length."""
    rest = b""
    async for chunk in content.iter_any():
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if line:
                yield line


def _proxy_to(host: str) -> str | None:
    """The proxy that the environment names for this server."""
    address = urlsplit(host)
    return None if proxy_bypass(address.netloc) else getproxies().get(address.scheme)


def failure_of(status: int, raw: bytes, retry_after: str = "") -> Exception:
    """The named failure of an answer that is not a success."""
    try:
        message = str(msgspec.json.decode(raw).get("message", ""))
    except (msgspec.DecodeError, AttributeError):
        message = raw[:200].decode(errors="replace")
    match status:
        case code if code == _NOT_FOUND:
            return ObjectMissing(message)
        case code if code == _CONFLICT:
            return ObjectConflict(message)
        case code if code in _UNAVAILABLE:
            return ClusterUnavailable(message, _seconds(retry_after))
        case code if code == _UNAUTHORIZED or (code == _FORBIDDEN and _NO_RIGHT.search(message)):
            return AccessRefused(message)
        case code if code == _GONE:
            return ListExpired(message)
        case _:
            return ObjectInvalid(message or f"HTTP {status}")


def _seconds(retry_after: str) -> float:
    """The seconds of a Retry-After, which is a number of them or a date; little where it is neither."""
    if retry_after.isascii() and retry_after.isdigit():
        return float(retry_after[:_DIGITS])
    try:
        return max(parsedate_to_datetime(retry_after).timestamp() - time.time(), 0.0)
    except (ValueError, OverflowError):
        return _SOON_S


def path_of(resource: Resource, namespace: str = "", name: str = "", subresource: str = "") -> str:
    """The path of a kind, of one object, or of a part of it."""
    root = f"/apis/{resource.group}/{resource.version}" if resource.group else f"/api/{resource.version}"
    space = f"/namespaces/{namespace}" if resource.namespaced and namespace else ""
    tail = "".join(f"/{part}" for part in (name, subresource) if part)
    return f"{root}{space}/{resource.plural}{tail}"


class KubeConfigMissing(Exception):
    """No way to the cluster was given or found."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"no Kubernetes cluster: {problem}. Name one with --kubeconfig FILE, or set KUBECONFIG")


async def connect(kubeconfig: str = "", context: str = "", *, service: str = "") -> KubeClient:
    """A client for a kubeconfig, for that of KUBECONFIG, or for the cluster that this process runs in. Raises `KubeConfigMissing`."""
    configuration = kube.Configuration()
    kubeconfig = kubeconfig or os.environ.get("KUBECONFIG", "")
    try:
        if kubeconfig:
            await _load(kubeconfig, context, configuration)
        else:
            if "KUBERNETES_SERVICE_HOST" not in os.environ:
                raise KubeConfigMissing("this is no pod of one, and no kubeconfig was named")
            kube_config.load_incluster_config(client_configuration=configuration)
    except (ConfigException, OSError, Unreadable) as problem:
        raise KubeConfigMissing(str(problem).rstrip(".")) from problem
    return KubeClient(configuration, service=service)


async def _load(files: str, context: str, configuration: kube.Configuration) -> None:
    named = [Path(file) for file in files.split(os.pathsep)]
    if not any(one.exists() for one in named):
        raise KubeConfigMissing(f"there is no file {files}")
    for one in named:
        if one.exists():
            yaml_file(one)
    try:
        await kube_config.load_kube_config(
            config_file=files, context=context or None, client_configuration=configuration
        )
    except (ConfigException, OSError):
        raise
    except Exception as problem:  # noqa: BLE001 - the official client reads what somebody else wrote, and fails anyhow
        raise KubeConfigMissing(f"{files} is no kubeconfig: {type(problem).__name__}: {problem}") from problem
