"""How a container of ours reaches the bus: as which user, by which password, and whom it believes to be the bus in TLS."""

from events.json_object import JsonObject
from ops.production.deploy.chart_values import ChartValues
from ops.production.log.jetstream.encryption import AUTHORITY

USERS_SECRET = "kuelog-nats-users"
AUTHORITY_MOUNT: JsonObject = {"name": "bus-authority", "mountPath": "/etc/kuelog-bus", "readOnly": True}


def put_on_bus(values: ChartValues, container: JsonObject, user: str) -> None:
    """Tell a container where the bus is and how one of its users speaks with it, and whom it believes to be the bus in TLS."""
    bus = f"{values.text('bus.scheme')}://{user}:$(KUELOG_PASSWORD)@{values.text('bus.address')}"
    container["env"] = [
        {"name": "KUELOG_PASSWORD", "valueFrom": {"secretKeyRef": {"name": USERS_SECRET, "key": user}}},
        {"name": "KUELOG_NATS", "value": bus},
        {"name": AUTHORITY, "value": f"{AUTHORITY_MOUNT['mountPath']}/ca.crt"},
    ]
    container["volumeMounts"].append(AUTHORITY_MOUNT)


def bus_authority(values: ChartValues) -> JsonObject:
    """The authority of the bus, without the key that lies beside it. In plain text there is none."""
    secret: JsonObject = {
        "secretName": values.text("bus.certificate"),
        "items": [{"key": "ca.crt", "path": "ca.crt"}],
        "optional": True,
    }
    return {"name": AUTHORITY_MOUNT["name"], "secret": secret}


__all__ = ["AUTHORITY_MOUNT", "USERS_SECRET", "bus_authority", "put_on_bus"]
