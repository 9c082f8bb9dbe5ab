"""What shell commands do and whom they address, as far as their words tell."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stoic.core.loops.commands import _is_plain, _lexemes, _parts, _split, _unwrapped, addressee, doing, squeeze


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cat a.txt", "read"),
        ("cd src && grep -rn 'a > b' . 2>&1 | head -5", "read"),
        ("ls 2>/dev/null", "read"),
        ("wc -l < a.txt", "read"),
        ("FOO=1 sudo timeout 60 /usr/bin/pytest -q", "read"),
        ("python -m pytest tests", "read"),
        ("sed -n 1,5p a", "read"),
        ("git --no-pager log", "read"),
        ("curl -s https://h.example", "read"),
        ("sleep 5; cat log", "read"),
        ("cat 'unclosed", "read"),
        ("sleep 60", "wait"),
        ("sed -i s/a/b/ f", "write"),
        ("git commit -m 'x; y'", "write"),
        ("mv a b", "write"),
        ("echo x > out.txt", "write"),
        ("echo x>>out.txt", "write"),
        ("cat a |tee b", "write"),
        ("ls &>all.log", "write"),
        ("cat <<'E' > f\nbody\nE", "write"),
        ("make 2> err.log", "write"),
        ("./deploy.sh", "run"),
        ("python fix.py", "run"),
        ("cargo run", "run"),
        ("git", "run"),
        ("curl -X POST https://h.example", "run"),
        ("curl --data-raw x https://h.example", "run"),
        ("cat a; ./build.sh &", "run"),
        ("echo x >", "read"),
        ("", "run"),
        ("A=1", "run"),
    ],
)
def test_a_command_does_what_its_strongest_part_does(command, expected):
    assert doing(command) == expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("ssh -o A=b -p 22 me@host uptime", "ssh host"),
        ("ssh -4 -v host", "ssh host"),
        ("sudo scp -i key host:/a .", "scp host"),
        ("curl -H 'A: b' https://H.example/x", "curl h.example"),
        ("cat -n /root/a", "cat /root/a"),
        ("aws s3 ls --profile=x", "aws s3 ls"),
        ("ssh", "ssh"),
        (" ", ""),
    ],
)
def test_the_addressee_is_the_program_and_whom_it_names(command, expected):
    assert addressee(command) == expected


def test_only_blanks_outside_quotes_are_squeezed():
    assert squeeze('  a   \'b  c\'\t"d  \\"  e"  f\\  g\n  h ') == 'a \'b  c\' "d  \\"  e" f\\  g\n h'


PLAIN = st.lists(
    st.sampled_from(
        ["ls", "-l", "A=1", "sudo", "timeout", "60", "/bin/cat", "~/a*", "[", "!", "#", "$x", " ", "  ", ""]
    ),
    max_size=8,
).map(" ".join)


@settings(max_examples=300, deadline=None)
@given(PLAIN)
def test_a_plain_command_is_read_as_any_other_is(command):
    assert _is_plain(command)
    assert _parts(command) == [words for part in _split(command) if (words := _unwrapped(part))]
    assert squeeze(command) == "".join([" " if one.isspace() else one for one in _lexemes(command.strip())])


@pytest.mark.parametrize(
    "command", ["a;b", "a|b", "a&&b", "a>b", "'a  b'", "a\\ b", "(a)", "{ a", "a\nb", "a\tb", "`a`"]
)
def test_a_command_with_marks_of_the_shell_is_not_plain(command):
    assert not _is_plain(command)
