"""Exceptions as data."""

import socket

import h11
import pytest

from stoic.wire.facts import exception_fact, qualified_name


def caught(function):
    """Return what a function raises."""
    with pytest.raises(Exception) as raised:  # noqa: PT011 any exception will do
        function()
    return raised.value


def test_cause_chain_is_told_nearest_first_with_public_names():
    def fail():
        try:
            try:
                raise socket.gaierror(-2, "Name or service not known")
            except OSError as error:
                raise TimeoutError from error
        except TimeoutError:
            raise h11.RemoteProtocolError("gone")  # noqa: B904 the implicit context is what is tested

    fact = exception_fact(caught(fail), after_first_byte=True, fields={"phase": "head"})
    assert (fact.type, fact.message, fact.after_first_byte) == ("h11.RemoteProtocolError", "gone", True)
    assert fact.cause == ["TimeoutError", "socket.gaierror: [Errno -2] Name or service not known"]
    assert fact.fields == {"phase": "head"}


def test_suppressed_context_is_no_cause():
    def fail():
        try:
            {}["secret"]
        except KeyError:
            raise OSError("told") from None

    assert exception_fact(caught(fail), after_first_byte=False).cause == []


def test_endless_chain_is_cut():
    first, second = ValueError("a"), ValueError("b")
    first.__cause__, second.__cause__ = second, first
    assert len(exception_fact(first, after_first_byte=False).cause) == 8


def test_name_of_a_builtin_exception_has_no_module():
    assert qualified_name(ConnectionResetError()) == "ConnectionResetError"
