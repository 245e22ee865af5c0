"""Budgets that a seed gives to the namespaces of a divided platform: small enough to be used up, and made larger when most has been done."""

import random

from events.event import Millis
from ops.sandbox.simulate.namespaces import NAMES
from ops.sandbox.simulate.platform import SeedPlatform, kueue_object
from ops.sandbox.simulate.users import GPU, UserAction
from projections.budgets.rates import CONTROLLER

CHECK = "budget"
_AMPLE = 1000
"""Hours that no history uses."""


def with_budgets(platform: SeedPlatform, seed: int, span: Millis) -> None:
    """By every second seed, have each queue of a platform go by budgets, and give each of its namespaces one for a while."""
    chance = random.Random(f"{seed}/budgets")  # noqa: S311 - a world, not a secret
    if chance.random() < 0.5:  # noqa: PLR2004
        return
    platform.objects.insert(0, kueue_object("AdmissionCheck", CHECK, {"controllerName": CONTROLLER}))
    for value in platform.objects:
        if value["kind"] == "ClusterQueue":
            rules = value["spec"].setdefault("admissionChecksStrategy", {}).setdefault("admissionChecks", [])
            rules.append({"name": CHECK})
    resource = GPU if platform.cards else "cpu"
    for namespace in NAMES:
        hours = chance.choice(("0.002", "0.005", "0.02"))
        platform.actions += [
            UserAction(at=at, verb="budget", job=namespace, value=f"{resource}={amount}h per month")
            for at, amount in ((0, hours), (span * 2 // 3, _AMPLE))
        ]
    platform.actions.sort(key=lambda one: one.at)
