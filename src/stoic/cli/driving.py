"""Drives a thread from the command line: one message, or what was left open, until nothing more is to be done."""

from collections.abc import Awaitable, Callable, Sequence

from stoic.cli.telling import HeldEnding
from stoic.core.commands import Ending
from stoic.events import TasksAwaited
from stoic.records import ImagePart, Outcome, Parked
from stoic.runtime.streams import Emit
from stoic.runtime.threads import Thread
from stoic.wiring import Runtime

Ask = Callable[[Thread, Parked], Awaitable[bool]]
"""Answers a parked turn's questions; False: nobody answered, the turn stays parked."""


async def drive(
    runtime: Runtime,
    thread: Thread,
    prompt: str | None,
    emit: Emit,
    ask: Ask | None,
    *,
    images: Sequence[ImagePart] = (),
    follows_tasks: bool = False,
) -> Ending | None:
    """Run until the message is answered; without one, until the open turn and every unread message are.

    Args:
        runtime: the runtime of the thread
        thread: where
        prompt: the message, or None to go on with what there is
        emit: gets the events
        ask: answers questions; None: a question ends the drive as parked
        images: go with the message
        follows_tasks: whether to wait for the thread's tasks, and to answer what they bring

    Returns:
        How the last turn ended or what it waits for; None when there was nothing to do.
    """
    told = HeldEnding(emit)
    try:
        ending = await _drive(runtime, thread, prompt, told, ask, images)
        if follows_tasks:
            ending = await _follow_tasks(runtime, thread, ending, told)
        await told.tell_notices(runtime, thread.id)
    finally:
        told.release()
    return ending


async def _drive(
    runtime: Runtime, thread: Thread, prompt: str | None, emit: Emit, ask: Ask | None, images: Sequence[ImagePart]
) -> Ending | None:
    ending = await (thread.resume(emit) if prompt is None else thread.run(prompt, emit, images=images))
    if prompt is not None and isinstance(ending, Outcome):
        return ending
    while ending is not None and await _goes_on(runtime, thread, ending, ask):
        following = await thread.resume(emit)
        if following is None:
            break
        ending = following
    return ending


async def _goes_on(runtime: Runtime, thread: Thread, ending: Ending, ask: Ask | None) -> bool:
    """Tell whether there is more to do after a turn has ended or parked."""
    if isinstance(ending, Parked):
        return ask is not None and ending.waits_for == "permission" and await ask(thread, ending)
    if ending.outcome == "cancelled":
        return False
    return any(entry.kind == "message" for entry in await runtime.store.inbox(thread.id))


async def _follow_tasks(runtime: Runtime, thread: Thread, ending: Ending | None, emit: Emit) -> Ending | None:
    """Wait for the thread's tasks and answer what they bring; those that wait for a person are left to him."""
    changes, told = runtime.store.changes(), False
    while isinstance(ending, Outcome) and (working := await _working_tasks(runtime, thread.id)):
        if not told:
            emit(TasksAwaited(thread=thread.id, tasks=working))
            told = True
            runtime.has_work(thread.id)  # also those that another process has left
        if any(entry.kind == "event" for entry in await runtime.store.inbox(thread.id)):
            following = await thread.resume(emit)
            ending = following or ending
            if following is not None:
                continue
        await anext(changes)
    if told and isinstance(ending, Outcome):
        ending = await thread.resume(emit) or ending
    return ending


async def _working_tasks(runtime: Runtime, thread: str) -> list[str]:
    return [each.id for each in await runtime.tasks.open_under(thread) if each.phase != "parked"]
