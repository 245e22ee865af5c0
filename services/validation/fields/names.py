"""Names, labels, annotations and paths as Kubernetes allows them."""

import re

from events.json_object import JsonMapping
from services.validation.problem import Problem, invalid, required, too_long

LABEL_KEY = "format=k8s-label-key"
LABEL_VALUE = "format=k8s-label-value"
ANNOTATIONS_AT_MOST = 256 * 1024

_SEGMENT_AT_MOST = 63
_SUBDOMAIN_AT_MOST = 253
_SEGMENT = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_PATH = re.compile(r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+")


def why_no_subdomain(text: str) -> list[str]:
    """What keeps a text from being a lowercase DNS subdomain."""
    words = (
        "a DNS subdomain holds lower case letters, digits, '-' and '.', and begins and ends with one of the first two"
    )
    return _why_not(text, _SUBDOMAIN_AT_MOST, _SUBDOMAIN, words)


def why_no_dns_label(text: str) -> list[str]:
    """What keeps a text from being a DNS label, as the names of pod sets are."""
    words = "a DNS label holds lower case letters, digits and '-', and begins and ends with one of the first two"
    return _why_not(text, _SEGMENT_AT_MOST, _DNS_LABEL, words)


def _why_not(text: str, most: int, form: re.Pattern[str], words: str) -> list[str]:
    found = [f"longer than {most} characters"] if len(text) > most else []
    return found if form.fullmatch(text) is not None else [*found, words]


def is_extended(resource: str) -> bool:
    """Whether a resource is none of Kubernetes' own, so that requests and limits have to be the same."""
    return "/" in resource and not resource.partition("/")[0].endswith("kubernetes.io")


def why_not_qualified(text: str) -> list[str]:
    """What keeps a text from being a qualified name, such as `cpu` or `nvidia.com/gpu`."""
    prefix, slash, name = text.rpartition("/")
    if prefix.count("/"):
        return ["more than one '/'"]
    found: list[str] = []
    if slash:
        found.extend(
            [f"the prefix: {reason}" for reason in why_no_subdomain(prefix)] if prefix else ["an empty prefix"]
        )
    if not name:
        found.append("an empty name")
    elif len(name) > _SEGMENT_AT_MOST:
        found.append(f"a name longer than {_SEGMENT_AT_MOST} characters")
    if _SEGMENT.fullmatch(name) is None:
        found.append("a name holds letters, digits, '-', '_' and '.', and begins and ends with a letter or digit")
    return found


def why_no_label_value(text: str) -> list[str]:
    """What keeps a text from being the value of a label."""
    found: list[str] = []
    if len(text) > _SEGMENT_AT_MOST:
        found.append(f"longer than {_SEGMENT_AT_MOST} characters")
    if text and _SEGMENT.fullmatch(text) is None:
        found.append(
            "a label's value holds letters, digits, '-', '_' and '.', and begins and ends with a letter or digit"
        )
    return found


def label_key_problems(key: str, field: str) -> list[Problem]:
    """What is wrong with a label's key."""
    return [invalid(field, key, f"{key!r}: {reason}", origin=LABEL_KEY) for reason in why_not_qualified(key)]


def labels_problems(labels: JsonMapping | None, field: str) -> list[Problem]:
    """What is wrong with the keys and values of labels."""
    found: list[Problem] = []
    for key, value in (labels or {}).items():
        found.extend(label_key_problems(key, field))
        found.extend(
            invalid(field, value, f"{key}: {value!r}: {reason}", origin=LABEL_VALUE)
            for reason in why_no_label_value(str(value))
        )
    return found


def annotations_problems(annotations: JsonMapping | None, field: str) -> list[Problem]:
    """A map of annotations: keys like those of labels in lower case, and 256 KiB at most altogether."""
    found: list[Problem] = []
    size = 0
    for key, value in (annotations or {}).items():
        found.extend(invalid(field, key, f"{key!r}: {reason}") for reason in why_not_qualified(key.lower()))
        size += len(key) + len(str(value))
    if size > ANNOTATIONS_AT_MOST:
        found.append(too_long(field, "", ANNOTATIONS_AT_MOST))
    return found


def domain_path_problems(text: str, field: str) -> list[Problem]:
    """A path behind a domain, such as `example.com/gate`."""
    if not text:
        return [required(field, "it is empty", "a domain and a path, such as example.com/gate")]
    domain, _, path = text.partition("/")
    if not domain or not path:
        return [invalid(field, text, f"{text!r} is not a path behind a domain", "e.g. example.com/gate")]
    found = [invalid(field, domain, f"{domain!r}: {reason}", "e.g. example.com") for reason in why_no_subdomain(domain)]
    if _PATH.fullmatch(path) is None:
        found.append(
            invalid(field, path, f"{path!r} has characters that a path may not have", "letters, digits, '-', '.', '/'")
        )
    return found
