"""What tests of agents need: a scripted provider over real HTTP, a clock and ids that tests hold in their hands."""

from stoic.testing.cases import load_cases
from stoic.testing.clock import CountingIds, FakeClock
from stoic.testing.provider import ScriptedProvider
from stoic.testing.recording import RecordedRequest
from stoic.testing.scripts import load_script, parse_script

__all__ = [
    "CountingIds",
    "FakeClock",
    "RecordedRequest",
    "ScriptedProvider",
    "load_cases",
    "load_script",
    "parse_script",
]
