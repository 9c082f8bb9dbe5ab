"""Withholds what a provider refused to read: the fixed texts in its place, the forms of a row, and the ladder (SPEC §9)."""

from stoic.core.quarantine.forms import (
    Change,
    RefusedBy,
    Renderers,
    Replacement,
    body_hash,
    is_external,
    is_withheld,
    withhold,
    withhold_images,
)
from stoic.core.quarantine.integrity import check_forms
from stoic.core.quarantine.ladder import STEPS, Withholding, next_step
from stoic.core.quarantine.texts import (
    NeutralEvent,
    Placeholder,
    WithheldImages,
    neutral_text,
    origin_of,
    placeholder_text,
    read_neutral,
    read_placeholder,
    read_without_images,
    without_images,
)

__all__ = [
    "STEPS",
    "Change",
    "NeutralEvent",
    "Placeholder",
    "RefusedBy",
    "Renderers",
    "Replacement",
    "WithheldImages",
    "Withholding",
    "body_hash",
    "check_forms",
    "is_external",
    "is_withheld",
    "neutral_text",
    "next_step",
    "origin_of",
    "placeholder_text",
    "read_neutral",
    "read_placeholder",
    "read_without_images",
    "withhold",
    "withhold_images",
    "without_images",
]
