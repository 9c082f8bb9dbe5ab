"""Hashes what came of a call, with what changes without meaning anything masked: labelled times, pids and the like."""

import msgspec
from msgspec.structs import replace

from stoic.core.canonical import canonical
from stoic.core.loops.denials import denial
from stoic.core.loops.hashes import digest
from stoic.core.loops.noise_fields import field_noise, is_timing
from stoic.core.loops.noise_texts import mask_text
from stoic.core.loops.noises import DURATIONS
from stoic.core.loops.observation import Identity, Nature, Outcome
from stoic.core.loops.shapes import is_array, is_object
from stoic.records import Json

_DEPTH = 50


def outcome(result: Json, identity: Identity, *, failed: bool) -> Outcome:
    """Hash a raw result, before the host decorates it.

    Args:
        result: What the tool returned: text or any JSON value.
        identity: The call's identity; its nature decides whether an id in the result is news.
        failed: Whether the tool reported an error.
    """
    seen = _Mask(identity.nature, failed=failed)
    text = canonical(seen.value(result, _DEPTH))
    masked = digest(f"{failed}\n{text}")
    return Outcome(
        masked=masked,
        pair=digest(f"{identity.key}{masked}"),
        raw=digest(result if isinstance(result, str) else repr(result), 4) if seen.noise else "",
        noise=seen.noise,
        failed=failed,
        denial=denial(text) if failed else "",
        silent=not failed and text in {'""', "null", "[]", "{}"},
    )


class _Mask:
    """Masks one result and remembers which kinds of noise it held."""

    def __init__(self, kind: Nature, *, failed: bool) -> None:
        self.noise = 0
        self._kind = replace(kind, traced=False) if failed else kind
        self._failed = failed

    def value(self, value: Json, depth: int) -> Json:
        if isinstance(value, str):
            return self._parsed(value, depth)
        if depth == 0:
            return value
        if is_object(value):
            return {key: self._member(key, member, depth - 1) for key, member in value.items()}
        if is_array(value):
            return [self.value(item, depth - 1) for item in value]
        return value

    def _member(self, key: str, value: Json, depth: int) -> Json:
        noise = field_noise(key, value, self._kind)
        if noise:
            self.noise |= noise
            return "?"
        if is_object(value) and is_timing(key):
            self.noise |= DURATIONS
            return sorted(value)
        return self.value(value, depth)

    def _parsed(self, text: str, depth: int) -> Json:
        """Mask JSON written as text by its fields, any other text by its words."""
        if depth > 0 and text[:1] in {"{", "["}:
            try:
                return self.value(msgspec.json.decode(text), depth - 1)
            except (msgspec.DecodeError, RecursionError, UnicodeError):
                return self._text(text)
        return self._text(text)

    def _text(self, text: str) -> str:
        masked, noise = mask_text(text, self._kind, failed=self._failed)
        self.noise |= noise
        return masked
