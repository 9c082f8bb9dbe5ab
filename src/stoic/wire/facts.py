"""Exceptions of a transport as data."""

from collections.abc import Iterator

from stoic.records import ExceptionFact, Json

_CHAIN_LIMIT = 8


def exception_fact(
    error: BaseException, *, after_first_byte: bool, fields: dict[str, Json] | None = None
) -> ExceptionFact:
    """Turn an exception into a record.

    Args:
        error: What was raised.
        after_first_byte: Whether bytes of the answer had arrived.
        fields: What else is known, such as `{"reused_connection": True}`.
    """
    causes = [f"{qualified_name(cause)}: {cause}".removesuffix(": ") for cause in _causes(error)]
    return ExceptionFact(
        type=qualified_name(error),
        message=str(error),
        cause=causes,
        after_first_byte=after_first_byte,
        fields=fields or {},
    )


def qualified_name(error: BaseException) -> str:
    """Return the public name of an exception's type: `h11.RemoteProtocolError`, but `TimeoutError` without `builtins`."""
    kind = type(error)
    if kind.__module__ == "builtins":
        return kind.__qualname__
    public = [part for part in kind.__module__.split(".") if not part.startswith("_")]
    return ".".join([*public, kind.__qualname__])


def _causes(error: BaseException) -> Iterator[BaseException]:
    current = error
    for _ in range(_CHAIN_LIMIT):
        following = current.__cause__ or (None if current.__suppress_context__ else current.__context__)
        if following is None:
            return
        yield following
        current = following
