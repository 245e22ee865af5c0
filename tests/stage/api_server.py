"""A real API server as child processes: etcd, kube-apiserver, and what else its folder holds; killed and started again."""

import json
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.stage.ports import reserved_port

PATIENCE_S = 120.0
ADMIN = "admin-token"
STRANGER = "stranger-token"
"""Of a user whom nothing is allowed."""
CONTROLLERS = (
    "job-controller",
    "cronjob-controller",
    "garbage-collector-controller",
    "namespace-controller",
    "deployment-controller",
    "replicaset-controller",
    "statefulset-controller",
    "resourceclaim-controller",
)
"""Not those that watch nodes: the nodes of tests have no kubelet that would tell of them."""
SCHEDULER = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {{kubeconfig: {kubeconfig}}}
leaderElection: {{leaderElect: false}}
extenders:
- urlPrefix: http://127.0.0.1:1
  managedResources:
  - {{name: nvidia.com/gpumem, ignoredByScheduler: true}}
  - {{name: nvidia.com/gpucores, ignoredByScheduler: true}}
"""


class ApiServer:
    """One API server over one etcd. `assets` is a folder as KUBEBUILDER_ASSETS names it."""

    def __init__(self, assets: Path, folder: Path, *, alone: bool = False, options: Sequence[str] = ()) -> None:
        self.assets, self.folder, self._alone, self._options = assets, folder, alone, options
        """`alone` leaves out what else the folder holds; the options are kube-apiserver's."""
        self.port, self._etcd_port = reserved_port(), reserved_port()
        self.kubeconfig = folder / "kubeconfig"
        self._etcd: subprocess.Popen[bytes] | None = None
        self._api: subprocess.Popen[bytes] | None = None
        self._others: list[subprocess.Popen[bytes]] = []

    @property
    def url(self) -> str:
        """Where it is asked."""
        return f"https://127.0.0.1:{self.port}"

    @property
    def etcd_url(self) -> str:
        """Where its etcd is asked, by whoever compacts it."""
        return f"http://127.0.0.1:{self._etcd_port}"

    def has(self, program: str) -> bool:
        """Whether a program of the control plane runs besides the API server."""
        return not self._alone and (self.assets / program).exists()

    def start(self) -> None:
        """Start everything, and wait until the API server is ready."""
        self.folder.mkdir(parents=True, exist_ok=True)
        key = self.folder / "accounts.key"
        key.write_bytes(
            rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
            )
        )
        (self.folder / "tokens.csv").write_text(f'{ADMIN},admin,1,"system:masters"\n{STRANGER},stranger,2\n')
        peers = f"http://127.0.0.1:{reserved_port()}"
        self._etcd = self._run(
            "etcd",
            f"--data-dir={self.folder / 'etcd'}",
            f"--listen-client-urls={self.etcd_url}",
            f"--advertise-client-urls={self.etcd_url}",
            f"--listen-peer-urls={peers}",
            f"--initial-advertise-peer-urls={peers}",
            f"--initial-cluster=default={peers}",
            "--unsafe-no-fsync",
        )
        self.start_api()
        if self.has("kube-controller-manager"):
            self._others.append(
                self._run(
                    "kube-controller-manager",
                    f"--kubeconfig={self.kubeconfig}",
                    f"--controllers={','.join(CONTROLLERS)}",
                    "--leader-elect=false",
                    "--secure-port=0",
                )
            )
        if self.has("kube-scheduler"):
            file = self.folder / "scheduler.yaml"
            file.write_text(SCHEDULER.format(kubeconfig=self.kubeconfig))
            self._others.append(self._run("kube-scheduler", f"--config={file}", "--secure-port=0"))

    def start_api(self) -> None:
        """Start the API server alone, on what its etcd holds."""
        key = self.folder / "accounts.key"
        self._api = self._run(
            "kube-apiserver",
            f"--etcd-servers={self.etcd_url}",
            f"--cert-dir={self.folder / 'certificates'}",
            f"--secure-port={self.port}",
            "--bind-address=127.0.0.1",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}",
            f"--token-auth-file={self.folder / 'tokens.csv'}",
            "--authorization-mode=RBAC",
            "--service-cluster-ip-range=10.0.0.0/24",
            # Nobody makes the accounts that every pod would have to have.
            "--disable-admission-plugins=ServiceAccount",
            "--allow-privileged=true",
            *self._options,
        )
        self._await_ready(self._api)
        self.kubeconfig.write_text(self.kubeconfig_of(ADMIN))

    def kill_api(self) -> None:
        """Kill the API server alone, in the middle of whatever it does."""
        assert self._api is not None
        self._api.kill()
        self._api.wait()

    def compact(self) -> None:
        """Have etcd forget what was before now."""
        now = int(self._ask_etcd("range", {"key": "AA=="})["header"]["revision"])
        self._ask_etcd("compaction", {"revision": now, "physical": True})

    def _ask_etcd(self, what: str, body: dict[str, Any]) -> dict[str, Any]:
        request = urllib.request.Request(f"{self.etcd_url}/v3/kv/{what}", data=json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            return json.load(answer)

    def stop(self) -> None:
        """Stop everything; nothing of it is needed any more."""
        running = [one for one in (*self._others, self._api, self._etcd) if one is not None]
        for one in running:
            one.kill()
        for one in running:
            one.wait()

    def kubeconfig_of(self, token: str) -> str:
        """A kubeconfig for whoever bears this token."""
        authority = b64encode((self.folder / "certificates" / "apiserver.crt").read_bytes()).decode()
        return (
            "apiVersion: v1\nkind: Config\ncurrent-context: test\n"
            f"clusters:\n- name: test\n  cluster: {{server: '{self.url}', certificate-authority-data: '{authority}'}}\n"
            "contexts:\n- name: test\n  context: {cluster: test, user: test}\n"
            f"users:\n- name: test\n  user: {{token: '{token}'}}\n"
        )

    def _run(self, program: str, *words: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{program}.log").open("ab") as log:
            return subprocess.Popen(
                [str(self.assets / program), *words], stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def _await_ready(self, process: subprocess.Popen[bytes]) -> None:
        trusting = ssl.create_default_context()
        trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
        asked = urllib.request.Request(f"{self.url}/readyz", headers={"Authorization": f"Bearer {ADMIN}"})
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            if process.poll() is not None:
                break
            try:
                with urllib.request.urlopen(asked, context=trusting, timeout=5) as answer:
                    if answer.status == 200:
                        return
            except (urllib.error.URLError, OSError):
                time.sleep(0.05)
        told = (self.folder / "kube-apiserver.log").read_text(errors="replace")[-2000:]
        self.stop()
        raise RuntimeError(f"kube-apiserver of {self.assets} does not become ready:\n{told}")
