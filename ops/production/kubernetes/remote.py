"""Clients for worker clusters, each made from a kubeconfig that was checked before."""

import asyncio
import os
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import aiohttp
import structlog

from events.bounded_yaml import Unreadable, yaml_of
from ops.production.kubernetes.client import KubeClient
from ops.production.kubernetes.kept_connections import HttpAnswer
from ops.production.kubernetes.official_client import ConfigException, kube, kube_config
from ops.production.kubernetes.reflector import Reflector
from services.runtime.cluster_port import ClusterUnavailable, RemoteCluster, Resource, Sight

log = structlog.get_logger()

_PATIENCE_S = 60.0
"""How long a program may take that gives credentials."""
_LONGEST = 1000
HOME = "kuelog-system"
"""The namespace of Secrets with kubeconfigs, for who runs in no pod."""
_OF_POD = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


def home_namespace() -> str:
    """The namespace in which this process runs, and in which Secrets with kubeconfigs are looked for."""
    try:
        return _OF_POD.read_text(encoding="utf-8").strip() or HOME
    except OSError:
        return HOME


class RemoteClient(KubeClient):
    """Reads, writes and watches in a worker cluster; a watch ends with the connection, and nothing is asked after its end."""

    _closed = False

    @property
    def session(self) -> aiohttp.ClientSession:
        """The session of the connection. Raises `ClusterUnavailable` after its end."""
        if self._closed:
            raise ClusterUnavailable("the connection to it has ended")
        return super().session

    async def answer_to(self, method: str, path: str, headers: Mapping[str, str], data: bytes | None) -> HttpAnswer:
        """What the server has answered. Raises `ClusterUnavailable` after the end of the connection."""
        if self._closed:
            raise ClusterUnavailable("the connection to it has ended")
        return await super().answer_to(method, path, headers, data)

    async def close(self) -> None:
        """Close the connection for good."""
        self._closed = True
        await super().close()

    async def watch(self, resource: Resource) -> AsyncGenerator[Sight]:
        """All objects of a kind, then each change, until the connection breaks. Raises `ClusterUnavailable` and `ObjectMissing`."""
        async with aclosing(Reflector(self, patient=False).watch(resource)) as sights:
            async for sight in sights:
                yield sight


class KubeConnector:
    """Connects to worker clusters over HTTP."""

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace

    def resolved(self, path: str) -> str:
        """Where a path leads, symlinks followed."""
        return str(Path(path).resolve())

    def read(self, path: str) -> str:
        """The text of a kubeconfig file."""
        return Path(path).read_text(encoding="utf-8")

    async def run(self, words: Sequence[str], variables: Mapping[str, str]) -> bytes:
        """What a program prints that gives credentials; nobody answers it. Raises `ClusterUnavailable`."""
        named = f"getting credentials: exec: executable {words[0]}"
        try:
            program = await asyncio.create_subprocess_exec(
                *words, env={**os.environ, **variables}, stdin=DEVNULL, stdout=PIPE, stderr=PIPE
            )
        except FileNotFoundError as problem:
            raise ClusterUnavailable(f"{named} not found") from problem
        except OSError as problem:
            raise ClusterUnavailable(f"{named}: {problem.strerror}") from problem
        try:
            async with asyncio.timeout(_PATIENCE_S):
                printed, told = await program.communicate()
        except TimeoutError as problem:
            raise ClusterUnavailable(f"{named} did not end within {_PATIENCE_S:g} s") from problem
        finally:
            if program.returncode is None:
                program.kill()
                await program.wait()
        if program.returncode:
            log.warning("it gives no access", program=words[0], told=told.decode(errors="replace")[-_LONGEST:])
            raise ClusterUnavailable(f"{named} failed with exit code {program.returncode}")
        return printed

    async def connect(self, kubeconfig: str) -> RemoteCluster:
        """A client for the cluster of a kubeconfig's current context. Raises `ClusterUnavailable`."""
        configuration = kube.Configuration()
        try:
            value: Any = yaml_of(kubeconfig)
            await kube_config.load_kube_config_from_dict(value, client_configuration=configuration)
            return RemoteClient(configuration, service="multikueue")
        except (ConfigException, Unreadable, OSError) as problem:
            raise ClusterUnavailable(str(problem)) from problem
        except Exception as problem:  # noqa: BLE001 - the official client reads what somebody else wrote, and fails anyhow
            what = f"{type(problem).__name__}: {problem}"
            raise ClusterUnavailable(f"the kubeconfig can't be read: {what}") from problem
