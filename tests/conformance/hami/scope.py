"""Recorded HAMi cases that kuelog leaves out, and why."""

from typing import Any

OTHER_VENDORS = {
    "awsneuron": "AWS Neuron cards are not supported: NVIDIA, Ascend, AMD, Hygon and Cambricon are",
    "biren": "Biren cards are not supported: NVIDIA, Ascend, AMD, Hygon and Cambricon are",
    "enflame": "Enflame cards are not supported: NVIDIA, Ascend, AMD, Hygon and Cambricon are",
    "iluvatar": "Iluvatar cards are not supported: NVIDIA, Ascend, AMD, Hygon and Cambricon are",
    "kunlun": "Kunlun cards are not supported: NVIDIA, Ascend, AMD, Hygon and Cambricon are",
    "metax": "Metax cards are not supported: NVIDIA, Ascend, AMD, Hygon and Cambricon are",
    "mthreads": "Mthreads cards are not supported: NVIDIA, Ascend, AMD, Hygon and Cambricon are",
    "vastai": "Vastai cards are not supported: NVIDIA, Ascend, AMD, Hygon and Cambricon are",
}
"""By the vendor that a case names."""


def why_not(kind: str, case: dict[str, Any]) -> str | None:
    """Why a case is out of scope, or None."""
    del kind
    given = case["in"]
    return OTHER_VENDORS.get(given.get("vendor", "")) if isinstance(given, dict) else None
