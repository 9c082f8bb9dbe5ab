"""The base of all records; apart from them, since loading them all takes longer than most imports of the library may."""

import msgspec


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Base of every record: immutable, keyword-only, serialisable as JSON by msgspec."""
