"""Every notice there is as a form: its key, its priority, when it is sent, what it says and offers (SPEC §13)."""

from typing import Literal

from stoic.records import Record

BUDGET_PER_DAY = 20
"""So many normal notices are sent one by one on one day (UTC); a digest holds the rest."""
DIGEST = "digest"
"""The kind of the notice that holds a day's surplus."""


class NoticeForm(Record, frozen=True):
    """One notice as it may be sent: fields in braces are filled in."""

    kind: str
    priority: Literal["normal", "critical"]
    key: str
    """Equal keys are one notice, for ever."""
    when: str
    text: str
    actions: tuple[str, ...]


_LOOK = "stoic show {thread}"
_FRESH = "stoic fresh {thread}"
_SWITCH = "stoic switch {thread} MODEL"
_REFUSAL_KEY = "refusal:{segment}:{probes}:{providers}"

FORMS: dict[str, NoticeForm] = {
    "chat_refused": NoticeForm(
        kind="refusal",
        priority="critical",
        key=_REFUSAL_KEY,
        when="a chat's turn is stopped by a refusal; once in a segment",
        text="Refused by {refusers}{also}. The turn was stopped and nothing was sent to "
        "another provider; what was refused left the model's view and stays in the log. {rule}",
        actions=(_SWITCH, _FRESH, _LOOK),
    ),
    "task_refused": NoticeForm(
        kind="refusal",
        priority="critical",
        key=_REFUSAL_KEY,
        when="a task that no thread owns is ended by a refusal",
        text="Refused by {refusers}. The task stopped at once and never runs again; nothing was sent elsewhere, and everything "
        "it made stays as it stands. Start a new task with another model, if you want one.",
        actions=("stoic tasks show {thread}", _LOOK),
    ),
    "repair_refused": NoticeForm(
        kind="refusal",
        priority="normal",
        key=_REFUSAL_KEY,
        when="a repair thread's providers have refused for the first time in a segment",
        text="Refused by {refusers}{also}. {rule}",
        actions=(_SWITCH, _FRESH, _LOOK),
    ),
    "repair_frozen": NoticeForm(
        kind="refusal",
        priority="critical",
        key=_REFUSAL_KEY,
        when="a repair thread's providers have refused all probes of a segment, which is frozen",
        text="Frozen: {refusers} refused every probe, so nothing more is sent there of itself. {rule}",
        actions=(_SWITCH, _FRESH, _LOOK),
    ),
    "access_revoked": NoticeForm(
        kind="access_revoked",
        priority="critical",
        key="access_revoked:{provider}:{credential}:{day}",
        when="a provider refuses the account itself",
        text="{model} refuses the account{category}: no request is sent with this credential until it is replaced or a "
        "person says so, and none was sent to another provider.",
        actions=("stoic health retry {asked}", _SWITCH, "stoic doctor"),
    ),
    "decision_wanted": NoticeForm(
        kind="decision_wanted",
        priority="critical",
        key="decision_wanted:{segment}:{provider}",
        when="a provider wants a person to decide about what the agent does; once in a segment",
        text="{model} wants a person to decide about what the agent does{category}. The turn was stopped; nothing was sent "
        "again or elsewhere.",
        actions=(_LOOK, _SWITCH, _FRESH),
    ),
    "approval_wanted": NoticeForm(
        kind="approval_wanted",
        priority="critical",
        key="approval_wanted:{operation_id}",
        when="a call waits for a person's approval where nobody is asked at once; once for each call",
        text="A call of {tool} ({effect}) waits for your approval{expires}. The turn is parked until then.",
        actions=("stoic approvals allow {operation}", "stoic approvals deny {operation}", _LOOK),
    ),
    "stuck_loop": NoticeForm(
        kind="stuck_loop",
        priority="normal",
        key="stuck_loop:{thread_id}:{turn}",
        when="a turn is stopped since the agent repeats itself",
        text="The agent repeats itself without news{loop_rule}, so the turn was stopped. Send it another way with a "
        "message, or allow it some further calls.",
        actions=("stoic resume {thread} --allow {calls}", _LOOK, _SWITCH),
    ),
    "turn_ended": NoticeForm(
        kind="turn_ended",
        priority="normal",
        key="turn_ended:{thread_id}:{turn}",
        when="a turn that nobody watches does not complete and no other notice says so, but a task's that a thread owns; once "
        "for each turn",
        text="Turn {turn} did not complete while nobody watched: {outcome}{why}{asked_model}.",
        actions=(_LOOK, "stoic run --thread {thread} MESSAGE"),
    ),
    "input_withheld": NoticeForm(
        kind="input_withheld",
        priority="normal",
        key="input_withheld:{segment}:{provider}",
        when="a turn that nobody watches completes though all that it was given was withheld, but a task's that a thread owns; "
        "once in a segment",
        text="Refused by {provider}{category}: all that turn {turn} was given was withheld, so its answer is not about it. The "
        "same stays withheld until a person starts fresh, compacts or switches the model.",
        actions=(_LOOK, _SWITCH, _FRESH),
    ),
    "unknown_operation": NoticeForm(
        kind="unknown_operation",
        priority="normal",
        key="unknown_operation:{operation_id}:{runs}",
        when="nobody can tell whether a write, send or exec took effect",
        text="Whether a call of {tool} ({effect}) took effect is unknown. An equal call is refused until a person says "
        "what became of it.",
        actions=("stoic operations resolve {operation} done", "stoic operations resolve {operation} not_done", _LOOK),
    ),
    "route_closed": NoticeForm(
        kind="route_closed",
        priority="normal",
        key="route_closed:{model}:{failure}:{credential}:{day}",
        when="a model is shut until its credential or configuration changes; once a day",
        text="{model} is shut after {failure}: {opens}.",
        actions=("stoic health retry {asked}", _SWITCH, "stoic doctor"),
    ),
    "gate_violation": NoticeForm(
        kind="gate_violation",
        priority="critical",
        key="gate_violation:{thread_id}:{turn}",
        when="a request was about to show a model what it must not: a bug of stoic",
        text="A request was not sent: what it would have shown the model breaks a rule of the log. This is a bug of stoic; "
        "please report it. The thread can go on.",
        actions=(_LOOK, _FRESH),
    ),
    "compaction_refused": NoticeForm(
        kind="compaction_refused",
        priority="normal",
        key="compaction_refused:{segment}:{provider}",
        when="a provider refuses to sum up a conversation; once in a segment",
        text="{model} refused to sum up the conversation{category}. The history is unchanged; a fresh start leaves it behind.",
        actions=(_FRESH, _SWITCH, _LOOK),
    ),
    "budget_near": NoticeForm(
        kind="budget",
        priority="normal",
        key="budget_near:{whose}:{bound}",
        when="four fifths of what a thread or a day may take are used; once for each bound, thread and day",
        text="{used} of {limit} {unit} are used {scope}. At the limit turns are stopped before their next request.",
        actions=("stoic spent", _LOOK),
    ),
    "budget_reached": NoticeForm(
        kind="budget",
        priority="normal",
        key="budget_reached:{whose}:{bound}",
        when="a turn is stopped since its thread or the day has taken what it may; once for each bound, thread and day",
        text="{used} of {limit} {unit} are used {scope}: the turn was stopped, and nothing more is sent until {until}.",
        actions=("stoic spent", _LOOK),
    ),
    DIGEST: NoticeForm(
        kind=DIGEST,
        priority="normal",
        key="digest:{day}",
        when="normal notices were more than are sent one by one on a day; once a day",
        text="{count} in this one, since at most {budget} are sent one by one on a day: {kinds}.",
        actions=("stoic notices --all",),
    ),
    "test": NoticeForm(
        kind="test",
        priority="normal",
        key="test:{moment}",
        when="`stoic notices test` was run; never stored",
        text="This is a test: the notices of stoic arrive here.",
        actions=("stoic notices",),
    ),
}
"""Every notice the runtime sends."""
