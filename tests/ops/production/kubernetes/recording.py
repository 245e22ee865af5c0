"""A client that takes note of what it asks, and of how it was answered."""

from collections.abc import Mapping
from typing import Any

import aiohttp
from kubernetes.aio import client as kube
from kubernetes.aio import config as kube_config

from ops.production.kubernetes.client import KubeClient
from ops.production.kubernetes.kept_connections import HttpAnswer


class Recording(KubeClient):
    """Each answer with its method, its path with the query, and its status, in order."""

    def __init__(self, configuration: kube.Configuration, *, service: str) -> None:
        super().__init__(configuration, service=service)
        self.answers: list[tuple[str, str, int]] = []

    @property
    def session(self) -> aiohttp.ClientSession:
        if self._session is None:
            trace = aiohttp.TraceConfig()
            trace.on_request_end.append(self._note)
            trace.freeze()
            super().session.trace_configs.append(trace)
        return super().session

    async def _note(self, session: Any, context: Any, end: aiohttp.TraceRequestEndParams) -> None:
        del session, context
        self.answers.append((end.method, end.url.path_qs, end.response.status))

    async def answer_to(self, method: str, path: str, headers: Mapping[str, str], data: bytes | None) -> HttpAnswer:
        answer = await super().answer_to(method, path, headers, data)
        self.answers.append((method, path, answer.status))
        return answer


async def recording(kubeconfig: str, service: str = "tests") -> Recording:
    """A recording client for a kubeconfig."""
    configuration = kube.Configuration()
    await kube_config.load_kube_config(config_file=kubeconfig, client_configuration=configuration)
    return Recording(configuration, service=service)
