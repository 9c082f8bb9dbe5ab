"""Tells from an answer whose server wrote it, where the provider's name only says that it speaks Chat Completions.

Structure names a provider: a header of its own, the shape of its error, a code that nobody else uses. The texts of a
provider so named are then known ones; a text by itself names nobody, but for a few fixed sentences that are documented as
the whole message where a code would stand.

Sources: the error references that the tables of `families` name; for headers, the answers of those services.
"""

import re
from functools import cache

from stoic.core.classify import providers, shared_codes
from stoic.core.classify.fields import fold, mapping, text
from stoic.core.classify.rules import ErrorObject
from stoic.records import Json

_HEADERS: tuple[tuple[str, str], ...] = (
    ("x-litellm-version", "litellm"),
    ("x-litellm-call-id", "litellm"),
    ("x-oneapi-request-id", "newapi"),
    ("x-groq-region", "groq"),
    ("x-ds-trace-id", "deepseek"),
    ("msh-request-id", "moonshot"),
    ("mistral-correlation-id", "mistral"),
    ("apim-request-id", "azure"),
)
_SENTENCES: dict[str, str] = {
    "content exists risk": "deepseek",
    "the request was rejected because it was considered high risk": "moonshot",
    "allocated quota exceeded, please increase your quota limit.": "dashscope",
}
"""By whole message in lower case."""
_KINDS = {"new_api_error": "newapi", "one_api_error": "newapi", "credit_limit": "together"}
"""By an error's type; Together's word is a quota everywhere, but there it is the cap one has set oneself."""
_OPENROUTER_KEYS = frozenset({"provider_name", "limit_source", "flagged_input", "guardrail"})
_MODELSTUDIO = re.compile(r"<\d{3}> ")
_MINIMAX = re.compile(r"\b(?:input|output) new_sensitive \(\d{4}\)$")
_CAMEL_CASE_ERROR = re.compile(r"(?:[A-Z][a-z]+)+Error")
_OWNERS = (
    "cerebras dashscope deepseek fireworks github groq huggingface hunyuan litellm llamacpp lmstudio minimax mistral "
    "moonshot newapi ollama openrouter perplexity sglang together vllm volcengine xai zhipu baidu azure"
)
"""The tables whose codes can name them; each speaks Chat Completions."""


def named_by(error: ErrorObject, headers: dict[str, str]) -> str | None:
    """Return the name of the table that an answer belongs to, or None if nothing shows it.

    Args:
        error: An error of the answer.
        headers: Its headers, names in lower case.
    """
    for header, table in _HEADERS:
        if header in headers:
            return table
    return _by_place(error) or _by_shape(error.data) or _by_code(error) or _by_message(error.message)


def _by_place(error: ErrorObject) -> str | None:
    if error.path.endswith(".base_resp"):
        return "minimax"
    return "spark" if error.path.endswith(".header") else None


def _by_shape(data: dict[str, Json]) -> str | None:
    """Return whose way it is to write an error with these keys and kinds of values."""
    code, kind = data.get("code"), data.get("type")
    if data.get("object") == "error":
        return "vllm" if isinstance(code, int) else "mistral" if text(code).isdigit() else None
    if isinstance(data.get("error"), str):
        return "xai" if " " in text(code) else None  # xAI's codes are sentences
    metadata = mapping(data.get("metadata"))
    if not metadata.keys().isdisjoint(_OPENROUTER_KEYS):
        return "openrouter"
    if isinstance(code, int):
        return _by_number(data, kind)
    return _by_digits(text(code), text(kind), typed="type" in data)


def _by_number(data: dict[str, Json], kind: Json) -> str | None:
    """Tell apart those whose code is a number: vLLM names a class beside it, OpenRouter nothing at all."""
    if _CAMEL_CASE_ERROR.fullmatch(text(kind)):
        return "vllm"
    if "sid" in data:
        return "spark"
    return None if "type" in data or "status" in data else "openrouter"


def _by_digits(code: str, kind: str, *, typed: bool) -> str | None:
    """Tell apart those whose code is a text: digits, or the type once more."""
    if kind in _KINDS:
        return _KINDS[kind]
    if code == kind == "invalid_request_error":
        return "deepseek"
    if not code.isdigit():
        return None
    if len(code) == 3:  # noqa: PLR2004 -- an HTTP status as text
        return "litellm" if typed else "azure"
    return "zhipu" if not typed else None


def _by_code(error: ErrorObject) -> str | None:
    dotted = None
    for _, value in error.codes:
        code = fold(value)
        if code in shared_codes.CODES or code in shared_codes.VAGUE or code.isdigit():
            continue  # everybody's; and a number means something else at each provider
        owners = _owners()
        if code in owners:
            return owners[code]
        if _is_volcengines(code):
            dotted = "volcengine"
    return dotted


def _is_volcengines(code: str) -> bool:
    """Return whether a code is one of Volcengine's, whose last words are many: `SensitiveContentDetected.Violence`."""
    return "sensitivecontentdetected" in code or code.endswith("riskdetection")


@cache
def _owners() -> dict[str, str]:
    """Return the table of each code that only one table knows; loading them all is for the answer that needs it."""
    found: dict[str, str | None] = {}
    for table in _OWNERS.split():
        for code in providers.family(table).codes:
            found[code] = None if code in found else table
    return {code: table for code, table in found.items() if table is not None}


def _by_message(message: str) -> str | None:
    if message.startswith("litellm."):
        return "litellm"
    if _MODELSTUDIO.match(message):
        return "dashscope"
    if message[-1:] == ")" and _MINIMAX.search(message):
        return "minimax"
    return _SENTENCES.get(message[:100].lower())  # longer than any of them
