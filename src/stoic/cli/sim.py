"""`stoic sim`: runs simulated worlds from seeds, on all cores, and tells the story of one in which something does not hold."""

import gc
import os
import secrets
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from itertools import count, islice
from multiprocessing import get_context
from typing import IO, Any

from stoic.cli.exits import BUG, COMPLETED
from stoic.testing.simulation import Failure, Setting, run, shorten, varied

SEEDS_A_CHUNK = 25
_NEVER = float("inf")
_SIMULATED = (
    "simulated: time, network, disk, providers and people; real: the runtime, the wire's decoders, the log's rules"
)


class _Chunk:
    """What came of some seeds."""

    def __init__(self, runs: int, turns: int, cpu_seconds: float, failure: Failure | None) -> None:
        self.runs = runs
        self.turns = turns
        self.cpu_seconds = cpu_seconds
        self.failure = failure


def sim(*, seeds: int | None, seed: int | None, minutes: float | None, jobs: int | None, stdout: IO[str]) -> int:
    """Run worlds.

    Args:
        seeds: how many, from `seed` on, or from 0
        seed: alone: this one world, with its whole story
        minutes: instead of a number: fresh seeds until the time is over
        jobs: processes at a time; default one a core
        stdout: for what comes of it

    Returns:
        0; 70 when an invariant does not hold: that is a bug of stoic.
    """
    if seed is not None and seeds is None and minutes is None:
        return _one(seed, stdout)
    first = secrets.randbelow(1 << 40) if minutes is not None and seed is None else seed or 0
    numbers = iter(range(first, first + seeds)) if seeds is not None else count(first)
    until = time.monotonic() + minutes * 60 if minutes is not None else _NEVER
    print(f"{_SIMULATED}; the first seed is {first}", file=stdout, flush=True)
    runs, turns, cpu_seconds = 0, 0, 0.0
    for chunk in _chunks(numbers, until, jobs or os.cpu_count() or 1):
        runs, turns, cpu_seconds = runs + chunk.runs, turns + chunk.turns, cpu_seconds + chunk.cpu_seconds
        if chunk.failure is not None:
            print(_counted(runs, turns, cpu_seconds), file=stdout)
            return tell_failure(chunk.failure, stdout)
    print(f"{_counted(runs, turns, cpu_seconds)}; every invariant held", file=stdout)
    return COMPLETED


def _one(seed: int, stdout: IO[str]) -> int:
    ledger, failure = run(varied(seed))
    print("\n".join(ledger.story), file=stdout)
    if failure is not None:
        return tell_failure(failure, stdout)
    print(f"seed {seed}: {ledger.turns} turns; every invariant held. {_SIMULATED}", file=stdout)
    return COMPLETED


def tell_failure(failure: Failure, stdout: IO[str]) -> int:
    """Show a failing world, as short as it can be made."""
    seed = failure.setting.seed
    print(f"seed {seed}: {failure.what}", file=stdout)
    print(
        f"`stoic sim --seed {seed}` runs it again, step by step. Made as short as it can be:", file=stdout, flush=True
    )
    short = shorten(failure)
    print(short.told(), file=stdout)
    print(f"Setting: {_said(short.setting)}", file=stdout)
    return BUG


def _said(setting: Setting) -> str:
    names = [name for name in setting.__struct_fields__ if name not in {"make_store", "dropped", "spared"}]
    said: dict[str, Any] = {name: getattr(setting, name) for name in names}
    said |= {"dropped": sorted(setting.dropped), "spared": sorted(setting.spared)}
    return ", ".join(f"{name}={value}" for name, value in said.items())


def _counted(runs: int, turns: int, cpu_seconds: float) -> str:
    a_second = round(turns / cpu_seconds) if cpu_seconds else 0
    return f"{runs} worlds, {turns} turns, {a_second} turns a second and core"


def _chunks(numbers: Iterator[int], until: float, jobs: int) -> Iterator[_Chunk]:
    """Run seeds in processes of their own until there are none left or the time is over."""
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        under_way: set[Future[_Chunk]] = set()
        try:
            while True:
                while len(under_way) < jobs * 2 and time.monotonic() < until:
                    some = list(islice(numbers, SEEDS_A_CHUNK))
                    if not some:
                        break
                    under_way.add(pool.submit(_run_chunk, some, until - time.monotonic()))
                if not under_way:
                    return
                done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
                yield from (each.result() for each in done)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _run_chunk(seeds: list[int], seconds: float) -> Any:
    """Run some seeds, until one fails or the time is over.

    A world leaves little behind, and what is left from the start need not be looked through again and again: garbage is
    collected after each world alone, which makes about a tenth more turns a second.
    """
    gc.freeze()
    gc.disable()
    began, until = time.process_time(), time.monotonic() + seconds
    runs, turns = 0, 0
    for seed in seeds:
        if time.monotonic() >= until:
            break
        ledger, failure = run(varied(seed))
        gc.collect()
        runs, turns = runs + 1, turns + ledger.turns
        if failure is not None:
            return _Chunk(runs, turns, time.process_time() - began, failure)
    return _Chunk(runs, turns, time.process_time() - began, None)
