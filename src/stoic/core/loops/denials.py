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
_ACCOUNT_WORDS = (
    *("auth", "401", "credential", "logged in", "login", "invalid ", "expired", "quota", "insufficient", "payment"),
    *("billing", " limit", "account"),
)
"""One of these is in all that concerns an account: a cheap look before the exact one."""
_WORDS = (*_ACCOUNT_WORDS, "403", "denied", "forbidden", " not ", "outside")
"""One of these is in every denial."""
_CHARACTERS = 2000


def denial(text: str) -> str:
    """Tell what kind of denial an error is: `account` (credential or quota), `denied`, or empty.

    Args:
        text: The error; only its first 2,000 characters are read.
    """
    start = text[:_CHARACTERS].lower()
    found = set(filter(start.__contains__, _WORDS))
    if not found.isdisjoint(_ACCOUNT_WORDS) and pattern(_ACCOUNT).search(start):
        return "account"
    return "denied" if found and pattern(_DENIED).search(start) else ""
