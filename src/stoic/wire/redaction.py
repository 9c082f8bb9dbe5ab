"""Takes a request's credentials out of what is reported of its answer, for there are servers that send them back.

An error that quotes the header it did not like, a proxy's page, a redirect, the words of an HTTP library: all of it is told to
people and kept in the log. What a model said in a reply is left as it came: it is content, and a file that holds the key may be
what the talk is about.
"""

from collections.abc import Iterable, Mapping
from typing import cast
from urllib.parse import quote

import httpcore2
from msgspec.structs import replace

from stoic.records import ExceptionFact, Json, Report

MARK = "[key]"
_SHORTEST = 8
"""A shorter credential is a word such as `none`, and too common in texts to be taken out of them."""
_CREDENTIAL_HEADERS = frozenset({"authorization", "proxy-authorization", "x-api-key", "api-key", "x-goog-api-key"})


def secrets_of(headers: Mapping[str, str], proxy: httpcore2.Proxy | None, others: Iterable[str]) -> frozenset[str]:
    """Return what a request carries that nobody else may see.

    Args:
        headers: the request's
        proxy: its proxy, which may have a credential of its own
        others: further such texts
    """
    values = [value for name, value in headers.items() if name.lower() in _CREDENTIAL_HEADERS]
    passwords: list[str] = []
    if proxy is not None:
        values += [value.decode("latin-1") for _, value in proxy.headers]
        passwords = [part.decode("utf-8", "replace") for part in (proxy.auth or ())[1:]]
    # `Bearer KEY` and `Basic WORD` are quoted with and without their first word.
    return frozenset([*(each.rpartition(" ")[2] for each in values), *passwords, *others])


class Redaction:
    """Replaces some texts wherever they stand, also as a URL or as JSON within JSON writes them."""

    def __init__(self, secrets: Iterable[str]) -> None:
        """Take the texts; those that are too short to be one are left alone."""
        long = [each for each in secrets if len(each) >= _SHORTEST]
        written = {form for each in long for form in (each, quote(each, safe=""), each.replace("/", "\\/"))}
        # The longest first: one may be a part of another.
        self._forms = sorted(written, key=lambda form: (-len(form), form))

    def report(self, report: Report) -> Report:
        """Return the report of an answer without them; what a model said stays as it is."""
        if not self._forms:
            return report
        return replace(
            report,
            headers={self.text(name): self.text(value) for name, value in report.headers.items()},
            body=self.json(report.body),
            events=self.json(report.events),
            exception=None if report.exception is None else self._exception(report.exception),
            finish=report.finish and self.text(report.finish),
            served_model=report.served_model and self.text(report.served_model),
            request_id=report.request_id and self.text(report.request_id),
        )

    def text(self, text: str) -> str:
        """Return a text without them."""
        for form in self._forms:
            if form in text:
                text = text.replace(form, MARK)
        return text

    def json(self, value: Json) -> Json:
        """Return a JSON value without them, in names too."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.json(each) for each in cast("list[Json]", value)]
        if isinstance(value, dict):
            return {self.text(name): self.json(each) for name, each in cast("dict[str, Json]", value).items()}
        return value

    def _exception(self, exception: ExceptionFact) -> ExceptionFact:
        cause = [self.text(each) for each in exception.cause]
        return replace(exception, message=self.text(exception.message), cause=cause, fields=self.json(exception.fields))
