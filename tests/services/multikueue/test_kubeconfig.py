"""Which kubeconfigs may be used for worker clusters."""

from typing import Any

import pytest
import yaml

from services.multikueue.kubeconfig import INSECURE, KubeConfigRefused, check_kubeconfig, check_path


def kubeconfig(cluster: dict[str, Any] | None = None, user: dict[str, Any] | None = None) -> str:
    server = {"server": "https://w1.example.com:6443", "certificate-authority-data": "eA=="}
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "w1", "cluster": server | (cluster or {})}],
            "users": [{"name": "me", "user": user or {"token": "x"}}],
            "contexts": [{"name": "c", "context": {"cluster": "w1", "user": "me"}}],
            "current-context": "c",
        }
    )


def test_a_token_and_a_certificate_in_the_text_itself_are_taken() -> None:
    check_kubeconfig(kubeconfig())
    check_kubeconfig(kubeconfig({"server": "https://10.0.0.1:6443"}, {"client-certificate-data": "eA=="}))
    check_kubeconfig(kubeconfig({"server": "https://[fd00::1]:6443"}))
    check_kubeconfig(kubeconfig({"server": "https://W1.Example.com:6443"}))


@pytest.mark.parametrize(
    ("cluster", "user", "problem"),
    [
        ({}, {"tokenFile": "/t"}, "tokenFile is not allowed"),
        ({"insecure-skip-tls-verify": True}, {}, "insecure TLS verification is not allowed for cluster w1"),
        (
            {"certificate-authority": "/ca"},
            {},
            "certificate-authority file paths are not allowed, use certificate-authority-data for cluster w1",
        ),
        ({"server": ""}, {}, "server URL is required for cluster w1"),
        ({"server": "https://w1_example.com"}, {}, "untrusted server endpoint"),
        ({"server": "https://w1.example.com@evil"}, {}, "untrusted server endpoint"),
        ({}, {"username": "a", "password": "b"}, "basic auth is not allowed"),
        ({}, {"username": "a"}, "basic auth is not allowed"),
        ({}, {"password": "b"}, "basic auth is not allowed"),
        ({}, {"exec": {"command": "aws"}}, "exec plugins are not allowed"),
        ({}, {"auth-provider": {"name": "gcp"}}, "auth providers are not allowed"),
        ({}, {"client-key": "/key"}, "client-key file paths are not allowed, use client-key-data"),
        (
            {},
            {"client-certificate": "/crt"},
            "client-certificate file paths are not allowed, use client-certificate-data",
        ),
    ],
)
def test_what_reads_files_runs_programs_or_proves_nothing_is_refused(
    cluster: dict[str, Any], user: dict[str, Any], problem: str
) -> None:
    with pytest.raises(KubeConfigRefused) as refused:
        check_kubeconfig(kubeconfig(cluster, user))
    assert (refused.value.reason, str(refused.value)) == (INSECURE, problem)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("just a word", "failed to parse kubeconfig(apiconfig): it is no mapping"),
        ("a: [", "failed to parse kubeconfig(apiconfig): "),
        ("[]", "failed to parse kubeconfig(apiconfig): it is no mapping"),
        ("", "invalid configuration: no configuration has been provided"),
        ("{}", 'invalid configuration: there is no context "", which is to be the current one'),
        (
            kubeconfig().replace("current-context: c", "current-context: d"),
            'invalid configuration: there is no context "d", which is to be the current one',
        ),
        (
            kubeconfig().replace("cluster: w1", "cluster: w2"),
            'invalid configuration: there is no cluster "w2", that of context "c"',
        ),
        (
            kubeconfig().replace("user: me", "user: you"),
            'invalid configuration: there is no user "you", that of context "c"',
        ),
    ],
)
def test_a_text_that_is_no_kubeconfig_or_names_what_is_not_there_is_refused(text: str, problem: str) -> None:
    with pytest.raises(KubeConfigRefused) as refused:
        check_kubeconfig(text)
    assert refused.value.reason == INSECURE
    assert str(refused.value).startswith(problem)


def test_of_users_whom_the_current_context_does_not_name_only_files_count() -> None:
    def with_other(user: dict[str, Any]) -> str:
        value = yaml.safe_load(kubeconfig())
        value["users"].append({"name": "other", "user": user})
        return yaml.safe_dump(value)

    check_kubeconfig(with_other({"exec": {"command": "aws"}}))
    check_kubeconfig(kubeconfig().replace("    user: me", "    namespace: mine"))
    with pytest.raises(KubeConfigRefused, match="tokenFile is not allowed"):
        check_kubeconfig(with_other({"tokenFile": "/t"}))


def test_a_file_lies_where_kubeconfigs_may_lie() -> None:
    check_path("/etc/multikueue/kubeconfigs/w1")
    for path in ("/etc/passwd", "/etc/multikueue/kubeconfigs", "/etc/multikueue/kubeconfigs/../x", "w1"):
        with pytest.raises(KubeConfigRefused, match="not under the allowed prefix: /etc/multikueue/kubeconfigs"):
            check_path(path)
