"""One setting at a time: the environment variable if it is set, else what the file says; which it was is remembered."""

import math
from collections.abc import Mapping
from typing import TypeVar

from stoic.errors import ConfigurationError, brief
from stoic.sampling import LARGEST

Section = TypeVar("Section")


class Values:
    """Decides each value by environment variable, then file."""

    def __init__(self, given: Mapping[str, str], path: str | None) -> None:
        """Decide by these.

        Args:
            given: the environment, without empty variables
            path: of the configuration file, None: there is none
        """
        self._given = given
        self._path = path
        self.sources: dict[str, str] = {}
        """By setting: the variable (`$NAME`) or the file that decided it."""

    def text(self, name: str, variables: tuple[str, ...], in_file: str | None) -> str | None:
        """Return a text; the first variable that is set counts."""
        variable = self._variable(name, variables, in_file)
        return in_file if variable is None else self._given[variable]

    def names(self, name: str, variables: tuple[str, ...], in_file: list[str]) -> list[str]:
        """Return a list, separated by commas in a variable."""
        variable = self._variable(name, variables, in_file or None)
        if variable is None:
            return in_file
        return [each.strip() for each in self._given[variable].split(",") if each.strip()]

    def in_file(self, name: str, value: Section) -> Section:
        """Return what only the file can say."""
        if value != type(value)() and self._path is not None:
            self.sources[name] = self._path
        return value

    def number(self, name: str, variable: str, in_file: float | None) -> float | None:
        """Return a number. Raises ConfigurationError if the variable holds none."""
        if self._variable(name, (variable,), in_file) is None:
            return in_file
        try:
            number = float(self._given[variable])
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise self.unusable(variable, "no number")
        if abs(number) > LARGEST:
            raise self.unusable(variable, "larger than any setting")
        return number

    def whole(self, name: str, variable: str, in_file: int | None) -> int | None:
        """Return a whole number. Raises ConfigurationError if the variable holds none."""
        if self._variable(name, (variable,), in_file) is None:
            return in_file
        text = self._given[variable]
        if not (text.isascii() and text.isdecimal()):
            raise self.unusable(variable, "no whole number")
        if len(text) > len(str(LARGEST)) or int(text) > LARGEST:
            raise self.unusable(variable, "larger than any setting")
        return int(text)

    def unusable(self, variable: str, what: str) -> ConfigurationError:
        """Return the error for a variable's value."""
        return ConfigurationError(f"${variable} is {brief(self._given[variable])}, which is {what}; change or unset it")

    def _variable(self, name: str, variables: tuple[str, ...], in_file: object) -> str | None:
        variable = first_set(self._given, variables)
        if variable is not None:
            self.sources[name] = f"${variable}"
        elif in_file is not None and self._path is not None:
            self.sources[name] = self._path
        return variable


def first_set(given: Mapping[str, str], variables: tuple[str, ...]) -> str | None:
    """Return the first of the variables that is set."""
    return next((name for name in variables if name in given), None)
