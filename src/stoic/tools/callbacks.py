"""The functions that a user gives, sync or async alike: whether they can be called as they will be, and calling them."""

import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

T = TypeVar("T")


def misfit(function: Callable[..., Any], /, *arguments: Any, **named: Any) -> str | None:
    """Say why a function cannot be called with such arguments; None: it can be."""
    try:
        inspect.signature(function).bind(*arguments, **named)
    except (TypeError, ValueError) as error:  # the latter: a builtin that tells nobody what it takes
        return str(error)
    return None


def is_async(function: Callable[..., Any]) -> bool:
    """Tell whether calling it gives something to wait for, as far as can be seen without calling it."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004 - the method itself is wanted


async def call(function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Any:
    """Return what a function returns; a sync one runs in a thread."""
    return await call_to_end(function, arguments, named, lambda value: value)


async def call_to_end(
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    named: dict[str, Any],
    end: Callable[[Any], T],
    during: AbstractContextManager[None] | None = None,
) -> T:
    """Return what `end` makes of the value that a function returns, made where the function ran and right after it.

    `during` is open while a sync function runs, which no cancel of this call shortens.
    """
    if inspect.iscoroutinefunction(function):
        return end(await function(*arguments, **named))

    def run() -> tuple[T] | Any:
        with during or nullcontext():
            value = function(*arguments, **named)
        return value if inspect.isawaitable(value) else (end(value),)

    import asyncio  # noqa: PLC0415 -- whoever declares an agent does not need it

    value = await asyncio.to_thread(run)
    return end(await value) if inspect.isawaitable(value) else value[0]
