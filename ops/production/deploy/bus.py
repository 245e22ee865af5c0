"""Who may say what on the bus: a user for each service, which may publish its own subjects and read every stream."""

import json
import re

import msgspec

from events.authors import AUTHORS
from events.json_object import JsonObject
from events.routing import ROUTED
from events.subjects import CLUSTER, CONTROL, commit_subject
from ops.production.log.control import OPERATOR
from ops.production.log.jetstream.bus import subjects_of
from ops.production.log.jetstream.generations import mark_subject, names_of, room_name
from ops.production.log.jetstream.leases import EVERY_REPLICA, lease_subject
from ops.production.log.jetstream.leases import STREAM as LEASES
from ops.production.log.jetstream.shelf import COUNTERS, WATCHER, rooms_of
from ops.production.log.jetstream.shelf import STREAM as SHELF
from ops.production.log.streams import SOLE
from ops.production.served import MULTIKUEUE

STREAMS = SOLE.witnessed
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

    def permissions(self) -> JsonObject:
        """What the server lets the user do."""
        allowed = [*self.publishes, *(subject for stream in STREAMS for subject in _reading(stream))]
        allowed += [f"$JS.API.STREAM.INFO.{SHELF}", f"$JS.API.STREAM.MSG.GET.{SHELF}"]
        allowed += [f"$JS.API.STREAM.CREATE.{stream}" for stream in self.creates]
        allowed += [subject for key in self.saves for subject in rooms_of(key)]
        if self.takes:
            allowed += [f"$JS.API.STREAM.INFO.{LEASES}", f"$JS.API.STREAM.MSG.GET.{LEASES}"]
            allowed += [EVERY_REPLICA, *(lease_subject(name) for name in self.takes)]
        for stream in self.rolls:
            verbs = [
                f"$JS.API.STREAM.{verb}.{name}" for verb in ("UPDATE", "CREATE", "DELETE") for name in names_of(stream)
            ]
            allowed += [mark_subject(stream), *verbs]
            allowed += [f"$JS.API.STREAM.{verb}.{room_name(stream)}" for verb in ("CREATE", "DELETE")]
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


def _leases(*works: str, of: tuple[str, ...] = SOLE.trees) -> tuple[str, ...]:
    """The leases on pieces of work in each of these partitions."""
    return tuple(f"{partition}.{work}" for partition in of for work in works)


USERS = (
    User(name="watcher", publishes=_facts_of("watcher"), saves=(WATCHER,), takes=("watcher",)),
    *(
        User(
            name=name,
            publishes=tuple(commit_subject(one, name) for one in SOLE.trees),
            saves=(*SOLE.trees, *more),
            takes=_leases(name),
        )
        for name, more in (("queue-manager", (COUNTERS,)), ("admitter", ()), ("preemptor", ()))
    ),
    User(
        name="accountant",
        publishes=tuple(commit_subject(one, "accountant") for one in SOLE.pools),
        saves=SOLE.pools,
        takes=_leases("accountant", of=SOLE.pools),
    ),
    User(name="applier", publishes=_facts_of("applier", CLUSTER), takes=_leases("applier")),
    # What stands in other clusters is told by who decides about them.
    User(
        name=MULTIKUEUE,
        publishes=(*(commit_subject(one, MULTIKUEUE) for one in SOLE.trees), *_facts_of("remote-clusters", CLUSTER)),
        saves=SOLE.trees,
        takes=_leases(MULTIKUEUE, "remote-clusters"),
    ),
    User(name="visibility"),
    User(name="verifier"),
    User(name="console"),
    User(name="reader"),
    User(name=OPERATOR, publishes=(*_facts_of("watcher"), commit_subject(CONTROL, OPERATOR))),
    User(name="streams", creates=(*STREAMS, SHELF, LEASES)),
    User(
        name="archivist",
        publishes=(*_facts_of("watcher"), *_facts_of("applier"), *_facts_of("remote-clusters")),
        rolls=SOLE.rolled,
    ),
    User(name="restorer", restores=STREAMS, saves=(*SOLE.partitions, WATCHER)),
)
"""The services; `reader` for everybody who asks, `operator` for adoption and quarantine, `streams` for the setup, `archivist` for rolling,
which may remove a stream and publishes facts again that strayed into one; `restorer` for restoring, which may do anything to the log.
"""


def server_configuration() -> JsonObject:
    """The part of the server's configuration that says who may do what, as the chart of NATS takes it."""
    users = [
        {"user": one.name, "password": f"<< ${one.variable} >>", "permissions": one.permissions()} for one in USERS
    ]
    return {"accounts": {ACCOUNT: {"jetstream": "enabled", "users": users}}, "max_payload": "<< 8MB >>"}


def configuration_text(configuration: JsonObject) -> str:
    """The text of a server's configuration; what stands in `<< >>` is written without quotes, as NATS's chart does."""
    text = json.dumps(configuration, indent=2)
    return re.sub(r'"<< (.*?) >>"', r"\1", text)


def server_file(namespace: str) -> str:
    """The whole configuration of one of three servers, for those who don't take NATS's chart."""
    peers = [f"nats://kuelog-nats-{i}.kuelog-nats-headless.{namespace}.svc.cluster.local:6222" for i in range(3)]
    whole: JsonObject = {
        "server_name": "<< $POD_NAME >>",
        "port": 4222,
        "http_port": 8222,
        "lame_duck_duration": "30s",
        "jetstream": {"store_dir": "/data", "sync_interval": "always"},
        "cluster": {"name": "kuelog", "port": 6222, "routes": peers, "no_advertise": True},
        **server_configuration(),
    }
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
    "STREAMS",
    "USERS",
    "User",
    "configuration_text",
    "server_configuration",
    "server_file",
]
