"""Whether every server of a bus holds all of a stream: only then another one may go, as the probe of a pod holds it."""

from nats.aio.client import Client

from ops.production.log.jetstream.generations import asked
from services.runtime.log_errors import LogUnavailable


async def is_held_by_all(client: Client, stream: str, servers: int) -> bool:
    """Asked of its leader: whether so many servers are there that hold what it holds; not while nobody leads."""
    try:
        answer = await asked(client, f"STREAM.INFO.{stream}", {})
    except LogUnavailable:
        return False
    others = (answer.get("cluster") or {}).get("replicas") or ()
    return len(others) == servers - 1 and all(one["current"] and not one.get("offline") for one in others)
