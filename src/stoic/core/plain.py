"""The plainest form of a view: for a provider that does not take the usual one (SPEC §6); no row changes by it."""

from collections.abc import Sequence

from msgspec.structs import replace

from stoic.records import AssistantMessage, Message, ToolMessage, UserMessage

NO_REPLY = "(no reply)"
"""Stands for a reply where results are followed by an input, which some providers refuse."""
CONTINUE = "(continue)"
"""Stands for an input where a reply follows nothing, or nothing but another reply."""


def plain(messages: Sequence[Message]) -> list[Message]:
    """Return messages that any provider takes.

    Thinking, signatures and whatever else only a message's maker reads are left out, and roles alternate strictly. What
    stands between two replies is rebuilt without a look beyond them, so a longer view begins as a shorter one did.

    Args:
        messages: from the log's start, or from a reply on, up to the next reply or the end
    """
    found: list[Message] = []
    for message in messages:
        before = found[-1] if found else None
        if isinstance(message, AssistantMessage):
            if isinstance(before, AssistantMessage):
                found.append(UserMessage(text=CONTINUE))
            found.append(_bare(message))
        elif isinstance(message, UserMessage) and isinstance(before, UserMessage):
            found[-1] = _joined(before, message)
        else:
            if isinstance(message, UserMessage) and isinstance(before, ToolMessage):
                found.append(AssistantMessage(text=NO_REPLY))
            found.append(message)
    if not found or isinstance(found[-1], AssistantMessage):
        found.append(UserMessage(text=CONTINUE))
    return found


def _bare(reply: AssistantMessage) -> AssistantMessage:
    return AssistantMessage(text=reply.text, calls=[replace(call, signature=None) for call in reply.calls])


def _joined(first: UserMessage, second: UserMessage) -> UserMessage:
    text = "\n\n".join(text for text in (first.text, second.text) if text)
    return UserMessage(text=text, images=[*first.images, *second.images])
