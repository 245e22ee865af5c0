"""Who may say what on the bus: a user for each service and partition, which may publish its own subjects and read every stream."""

import json
import re

import msgspec

from events.authors import AUTHORS
from events.json_object import JsonObject
from events.partition_map import PartitionMapObserved
from events.routing import ROUTED
from events.subjects import CLUSTER, CONTROL, commit_subject, fact_subject
from ops.production.log.control import OPERATOR
from ops.production.log.jetstream.bus import subjects_of
from ops.production.log.jetstream.connection import domain_questions
from ops.production.log.jetstream.generations import mark_subject, names_of, room_name
from ops.production.log.jetstream.leases import EVERY_REPLICA, lease_subject
from ops.production.log.jetstream.leases import STREAM as LEASES
from ops.production.log.jetstream.shelf import STREAM as SHELF
from ops.production.log.jetstream.shelf import WATCHER, counters_of, rooms_of
from ops.production.log.sites import HUB, Joining, SiteRefused, check_site, hub_side, site_side
from ops.production.log.streams import SOLE, LogStreams
from ops.production.served import MULTIKUEUE

ACCOUNT = "KUELOG"


class User(msgspec.Struct, frozen=True, kw_only=True):
    """A user of the bus, named as its service is."""

    name: str
    publishes: tuple[str, ...] = ()
    creates: tuple[str, ...] = ()
    """The streams that it may bring into being."""
    saves: tuple[str, ...] = ()
    """Whose saved worlds it may put on the shelf."""
    takes: tuple[str, ...] = ()
    """The leases that it may take."""
    rolls: tuple[str, ...] = ()
    """The streams that it may have go on in fresh ones, and remove when they are archived."""
    restores: tuple[str, ...] = ()
    """The streams that it may fill anew from a backup, whatever stood in them, and may remove for that."""

    @property
    def variable(self) -> str:
        """The environment variable of the server that holds the password."""
        return f"KUELOG_{self.name.upper().replace('-', '_')}_PASSWORD"

    def permissions(self, streams: LogStreams) -> JsonObject:
        """What the server lets the user do where the log has these streams."""
        allowed = [*self.publishes, *(subject for stream in streams.witnessed for subject in _reading(stream))]
        allowed += [f"$JS.API.STREAM.{verb}.{name}" for name in (SHELF, LEASES) for verb in ("INFO", "MSG.GET")]
        allowed += [f"$JS.API.STREAM.CREATE.{stream}" for stream in self.creates]
        allowed += [subject for key in self.saves for subject in rooms_of(key)]
        if self.takes:
            allowed += [EVERY_REPLICA, *(lease_subject(name) for name in self.takes)]
        for stream in self.rolls:
            verbs = [
                f"$JS.API.STREAM.{verb}.{name}" for verb in ("UPDATE", "CREATE", "DELETE") for name in names_of(stream)
            ]
            allowed += [mark_subject(stream), *verbs]
            allowed += [f"$JS.API.STREAM.{verb}.{room_name(stream)}" for verb in ("CREATE", "DELETE")]
            # At a site: how far the copy at the hub has come.
            allowed += [f"{domain_questions(HUB)}STREAM.INFO.{name}" for name in names_of(stream)]
        for stream in self.restores:
            allowed += [f"$JS.API.STREAM.{verb}.{name}" for verb in ("CREATE", "DELETE") for name in names_of(stream)]
            # A backup is what stood on the log, and that may be more than what anybody may say today.
            allowed.append(subjects_of(stream))
        if self.restores:
            allowed += [f"$JS.API.STREAM.{verb}.{SHELF}" for verb in ("CREATE", "DELETE")]
        return {"publish": {"allow": allowed}, "subscribe": {"allow": ["_INBOX.>"]}}


def _facts_of(author: str, tree: str = "*") -> tuple[str, ...]:
    """The subjects of the facts that an author may publish, each kind by its name: of any tree, or of none, and for any partition."""
    kinds = sorted(AUTHORS[author].says, key=_name_of)
    to_all = (f"kuelog.facts.{tree}.{_name_of(kind)}" for kind in kinds)
    to_one = (f"kuelog.facts.to.*.{_name_of(kind)}" for kind in kinds if kind in ROUTED)
    return *to_all, *to_one


def _name_of(kind: type) -> str:
    return kind.__name__


def _leases(*works: str, of: tuple[str, ...]) -> tuple[str, ...]:
    """The leases on pieces of work in each of these partitions."""
    return tuple(f"{partition}.{work}" for partition in of for work in works)


