"""How the bus of a site joins that of the hub: as a leaf node with a JetStream domain of its own, in an account that is the site's alone.

A site decides on its own bus, whether the hub is there or not. What either server lets the other do is said twice, by each about itself:
the hub may read the site's streams and neither change nor fill them; the site may deliver what the hub asks it for, and look how far its
copy has come. Rule: docs/rules/log.md#copies
"""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from events.json_object import JsonObject
from ops.production.log.jetstream.bus import SITE_NAME
from ops.production.log.jetstream.connection import domain_questions
from ops.production.log.jetstream.encryption import AUTHORITY, is_asked_for
from ops.production.log.server.server import NatsServer

HUB = "hub"
"""The JetStream domain of the hub."""
LEAF_PORT = 7422
_EVERYTHING_OF_OURS = "kuelog.>"
_CHANGING = (
    *(f"STREAM.{verb}.>" for verb in ("CREATE", "UPDATE", "DELETE", "PURGE", "RESTORE", "SNAPSHOT", "PEER", "LEADER")),
    "STREAM.MSG.DELETE.>",
    *(f"CONSUMER.{verb}.>" for verb in ("DELETE", "DURABLE", "LEADER", "PAUSE", "RESET", "UNPIN")),
    *(f"{room}.>" for room in ("SERVER", "META", "ACCOUNT")),
)
"""Questions to JetStream that change something, or reach beyond the streams of one account."""
_READING = ("STREAM.INFO.*", "STREAM.MSG.GET.*", "CONSUMER.CREATE.>", "CONSUMER.MSG.NEXT.>")


class SiteRefused(ValueError):
    """What was said of a site can't be, and what to write instead."""


class Joining(msgspec.Struct, frozen=True, kw_only=True):
    """Which site a bus is that of, and where the hub takes its leaf connections, with user and password."""

    site: str
    hubs: tuple[str, ...]
    authority: str = ""
    """The file with the authority of the hub's certificate. Where it is named, nothing goes to a hub in plain text."""


class SiteUser(msgspec.Struct, frozen=True, kw_only=True):
    """A user of the hub's server in the account of one site."""

    name: str
    permissions: JsonObject

    @property
    def variable(self) -> str:
        """The environment variable of the server that holds the password."""
        return f"KUELOG_{self.name.upper().replace('-', '_')}_PASSWORD"


def check_site(name: str) -> str:
    """The name of a site, which is the JetStream domain of its bus. Raises `SiteRefused`."""
    if not re.fullmatch(SITE_NAME, name) or name == HUB:
        raise SiteRefused(
            f"site {name}: it is the JetStream domain of its bus, and `{HUB}` is that of the hub: "
            "write small letters, digits and -, such as the name of its MultiKueueCluster"
        )
    return name


def leaf_user(site: str) -> str:
    """As whom the server of a site connects to the hub."""
    return f"site-{site}"


def reader_user(site: str) -> str:
    """As whom anybody reads a site's log at the hub: the copy, and through the hub the site itself."""
    return f"reader-{site}"


def copier_user(site: str) -> str:
    """As whom the copies of a site's streams are set up at the hub."""
    return f"copier-{site}"


def account_of(site: str) -> str:
    """The account at the hub in which a site's log is copied: nobody of another one sees it."""
    return f"SITE_{site}"


def users_of_site(site: str) -> tuple[SiteUser, ...]:
    """The users of one site at the hub."""
    there = domain_questions(check_site(site))
    reading = [f"{before}{question}" for before in ("$JS.API.", there) for question in _READING]
    inbox = "_INBOX.>"
    return (
        SiteUser(
            name=leaf_user(site),
            permissions={
                # What mirrors were asked for, acknowledgements of their consumers, answers; and how far the copy has come.
                "publish": {"allow": [inbox, "_R_.>", "$JS.M.>", "$JSC.R.*", f"{domain_questions(HUB)}STREAM.INFO.*"]},
                "subscribe": {"allow": [inbox, "_R_.>", f"{there}>", "$JS.FC.>"]},
            },
        ),
        SiteUser(name=reader_user(site), permissions={"publish": {"allow": reading}, "subscribe": {"allow": [inbox]}}),
        SiteUser(
            name=copier_user(site),
            permissions={
                "publish": {"allow": [*reading, "$JS.API.STREAM.CREATE.*"]},
                "subscribe": {"allow": [inbox]},
            },
        ),
    )


def hub_side(
    sites: Sequence[str], passwords: Mapping[str, str] | None = None, *, host: str = "", port: int = LEAF_PORT
) -> JsonObject:
    """What the hub's configuration says of its sites, besides the account of its own log. Without passwords variables stand for them."""
    accounts: JsonObject = {
        account_of(site): {
            "jetstream": "enabled",
            "users": [
                {
                    "user": one.name,
                    "password": passwords[one.name] if passwords is not None else f"<< ${one.variable} >>",
                    "permissions": one.permissions,
                }
                for one in users_of_site(site)
            ],
        }
        for site in sites
    }
    # Sites come by the address that they were given: those of the servers themselves lead nowhere from outside.
    return {"accounts": accounts, "leafnodes": {**({"host": host} if host else {}), "port": port, "no_advertise": True}}


def site_side(joining: Joining, account: str = "") -> JsonObject:
    """What the configuration of a site's servers says of the hub; `account` is where its own log is, if not in the one of everybody."""
    there = domain_questions(joining.site)
    remote: JsonObject = {
        "urls": list(joining.hubs),
        "deny_imports": [_EVERYTHING_OF_OURS, *(f"{there}{one}" for one in _CHANGING)],
        "deny_exports": [_EVERYTHING_OF_OURS],
    }
    if account:
        remote["account"] = account
    if joining.authority:
        remote["tls"] = {"ca_file": joining.authority}
    return {"leafnodes": {"remotes": [remote]}}


def embedded_server(store: Path, joining: Joining | None) -> NatsServer:
    """The server of a run on this machine; that of a site, where it joins a hub."""
    if joining is None:
        return NatsServer(store)
    return NatsServer(store, name=joining.site, domain=joining.site, further=site_side(joining))


def joining_of(text: str) -> Joining:
    """From `nats-leaf://site-NAME:PASSWORD@HOST:PORT`, or tls://, several with commas between. Raises `SiteRefused`."""
    found: dict[str, None] = {}
    addresses = text.split(",")
    for address in addresses:
        named = re.fullmatch(r"(?:nats-leaf|tls|ws|wss)://site-([^:@/]+):[^@/]+@[^@/]+:\d+", address)
        if named is None:
            raise SiteRefused(
                "the address of the hub says who connects and where: write nats-leaf://site-NAME:PASSWORD@HOST:PORT, "
                "with commas between several servers, where NAME is that of this site"
            )
        found[check_site(named[1])] = None
    if len(found) != 1:
        raise SiteRefused(
            f"the addresses of the hub name several sites ({', '.join(found)}): a bus is that of one site"
        )
    named = os.environ.get(AUTHORITY, "") if is_asked_for(addresses) else ""
    return Joining(site=next(iter(found)), hubs=tuple(addresses), authority=str(Path(named).resolve()) if named else "")


__all__ = [
    "HUB",
    "LEAF_PORT",
    "Joining",
    "SiteRefused",
    "SiteUser",
    "account_of",
    "check_site",
    "copier_user",
    "embedded_server",
    "hub_side",
    "joining_of",
    "leaf_user",
    "reader_user",
    "site_side",
    "users_of_site",
]
