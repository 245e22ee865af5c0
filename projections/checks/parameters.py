"""Whether the parameters of an admission check lead to the object that its controller goes by."""

from collections.abc import Container

from projections.configuration import Configuration

CONFIG_GROUP = "kueue.x-k8s.io"


def parameters_problem(world: Configuration, check: str, kind: str, known: Container[str]) -> str:
    """What is wrong with the parameters of a check, which should name one of the `known` objects of a kind; empty when nothing is."""
    parameters = world.checks[check].parameters
    if parameters is None:
        return "missing parameters reference"
    if not parameters.name:
        return "empty name: bad parameters reference"
    if parameters.group != CONFIG_GROUP:
        return f'wrong group "{parameters.group}", expecting "{CONFIG_GROUP}": bad parameters reference'
    if parameters.kind != kind:
        return f'wrong kind "{parameters.kind}", expecting "{kind}": bad parameters reference'
    if parameters.name in known:
        return ""
    name = f'{kind}.{CONFIG_GROUP} "{parameters.name}"'
    refused = world.refused.get(f"{kind}//{parameters.name}")
    if refused is None:
        return f"{name} not found"
    return f"{name} can't be read: " + "; ".join(f"{one.field}: {one.message}" for one in refused.problems)
