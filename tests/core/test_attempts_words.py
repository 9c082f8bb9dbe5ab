"""A fine reply in the shape of another API is unknown: nothing of it was taken in."""

from msgspec.structs import replace
from tests.core.world import said

from stoic.core.attempts import verdict_on
from stoic.core.failures import FailureClass


def test_a_reply_of_which_nothing_was_taken_in_is_unknown():
    fine = said("hello")
    assert verdict_on(fine).failure is None
    document = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}]}
    foreign = replace(fine, parts=None, stream=False, end=None, body=document)
    verdict = verdict_on(foreign)
    assert verdict.failure is FailureClass.UNKNOWN
    assert verdict.evidence[0].value == "another API's shape"
