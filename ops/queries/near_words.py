"""The domains that come nearest to holding a workload's pods, in words: what the command line and the console show of them."""

from events.json_object import JsonObject
from events.quantity import from_units


def heading(plain: JsonObject) -> str:
    """Which pods find no place, and where it was looked for, of the plain values of an explanation's domains."""
    pods = f"{plain['count']} pod(s) of {' and '.join(plain['pod_sets'])}"
    return f"topology {plain['topology']}, flavor {plain['flavor']}: {pods}, by {plain['asked']}"


def near_rows(plain: JsonObject) -> list[JsonObject]:
    """A row for each level, the widest first: the domain, how many pods it takes, and what it lacks, a sentence each."""
    return [
        {
            "level": one["level"],
            "domain": "/".join(one["values"]),
            "verdict": _verdict(one, plain["count"]),
            "lacks": _lacks(one),
        }
        for one in plain["domains"]
    ]


def _verdict(domain: JsonObject, count: int) -> str:
    if domain["pods"] >= count and domain["leader"]:
        return "all fit"
    leader = "" if domain["leader"] else ", and not their leader"
    return f"{domain['pods']} of {count} pod(s) fit{leader}"


def _lacks(domain: JsonObject) -> list[str]:
    found = [
        f"{one['resource']}: enough for {one['pods']}, {from_units(one['resource'], one['missing'])} missing; "
        f"{from_units(one['resource'], one['free'])} free in all"
        for one in domain["short"]
    ]
    cards = domain["cards"]
    if cards is not None:
        memory = f" of {cards['memory']} MiB together" if cards["memory"] else ""
        found.append(
            f"{cards['resource']}: enough for {cards['pods']}, {cards['cards']} slice(s){memory} missing; "
            f"a pod asks for {cards['asked']}"
        )
        found += [_free_of(model) for model in cards["models"]] or ["no card of that kind is there"]
    return found + [f"{reason} rules out {leaves} of its leaves" for reason, leaves in domain["ruled_out"].items()]


def _free_of(model: JsonObject) -> str:
    free = model["free"]
    return (
        f"{model['model']}: {free['cards']} of {model['registered']['cards']} card(s) idle, {free['memory']} MiB free, "
        f"{model['largest_memory']} MiB and {model['largest_cores']} cores in one piece, {free['slots']} slice(s)"
    )
