"""Expressions about devices: compiled and evaluated as Kubernetes does."""

from typing import Any

import msgspec
import pytest

from events.api.claims import ApiDevice
from ops.production.device_selectors import DeviceSelectors
from services.watcher.claims.selectors import SelectorFailed

SELECTORS = DeviceSelectors()
DEVICE = {
    "name": "g0",
    "attributes": {
        "model": {"string": "A100"},
        "index": {"int": 3},
        "healthy": {"bool": True},
        "other.com/version": {"version": "1.10.3-rc.2"},
    },
    "capacity": {"memory": {"value": "40Gi"}, "other.com/cores": {"value": "1500m"}},
    "allowMultipleAllocations": True,
}
OWN, OTHER = "device.attributes['d']", "device.attributes['other.com'].version"
MEMORY, CORES = "device.capacity['d'].memory", "device.capacity['other.com'].cores"


def meets(expression: str, **changes: Any) -> bool:
    assert not SELECTORS.problem(expression)
    return SELECTORS.meets(expression, "d", msgspec.convert({**DEVICE, **changes}, ApiDevice))


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ("device.driver == 'd'", True),
        (f"{OWN}.model == 'A100' && {OWN}.index > 2 && {OWN}.healthy", True),
        (f"{OWN}.model.lowerAscii().startsWith('a1')", True),
        (f"{OWN}.model in ['V100', 'H100']", False),
        (f"{OWN}.model.matches('^[AH]100$')", True),
        ("has(device.attributes['nobody.com'].model)", False),
        ("'nobody.com' in device.attributes", False),
        ("'other.com' in device.attributes && device.attributes['other.com'].version.major() == 1", True),
        ("cel.bind(own, device.attributes['d'], own.index == 3 && own.healthy)", True),
        (f"{OWN}[?'nix'].orValue('') == ''", True),
        (f"{MEMORY} == quantity('40960Mi')", True),
        (f"{MEMORY}.compareTo(quantity('41Gi')) == -1", True),
        (f"{MEMORY}.isGreaterThan(quantity('39.9Gi')) && !{MEMORY}.isLessThan(quantity('40Gi'))", True),
        (f"{CORES}.add(quantity('500m')).asInteger() == 2 && {CORES}.sub(1).sign() == 1", True),
        (f"{CORES}.isInteger() || {CORES}.asApproximateFloat() < 1.4", False),
        (f"{OTHER}.isGreaterThan(semver('1.9.0')) && {OTHER}.isLessThan(semver('1.10.3'))", True),
        (f"{OTHER}.isGreaterThan(semver('1.10.3-rc.1')) && {OTHER}.isLessThan(semver('1.10.3-rc.10'))", True),
        (f"{OTHER}.minor() == 10 && {OTHER}.patch() == 3", True),
        ("semver('v01.2', true) == semver('1.2.0') && !isSemver('1.2') && isSemver('1.2', true)", True),
        ("isQuantity('1Gi') && !isQuantity('many')", True),
        ("device.allowMultipleAllocations", True),
    ],
)
def test_an_expression_means_what_it_means_in_kubernetes(expression: str, wanted: bool) -> None:  # noqa: FBT001
    assert meets(expression) is wanted


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("", "an expression is needed"),
        ("device.driver ==", "Syntax error"),
        ("device.drver == 'd'", "undeclared reference to 'device.drver'"),
        ("devices.driver == 'd'", "undeclared reference"),
        ("device.driver == 1", "no matching overload"),
        (f"{MEMORY} > 3", "no matching overload"),
        ("1 + 1", "must evaluate to bool or the unknown type, not int"),
        ("device.driver == '" + "x" * 10240 + "'", "longer than 10240 bytes"),
    ],
)
def test_what_can_not_be_compiled_says_why(expression: str, told: str) -> None:
    assert told in SELECTORS.problem(expression)
    with pytest.raises(SelectorFailed, match=r"\w"):
        SELECTORS.meets(expression, "d", msgspec.convert(DEVICE, ApiDevice))


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        (f"{OWN}.nix == 1", "Key not found"),
        ("device.attributes['nobody.com'].model == 'A100'", "Key not found"),
        (f"{OWN}.model", "A100"),
        (f"{MEMORY}.isGreaterThan(semver('1.0.0'))", "can't be compared"),
        ("quantity('many') == quantity('1')", "'many' is not a quantity"),
    ],
)
def test_what_fails_on_a_device_says_why(expression: str, told: str) -> None:
    with pytest.raises(SelectorFailed) as failed:
        meets(expression)
    assert told in str(failed.value)