def user_in(service: str, number: str) -> str:
    """The user of a service in one partition of trees, by its number: in the first it is called as the service is."""
    return service if number == "0" else f"{service}-{number}"


def _in_partition(partition: str) -> tuple[User, ...]:
    """The users of those who decide in one partition of trees, and of who writes what was decided there."""
    number = partition.rpartition("_")[2]
    deciding = (("queue-manager", (counters_of(partition),)), ("admitter", ()), ("preemptor", ()))
    return (
        *(
            User(
                name=user_in(name, number),
                publishes=(commit_subject(partition, name),),
                saves=(partition, *more),
                takes=_leases(name, of=(partition,)),
            )
            for name, more in deciding
        ),
        User(
            name=user_in("applier", number),
            # What it did is told to the partition in which the namespace is decided by now.
            publishes=_facts_of("applier", CLUSTER),
            takes=_leases("applier", of=(partition,)),
        ),
    )


def users_of(streams: LogStreams) -> tuple[User, ...]:
    """Those of a log with these streams.

    The services; `reader` for everybody who asks, `operator` for adoption and quarantine, `streams` for the setup, which divides a log that
    is fresh, `archivist` for rolling, which may remove a stream and publishes facts again that strayed into one; `restorer` for restoring,
    which may do anything to the log.
    """
    dividing = (commit_subject(CONTROL, OPERATOR), fact_subject("", _name_of(PartitionMapObserved)))
    return (
        User(name="watcher", publishes=_facts_of("watcher"), saves=(WATCHER,), takes=("watcher",)),
        *(user for partition in streams.trees for user in _in_partition(partition)),
        User(
            name="accountant",
            publishes=tuple(commit_subject(one, "accountant") for one in streams.pools),
            saves=streams.pools,
            takes=_leases("accountant", of=streams.pools),
        ),
        # What stands in other clusters is told by who decides about them, in all partitions.
        User(
            name=MULTIKUEUE,
            publishes=(
                *(commit_subject(one, MULTIKUEUE) for one in streams.trees),
                *_facts_of("remote-clusters", CLUSTER),
            ),
            saves=streams.trees,
            takes=_leases(MULTIKUEUE, "remote-clusters", of=streams.trees),
        ),
        User(name="visibility"),
        User(name="verifier"),
        User(name="console"),
        User(name="reader"),
        User(name=OPERATOR, publishes=(*_facts_of("watcher"), commit_subject(CONTROL, OPERATOR))),
        User(
            name="streams",
            publishes=dividing if len(streams.trees) > 1 else (),
            creates=(*streams.witnessed, SHELF, LEASES),
        ),
        User(
            name="archivist",
            publishes=(*_facts_of("watcher"), *_facts_of("applier"), *_facts_of("remote-clusters")),
            rolls=streams.rolled,
        ),
        User(name="restorer", restores=streams.witnessed, saves=(*streams.partitions, WATCHER)),
    )


HUB_VARIABLE = "KUELOG_HUB"
"""The environment variable of a site's server that holds where the hub takes its leaf connections, user and password included."""
CERTIFICATES, HUB_AUTHORITY = "/etc/nats-certs", "/etc/nats-hub"
"""Where a server finds its certificates, in a folder for each kind of connections, and the authority of its hub."""
_CLUSTER = "kuelog"


class BusLinks(msgspec.Struct, frozen=True, kw_only=True):
    """With whom a bus is linked, and what is in TLS."""

    sites: tuple[str, ...] = ()
    """The sites whose hub it is."""
    join_as: str = ""
    """The site that it is the bus of; none when empty."""
    certificate: str = ""
    """The Secret with the certificate of its servers, under `tls.crt`, `tls.key` and `ca.crt`; all connections are in plain text when empty."""
    hub_authority: bool = False
    """Whether the Secret that says where the hub is holds the authority of its certificate as well, under `ca.crt`."""

    @property
    def cluster(self) -> str:
        """What its servers call their cluster. A server takes no leaf connection from a cluster that is called as its own is."""
        return f"{_CLUSTER}-{self.join_as}" if self.join_as else _CLUSTER

    def check(self) -> None:
        """Raise `SiteRefused` for what can't be."""
        if self.sites and self.join_as:
            raise SiteRefused(
                f"site {self.join_as}: a hub is no site of another one: name sites or what this one is called"
            )
        if self.hub_authority and not self.join_as:
            raise SiteRefused("the authority of a hub is for a site: say what this one is called there")
        for one in [name for name in self.sites if self.sites.count(name) > 1]:
            raise SiteRefused(f"site {one} is named twice: give each site a name of its own")
        for one in (*self.sites, *([self.join_as] if self.join_as else [])):
            check_site(one)


