"""What a parked turn waits for is said for every kind of wait that the log knows."""

import msgspec
import pytest

from stoic.cli.waiting import waits_said
from stoic.records import Parked, Question

UNTIL_MS = 1_800_000_000_000
UNTIL = " until 2027-01-15 08:00:00 UTC"
ASKED = Question(operation="t.1.1.0", tool="shell", effect="exec", arguments="{}")


@pytest.mark.parametrize(
    ("parked", "said"),
    [
        (
            Parked(waits_for="permission", questions=[ASKED], until_ms=UNTIL_MS),
            f"a person to decide about shell (t.1.1.0){UNTIL}",
        ),
        (Parked(waits_for="task", tasks=["a"]), "task a"),
        (Parked(waits_for="task", tasks=["a", "b"], until_ms=UNTIL_MS), f"tasks a, b{UNTIL}"),
        (Parked(waits_for="event", event="config azure"), "the config of azure (`stoic event config azure`)"),
        (Parked(waits_for="event"), "an event"),
        (Parked(waits_for="time", until_ms=UNTIL_MS), f"the time that its provider has stated{UNTIL}"),
        (Parked(waits_for="time", until_ms=UNTIL_MS, event="trial"), f"another turn that tries its model{UNTIL}"),
        (
            Parked(waits_for="time", until_ms=UNTIL_MS, event="credential azure, time openai, time groq"),
            "openai or groq to answer again; the next try is at 2027-01-15 08:00:00 UTC",
        ),
        (Parked(waits_for="time", until_ms=UNTIL_MS, event="call"), f"a time that its call has named{UNTIL}"),
    ],
)
def test_every_wait_is_said_with_its_end(parked, said):
    assert waits_said(msgspec.to_builtins(parked)) == f"waits for {said}"
