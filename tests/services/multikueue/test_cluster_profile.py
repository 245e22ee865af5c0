"""How clusters are reached by ClusterProfiles: which program gives access, what it is told, and what of its answer is taken.

Rule: docs/rules/multikueue.md#cluster-profiles
"""

import base64
import json
from typing import Any

import pytest

from events.multikueue import AccessProvider
from services.multikueue.cluster_profile import (
    BAD_ACCESS,
    BAD_PROFILE,
    Credentials,
    access_by,
    credentials_in,
    kubeconfig_of,
)
from services.multikueue.kubeconfig import KubeConfigRefused, check_kubeconfig
from services.runtime.cluster_port import ClusterUnavailable

V1 = "client.authentication.k8s.io/v1"
READER = AccessProvider(name="reader", command="/plugins/reader", args=("-v",), env={"A": "1"}, api_version=V1)
OTHER = AccessProvider(name="other", command="other", api_version=V1, cluster_info=True)
CLUSTER = {"server": "https://w1.example.com:6443", "certificate-authority-data": "eA=="}


def profile(*names: str, field: str = "accessProviders", **cluster: Any) -> dict[str, Any]:
    offered = [{"name": one, "cluster": CLUSTER | cluster} for one in names]
    return {"metadata": {"name": "w1"}, "status": {field: offered}}


def printed(**status: Any) -> bytes:
    return json.dumps({"apiVersion": V1, "kind": "ExecCredential", "status": status}).encode()


def test_the_first_program_of_the_configuration_gives_access_that_the_profile_names() -> None:
    assert access_by(profile("other", "reader"), (READER, OTHER)).provider == READER
    assert access_by(profile("other", "unknown"), (READER, OTHER)).provider == OTHER
    older = access_by(profile("reader", field="credentialProviders"), (READER,))
    assert (older.provider, older.cluster) == (READER, CLUSTER)


@pytest.mark.parametrize(
    ("value", "providers", "reason", "problem"),
    [
        (profile("reader"), (), BAD_PROFILE, "no access provider configured"),
        (
            profile("x"),
            (READER,),
            BAD_PROFILE,
            'no matching cluster accessor found for cluster profile "w1"',
        ),
        ({"metadata": {"name": "w1"}}, (READER,), BAD_PROFILE, "no matching cluster accessor"),
        (profile("reader", server="https://w1_a"), (READER,), BAD_ACCESS, "untrusted server endpoint"),
        (profile("reader", server=""), (READER,), BAD_ACCESS, "untrusted server endpoint"),
    ],
)
def test_a_profile_that_gives_no_access_is_refused_in_kueue_s_words(
    value: dict[str, Any], providers: tuple[AccessProvider, ...], reason: str, problem: str
) -> None:
    with pytest.raises(KubeConfigRefused) as refused:
        access_by(value, providers)
    assert refused.value.reason == reason
    assert problem in str(refused.value)


def test_a_program_is_told_of_which_cluster_only_if_the_configuration_says_so() -> None:
    extensions = [{"name": "client.authentication.k8s.io/exec", "extension": {"clusterName": "w1"}}]
    plain = access_by(profile("reader", extensions=extensions), (READER,))
    assert plain.words == ("/plugins/reader", "-v")
    assert plain.variables["A"] == "1"
    told = json.loads(plain.variables["KUBERNETES_EXEC_INFO"])
    assert told == {"apiVersion": V1, "kind": "ExecCredential", "spec": {"interactive": False}}
    informed = json.loads(
        access_by(profile("other", extensions=extensions), (OTHER,)).variables["KUBERNETES_EXEC_INFO"]
    )
    assert informed["spec"]["cluster"] == {**CLUSTER, "config": {"clusterName": "w1"}}


def test_what_a_program_prints_proves_who_asks_until_it_expires() -> None:
    given = credentials_in(printed(token="t", expirationTimestamp="2026-01-01T00:10:00Z"), READER)
    assert given == Credentials(token="t", until=1_767_226_200_000)
    assert given.renewed_at(0) == 1_767_226_140_000, "a minute before"
    assert given.renewed_at(1_767_226_199_000) == 1_767_226_204_000, "but not at once again"
    assert credentials_in(printed(token="t"), READER).renewed_at(0) is None


@pytest.mark.parametrize(
    "answer",
    [
        b"no json",
        b"[]",
        b'{"apiVersion": "client.authentication.k8s.io/v1beta1", "kind": "ExecCredential", "status": {"token": "t"}}',
        printed(),
        printed(clientCertificateData="c"),
        printed(token="t", expirationTimestamp="soon"),
    ],
)
def test_an_answer_that_is_none_connects_nobody(answer: bytes) -> None:
    with pytest.raises(ClusterUnavailable, match="getting credentials: exec: executable /plugins/reader"):
        credentials_in(answer, READER)


def test_the_kubeconfig_that_is_made_of_it_is_one_that_may_be_used() -> None:
    access = access_by(profile("reader", **{"tls-server-name": "x", "certificate-authority": "/ca"}), (READER,))
    text = kubeconfig_of(access, Credentials(token="t", certificate="c", key="k"))
    check_kubeconfig(text)
    made = json.loads(text)
    assert made["clusters"][0]["cluster"] == CLUSTER, "files of it are not read"
    assert made["users"][0]["user"] == {
        "token": "t",
        "client-certificate-data": base64.b64encode(b"c").decode(),
        "client-key-data": base64.b64encode(b"k").decode(),
    }


def test_an_authority_that_is_no_base64_is_refused() -> None:
    access = access_by(profile("reader", **{"certificate-authority-data": "?"}), (READER,))
    with pytest.raises(KubeConfigRefused, match="certificate-authority-data"):
        kubeconfig_of(access, Credentials(token="t"))
