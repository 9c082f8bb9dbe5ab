"""All traces together."""

from tests.core.loops.variants import batches, cycles, progress, reruns, resets, spelling, stagnation, traps, volatile
from tests.core.loops.variants.building import Trace

TRACES: list[Trace] = [
    one
    for module in (volatile, spelling, cycles, stagnation, progress, batches, reruns, resets, traps)
    for one in module.traces()
]
