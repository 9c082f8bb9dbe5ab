"""The values that go into the loop detector and come out of it: calls, verdicts and thresholds."""

from typing import Any, Literal

from stoic.errors import UsageError
from stoic.record import Record

Effect = Literal["read", "write", "send", "exec", "poll", "wait"]
"""What a tool does to the world, as its declaration says (SPEC §10)."""

Rule = Literal[
    "unknown_tool",
    "global_breaker",
    "poll_no_progress",
    "repeat",
    "same_error_varied_args",
    "stagnation",
    "no_new_information",
    "text_repeat",
]
"""The rules of SPEC §11, strongest first."""

Event = Literal["user", "nudge", "compaction", "new_run", "new_task", "external"]
"""What may happen beside calls and texts: see `LoopDetector.event`."""


class Thresholds(Record, frozen=True):
    """When the rules speak; always `warning < critical < breaker <= history` (SPEC §11)."""

    warning: int = 10
    """Equal calls, calls without news and the like before the model is warned."""
    critical: int = 20
    """Frozen polls, and equal errors of one tool and target, before a block."""
    breaker: int = 30
    """Equal outcomes of one call, or calls in the whole thread without news, before a block."""
    history: int = 600
    """How many different calls, and how many known outcomes, are remembered; more are forgotten, oldest first."""
    unknown_tool: int = 10
    """Consecutive calls to tools that do not exist before a block."""
    text_warning: int = 3
    """Equal assistant texts without news between them before a warning."""
    text_stop: int = 10
    """Equal assistant texts without news between them before the turn should stop."""
    ignored_blocks: int = 3
    """Ignored blocks in a row before the turn should stop."""

    def __post_init__(self) -> None:
        """Reject an order in which a stronger rule would speak before a weaker one."""
        if not 0 < self.warning < self.critical < self.breaker <= self.history:
            raise UsageError(
                "loop thresholds must be 0 < warning < critical < breaker <= history, not "
                f"{self.warning}, {self.critical}, {self.breaker}, {self.history}; change the one that is out of order"
            )
        if not 0 < self.text_warning < self.text_stop or self.unknown_tool < 1 or self.ignored_blocks < 1:
            raise UsageError(
                "loop thresholds must be 0 < text_warning < text_stop, unknown_tool >= 1 and ignored_blocks >= 1, not "
                f"{self.text_warning}, {self.text_stop}, {self.unknown_tool}, {self.ignored_blocks}"
            )


class Call(Record, frozen=True):
    """One tool call, before or after it ran."""

    tool: str
    """The tool's name as the model wrote it."""
    arguments: Any = None
    """The parsed arguments; text when they could not be parsed."""
    effect: Effect | None = None
    """The declared effect; None: inferred from the name, an action argument, or the command."""
    known: bool = True
    """Whether such a tool exists."""
    frozen_limit: int | None = None
    """For a poll: how many equal outcomes in a row the tool's own policy allows before a block."""
    loop_key: list[str] = []
    """Paths of the arguments that alone identify the call, such as `plan.*.status`; empty: all of them."""
    batch: int = 0
    """Number of the reply that the call stands in, so that one reply counts as ignoring a block once; 0: its own."""


class Verdict(Record, frozen=True):
    """What the detector says about a call, a text or nothing at all."""

    action: Literal["ok", "warn", "block"] = "ok"
    """`warn`: append `message` to the result; `block`: do not run, answer with `message`. For a text `block` means
    that the turn should stop."""
    rule: Rule | None = None
    count: int = 0
    """How many calls or texts the rule counted."""
    message: str = ""
    """Written for the model; holds no byte of arguments or results."""
    noise: list[str] = []
    """What differed between the equal calls without counting as news, such as `durations`."""
    key: str = ""
    """The identity of the call, equal for equal calls; of a text its normalised hash."""
    outcome: str = ""
    """Hash of the masked outcome; empty before the call ran."""
    news: bool = False
    """Whether the call brought something not known before."""
    ignored_blocks: int = 0
    """How many blocks in a row the model has ignored, this one included."""
    granted: bool = False
    """Whether it may go on only because a person allowed it."""


OK = Verdict()
"""Nothing to say."""
