"""The user behind a request, as the API server's front proxy names it: trusted only with a certificate of its authority."""

from collections.abc import Mapping
from urllib.parse import unquote

import msgspec
from aiohttp import web

CONFIG_MAP = ("kube-system", "extension-apiserver-authentication")
"""Namespace and name of the ConfigMap in which an API server publishes how its front proxy is known."""


class FrontProxyUnknown(Exception):
    """Nothing says how the API server's front proxy is known."""

    def __init__(self, problem: str) -> None:
        super().__init__(
            f"the API server's front proxy is not known: {problem}. Its authority stands in the ConfigMap"
            f" {'/'.join(CONFIG_MAP)}; name it with --client-ca where the cluster has none"
        )


class Unproven(Exception):
    """The request doesn't come from the front proxy, or it says nobody's name."""


class FrontProxy(msgspec.Struct, frozen=True, kw_only=True):
    """Which certificates the front proxy has, and in which headers it names the user."""

    authorities: str
    """Certificates in PEM."""
    names: tuple[str, ...] = ()
    """The common names that its certificate may bear; any when there is none."""
    user_headers: tuple[str, ...] = ("X-Remote-User",)
    uid_headers: tuple[str, ...] = ("X-Remote-Uid",)
    group_headers: tuple[str, ...] = ("X-Remote-Group",)
    extra_prefixes: tuple[str, ...] = ("X-Remote-Extra-",)


class Person(msgspec.Struct, frozen=True, kw_only=True):
    """The user of a request, with groups and extra fields."""

    user: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, list[str]] = {}


def front_proxy_of(data: Mapping[str, str]) -> FrontProxy:
    """What the ConfigMap of an API server says. Raises `FrontProxyUnknown`."""
    authorities = data.get("requestheader-client-ca-file", "")
    if not authorities.strip():
        raise FrontProxyUnknown("it holds no requestheader-client-ca-file")
    plain = FrontProxy(authorities=authorities)
    return FrontProxy(
        authorities=authorities,
        names=_texts(data, "allowed-names", plain.names),
        user_headers=_texts(data, "username-headers", plain.user_headers),
        uid_headers=_texts(data, "uid-headers", plain.uid_headers),
        group_headers=_texts(data, "group-headers", plain.group_headers),
        extra_prefixes=_texts(data, "extra-headers-prefix", plain.extra_prefixes),
    )


def who_asks(request: web.Request, proxy: FrontProxy) -> Person:
    """The person in the headers of a request that the front proxy has sent. Raises `Unproven`."""
    check_certificate(request, proxy.names, "the API server's front proxy")
    return person_in(request, proxy)


def check_certificate(request: web.Request, names: tuple[str, ...], who: str) -> None:
    """Raise `Unproven` unless the client has shown a certificate of one of these names, or of any where there is none.

    That an authority that is believed has signed it was found out when the connection began.
    """
    shown = request.get_extra_info("peercert")
    if not shown:
        raise Unproven(f"only {who} is answered, over its client certificate")
    bears = [value for part in shown.get("subject", ()) for name, value in part if name == "commonName"]
    if names and not set(bears) & set(names):
        raise Unproven(f"a certificate of {', '.join(bears) or 'nobody'} is not that of {who}")


def person_in(request: web.Request, proxy: FrontProxy) -> Person:
    """The person whom the headers of a request name; whether they are to be believed was asked before. Raises `Unproven`."""
    user = _first(request, proxy.user_headers)
    if not user:
        raise Unproven(f"nobody is named in {', '.join(proxy.user_headers)}")
    found = Person(
        user=user,
        uid=_first(request, proxy.uid_headers),
        groups=tuple(group for name in proxy.group_headers for group in request.headers.getall(name, ())),
        extra=_extra(request, proxy.extra_prefixes),
    )
    try:
        msgspec.json.encode(found)
    except UnicodeEncodeError as problem:
        raise Unproven("whom these headers name can't be read: they have to be in UTF-8") from problem
    return found


def _first(request: web.Request, headers: tuple[str, ...]) -> str:
    return next((found for name in headers if (found := request.headers.get(name, ""))), "")


def _extra(request: web.Request, prefixes: tuple[str, ...]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in request.headers.items():
        for prefix in prefixes:
            if name.lower().startswith(prefix.lower()):
                found.setdefault(unquote(name[len(prefix) :].lower()), []).append(value)
    return found


def _texts(data: Mapping[str, str], name: str, otherwise: tuple[str, ...]) -> tuple[str, ...]:
    """A list of texts, which the API server writes as JSON."""
    text = data.get(f"requestheader-{name}")
    if not text:
        return otherwise
    try:
        return msgspec.json.decode(text, type=tuple[str, ...]) or otherwise
    except msgspec.DecodeError as problem:
        raise FrontProxyUnknown(f"requestheader-{name}: {problem}") from problem
