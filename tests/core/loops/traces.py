"""Runs traces in the format of the case file through a detector."""

import json
from pathlib import Path
from typing import Any

from stoic.core.loops import Call, LoopDetector

CASES = json.loads((Path(__file__).parents[2] / "cases" / "loops.json").read_text())["cases"]
STRENGTH = {"ok": 0, "warn": 1, "block": 2}


def call(tool, arguments=None, **more):
    return Call(tool=tool, arguments=arguments if arguments is not None else {}, **more)


def entry(tool, args=None, result: Any = "ok", **more):
    return {"tool": tool, "args": args or {}, "result": result, **more}


def steps(detector, case):
    """Yield the position and the verdicts of each entry."""
    for position, item in enumerate(case["calls"], 1):
        if item.get("event") == "assistant":
            yield position, [detector.said(item["text"])]
        elif "event" in item:
            detector.event(item["event"])
        else:
            policy = dict(case.get("tools", {}).get(item["tool"], {}))
            effect = "poll" if policy.pop("poll", False) else None
            one = Call(
                tool=item["tool"],
                arguments=item["args"],
                known=not item.get("unknown_tool"),
                effect=effect,
                batch=item.get("turn", 0),
                **policy,
            )
            verdicts = [detector.before(one)]
            if not item.get("vetoed"):
                verdicts.append(detector.after(one, item["result"], failed=bool(item.get("error"))))
            yield position, verdicts


def strongest(case, detector=None):
    """Return the strongest verdict's action (`none`, `warn`, `block`), rule and first position."""
    best, strength = ("none", None, None), 0
    for position, verdicts in steps(detector or LoopDetector(), case):
        for verdict in verdicts:
            if STRENGTH[verdict.action] > strength:
                strength = STRENGTH[verdict.action]
                best = (verdict.action, verdict.rule, position)
    return best


def run(*calls, tools=None):
    """Return the strongest verdict over entries."""
    return strongest({"calls": list(calls), "tools": tools or {}})
