"""Tells whether an error says that the tool may not do this at all, whatever the arguments."""

from stoic.core.loops.words import pattern

_ACCOUNT = (
    r"unauthori[sz]ed|unauthenticated|(?:^\W{0,3}|\b(?:http|status|code|error)\W{0,4})401\b|bad credentials|"
    r"authentication (?:failed|required)|not logged in|login required|"
    r"invalid (?:api[ -]?key|token|credentials)|(?:token|session|credentials?) (?:has |have )?expired|"
    r"quota|insufficient (?:funds|credits?|balance)|payment required|billing|(?:monthly|daily|usage|plan) limit|"
    r"account (?:is |was |has been )?(?:suspended|disabled)"
)
_DENIED = (
    r"(?:permission|access) (?:was |is )?denied|\baccess_?denied|\bforbidden\b|not authori[sz]ed|"
    r"(?:^\W{0,3}|\b(?:http|status|code|error)\W{0,4})403\b|"
    r"(?:access|actions?|commands?|domain|host|operation|path|request|tool|url)\b[^.\n]{0,60}? not (?:allowed|permitted)|"
    r"not (?:allowed|permitted) (?:to|for|by|in|from)\b|insufficient (?:permissions?|privileges?|(?:authentication )?scopes?)|"
    r"outside (?:of )?the (?:sandbox|workspace|(?:allowed|permitted) (?:director|folder|path))|\bdenied\b"
)
_WORDS = (
    *(
        "auth",
        "401",
        "403",
        "credential",
        "logged in",
        "login",
        "invalid ",
        "expired",
        "quota",
        "insufficient",
        "payment",
    ),
    *("billing", " limit", "account", "denied", "forbidden", " not ", "outside"),
)
"""One of these is in every denial: a cheap look before the exact ones."""
_CHARACTERS = 2000


def denial(text: str) -> str:
    """Tell what kind of denial an error is: `account` (credential or quota), `denied`, or empty.

    Args:
        text: The error; only its first 2,000 characters are read.
    """
    start = text[:_CHARACTERS].lower()
    if not any(word in start for word in _WORDS):
        return ""
    if pattern(_ACCOUNT).search(start):
        return "account"
    return "denied" if pattern(_DENIED).search(start) else ""
