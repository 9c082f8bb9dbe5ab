"""Tells which fields of a result hold noise, by their names."""

from stoic.core.loops.noise_expressions import HTTP_DATE
from stoic.core.loops.noises import CREATED, DURATIONS, NONCES, PIDS, REQUESTS, TIMES
from stoic.core.loops.observation import Nature
from stoic.core.loops.searching import flatten
from stoic.core.loops.words import named, pattern, words

_DURATION_WORDS = named("elapsed duration took latency uptime runtime")
_DURATION_NAMES = named("total_time time_taken total_ms queue_ms ms")
_AHEAD = named("remaining left estimated expected eta until")
"""Durations that lie ahead: when they shrink, that is progress."""
_SPENT = named(
    "time total_time query query_time request response response_time server exec execution execution_time wall wall_time "
    "cpu cpu_time db run run_time real_time processing processing_time"
)
"""Durations with a unit after them, and most of them without."""
_UNITS = named("ms millis milliseconds s sec secs seconds us micros microseconds ns")
_TIME_NAMES = named(
    "timestamp ts now started_at checked_at generated_at fetched_at requested_at served_at polled_at current_time "
    "server_time retrieved_at queried_at last_checked last_checked_at"
)
_DATED_NAMES = named("time date datetime start_time started sent_at received_at")
"""Times unless a read brings them: then they may be the data asked for."""
_RUN_TIME_NAMES = named("end_time ended_at finished_at completed_at")
_RUN_NAMES = named("run_id execution_id exec_id")
"""Of a command that ran: which run it was, and when. Elsewhere they may be progress."""
_PID_NAMES = named("pid ppid process_id")
_REQUEST_NAMES = named(
    "request_id req_id trace_id span_id correlation_id invocation_id x_request_id cf_ray ray_id call_id tool_call_id "
    "tool_use_id incident_id amzn_request_id host_id traceparent"
)
_NONCE_NAMES = named("nonce csrf csrf_token boundary salt")
_CREATED_WORDS = named(
    "id ids uuid guid number iid url uri link permalink receipt sid ref reference offset seq sequence revision"
)


def field_noise(key: str, kind: Nature) -> int:
    """Return which kind of noise a field's text or number is whatever it says, as a bit of `noises.NOISES`, or 0.

    Args:
        key: The field's name.
        kind: The nature of the call that brought it.
    """
    parts = words(key)
    name = "_".join(parts)
    if _spent(parts, name):
        return DURATIONS
    if _dates(parts, name, kind):
        return TIMES
    if name in _PID_NAMES:
        return PIDS
    if (name in _REQUEST_NAMES and not kind.traced) or (name in _RUN_NAMES and kind.effect == "exec"):
        return REQUESTS
    if name in _NONCE_NAMES:
        return NONCES
    return CREATED if kind.creates and parts[-1:] and parts[-1] in _CREATED_WORDS else 0


def is_http_date(value: str) -> bool:
    """Tell whether a value is a header's date: that of the answer, not data that were asked for."""
    return pattern(HTTP_DATE).fullmatch(flatten(value)) is not None


def is_timing(key: str) -> bool:
    """Tell whether an object of this name holds nothing but durations."""
    return words(key)[-1:] in (("timing",), ("timings",))


def _spent(parts: tuple[str, ...], name: str) -> bool:
    if name in _DURATION_NAMES or _DURATION_WORDS.intersection(parts):
        return not _AHEAD.intersection(parts)
    if parts[-1:] and parts[-1] in _UNITS:
        return "_".join(parts[:-1]) in _SPENT
    return len(parts) > 1 and parts[-1] == "time" and name in _SPENT


def _dates(parts: tuple[str, ...], name: str, kind: Nature) -> bool:
    if name in _TIME_NAMES or (name in _RUN_TIME_NAMES and kind.effect == "exec"):
        return True
    if name in _DATED_NAMES and (kind.effect != "read" or kind.clock):
        return True
    return kind.creates and parts[-1:] == ("at",)
