"""Bodies in protobuf as kubectl 1.36 sent them, read as the objects that they are."""

from base64 import b64decode

import pytest

from events.json_object import JsonObject
from ops.sandbox.embedded_cluster.api.protobuf import object_of
from ops.sandbox.embedded_cluster.failures import ApiFailure

JOB = (
    "azhzAAoPCghiYXRjaC92MRIDSm9iEoMBChgKAWoSABoHZGVmYXVsdCIAKgAyADgAQgASXTJbChAKABIAGgAiACoAMgA4AEIAEkcS"
    "JAoBahIBeBoFc2xlZXAaATMqAEIAagByAIABAIgBAJABAKIBABoFTmV2ZXIyAEIASgBSAFgAYABoAIIBAIoBAJoBAMIBABoIIAAo"
    "ADAAOgAaACIA"
)
DEPLOYMENT = (
    "azhzAAoVCgdhcHBzL3YxEgpEZXBsb3ltZW50Eq4BCiIKAWQSABoHZGVmYXVsdCIAKgAyADgAQgBaCAoDYXBwEgFkEnoIAhIKCggK"
    "A2FwcBIBZBpiChoKABIAGgAiACoAMgA4AEIAWggKA2FwcBIBZBJEEiYKAXgSAXgqADIKCgAQABhQIgAqAEIAagByAIABAIgBAJAB"
    "AKIBABoAMgBCAEoAUgBYAGAAaACCAQCKAQCaAQDCAQAiAgoAKAA4ABoMCAAQABgAIAAoADgAGgAiAA=="
)
SECRET = "azhzAAoMCgJ2MRIGU2VjcmV0EiQKGAoBcxIAGgdkZWZhdWx0IgAqADIAOABCABIGCgFhEgFiGgAaACIA"


def read(text: str) -> JsonObject:
    return object_of(b64decode(text))


def test_a_job_of_kubectl_is_read_without_the_zeros_that_protobuf_writes() -> None:
    container = {"name": "j", "image": "x", "command": ["sleep", "3"]}
    assert read(JOB) == {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j", "namespace": "default"},
        "spec": {"template": {"metadata": {}, "spec": {"containers": [container], "restartPolicy": "Never"}}},
    }


def test_maps_numbers_and_bytes_are_read_as_json_has_them() -> None:
    found = read(DEPLOYMENT)["spec"]
    assert (found["replicas"], found["selector"]) == (2, {"matchLabels": {"app": "d"}})
    assert found["template"]["spec"]["containers"][0]["ports"] == [{"containerPort": 80}]
    assert read(SECRET)["data"] == {"a": "Yg=="}


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (b"{}", "is not protobuf as Kubernetes writes it"),
        (b"k8s\0" + b"\xff" * 12, "broken protobuf"),
        (b64decode(JOB)[:40], "broken protobuf"),
        (b"k8s\0\x0a\x08\x0a\x02v1\x12\x02Eh", "does not read Eh of v1 as protobuf: send it as JSON"),
    ],
)
def test_what_can_t_be_read_is_a_bad_request(raw: bytes, told: str) -> None:
    with pytest.raises(ApiFailure) as refused:
        object_of(raw)
    assert refused.value.code == 400 and told in str(refused.value)


@pytest.mark.parametrize("body", [JOB, DEPLOYMENT, SECRET])
def test_no_body_that_is_cut_or_changed_anywhere_is_more_than_a_bad_request(body: str) -> None:
    raw = b64decode(body)
    for place in range(4, len(raw)):
        for other in (raw[:place], raw[:place] + bytes([raw[place] ^ 0x55]) + raw[place + 1 :]):
            try:
                assert isinstance(object_of(other), dict)
            except ApiFailure as refused:
                assert refused.code == 400