ALONE = BusLinks()


def joined_configuration(links: BusLinks) -> JsonObject:
    """What a hub's configuration says of its sites, or a site's of its hub, besides who may do what on its own log. Raises `SiteRefused`."""
    links.check()
    if links.sites:
        return {"jetstream": {"domain": HUB}, **hub_side(links.sites)}
    if links.join_as:
        authority = f"{HUB_AUTHORITY}/ca.crt" if links.hub_authority else ""
        joining = Joining(site=links.join_as, hubs=(f"<< ${HUB_VARIABLE} >>",), authority=authority)
        return {"jetstream": {"domain": links.join_as}, **site_side(joining, ACCOUNT)}
    return {}


def certificate_files(connections: str) -> JsonObject:
    """The certificate that a server shows on one kind of connections."""
    return {"cert_file": f"{CERTIFICATES}/{connections}/tls.crt", "key_file": f"{CERTIFICATES}/{connections}/tls.key"}


def peers_prove_themselves() -> JsonObject:
    """Servers of one cluster have no users: who shows no certificate of their authority is none of them."""
    return {"ca_file": f"{CERTIFICATES}/cluster/ca.crt", "verify": True}


def server_configuration(streams: LogStreams = SOLE) -> JsonObject:
    """The part of the server's configuration that says who may do what, as the chart of NATS takes it."""
    users = [
        {"user": one.name, "password": f"<< ${one.variable} >>", "permissions": one.permissions(streams)}
        for one in users_of(streams)
    ]
    return {"accounts": {ACCOUNT: {"jetstream": "enabled", "users": users}}, "max_payload": "<< 8MB >>"}


def configuration_text(configuration: JsonObject) -> str:
    """The text of a server's configuration; what stands in `<< >>` is written without quotes, as NATS's chart does."""
    text = json.dumps(configuration, indent=2)
    return re.sub(r'"<< (.*?) >>"', r"\1", text)


def server_file(namespace: str, streams: LogStreams = SOLE, links: BusLinks = ALONE, room: str = "") -> str:
    """The whole configuration of one of three servers, for those who don't take NATS's chart; `room` is what it may set aside for streams. Raises `SiteRefused`."""
    scheme = "tls" if links.certificate else "nats"
    peers = [f"{scheme}://kuelog-nats-{i}.kuelog-nats-headless.{namespace}.svc.cluster.local:6222" for i in range(3)]
    whole: JsonObject = {
        "server_name": "<< $POD_NAME >>",
        "port": 4222,
        "http_port": 8222,
        "lame_duck_duration": "30s",
        "jetstream": {
            "store_dir": "/data",
            "sync_interval": "always",
            **({"max_file_store": f"<< {room} >>"} if room else {}),
        },
        "cluster": {"name": links.cluster, "port": 6222, "routes": peers, "no_advertise": True},
        **server_configuration(streams),
    }
    joined = joined_configuration(links)
    whole["jetstream"] |= joined.get("jetstream", {})
    whole["accounts"] |= joined.get("accounts", {})
    whole |= {name: part for name, part in joined.items() if name == "leafnodes"}
    if links.certificate:
        whole["tls"] = certificate_files("nats")
        whole["cluster"]["tls"] = certificate_files("cluster") | peers_prove_themselves()
        if links.sites:
            whole["leafnodes"]["tls"] = certificate_files("leafnodes")
    return configuration_text(whole)


def _reading(stream: str) -> tuple[str, ...]:
    return tuple(
        subject
        for name in names_of(stream)
        for subject in (
            f"$JS.API.STREAM.INFO.{name}",
            f"$JS.API.STREAM.MSG.GET.{name}",
            f"$JS.API.CONSUMER.CREATE.{name}",
            f"$JS.API.CONSUMER.CREATE.{name}.>",
            f"$JS.API.CONSUMER.MSG.NEXT.{name}.*",
        )
    )


__all__ = [
    "ACCOUNT",
    "ALONE",
    "CERTIFICATES",
    "HUB_AUTHORITY",
    "HUB_VARIABLE",
    "BusLinks",
    "User",
    "certificate_files",
    "configuration_text",
    "joined_configuration",
    "peers_prove_themselves",
    "server_configuration",
    "server_file",
    "user_in",
    "users_of",
]
