"""The site builds strictly, what is broken ends the build, and nothing on it is loaded from another host."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs.pages import DOCS, PAGES, ROOT

OUTSIDE = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed)\b[^>]*\b(?:src|srcset)=["'](?:https?:)?//"""
    r"""|<link\b(?![^>]*rel=["'](?:canonical|next|prev)["'])[^>]*\bhref=["'](?:https?:)?//"""
    r"""|@import\s+(?:url\()?["']?(?:https?:)?//|url\(\s*["']?(?:https?:)?//"""
)
"""What makes a browser load something from elsewhere when a page is opened."""


def build(docs: Path, site: Path) -> subprocess.CompletedProcess[str]:
    """Build with the options of `just docs`."""
    recipe = re.search(
        r"^    sphinx-build (.*) docs site$", (ROOT / "justfile").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert recipe
    arguments = [sys.executable, "-m", "sphinx", *recipe[1].split(), str(docs), str(site)]
    return subprocess.run(arguments, check=False, capture_output=True, text=True)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    done = build(DOCS, folder)
    assert (done.returncode, done.stderr) == (0, "")
    return folder


def test_every_page_is_on_the_site_and_loads_nothing_from_another_host(site):
    built = {path.relative_to(site).with_suffix("") for path in site.rglob("*.html")}
    assert {path.relative_to(DOCS).with_suffix("") for path in DOCS.rglob("*.md")} - built == set()
    files = [path for path in site.rglob("*") if path.suffix in {".html", ".css"}]
    assert [path.name for path in files if OUTSIDE.search(path.read_text(encoding="utf-8"))] == []
    scripts = [
        path
        for path in site.rglob("*.js")
        if re.search(r"""["'`](?:https?:)?//(?!www\.w3\.org/)[\w-]+\.""", path.read_text("utf-8"))
    ]
    assert [path.name for path in scripts] == []


def test_what_is_broken_ends_the_build(tmp_path: Path):
    docs = tmp_path / "docs"
    docs.mkdir()
    shutil.copy(DOCS / "conf.py", docs)
    shutil.copytree(DOCS / "static", docs / "static")
    broken = ["[x](no-page.md)", "[x](index.md#no-heading)", "![x](no-image.png)", "```{toctree}\nno-entry\n```"]
    (docs / "index.md").write_text("# Home\n\n" + "\n\n".join(broken) + "\n", encoding="utf-8")
    (docs / "in-no-menu.md").write_text("# Lost\n", encoding="utf-8")
    done = build(docs, tmp_path / "site")
    assert done.returncode != 0
    said = done.stderr
    assert [each for each in ("no-page", "no-heading", "no-image", "no-entry", "in-no-menu") if each not in said] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file_and_a_heading(page: Path):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        assert file.exists(), f"{page.name} links to {target}"
        assert not anchor or anchor in anchors(file), f"{page.name} links to {target}"


def anchors(page: Path) -> set[str]:
    """Return what the headings of a page are called in links."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_page_shows_anything_from_another_host(page: Path):
    text = page.read_text(encoding="utf-8")
    assert not re.search(r"!\[[^\]]*\]\(\s*(?:https?:)?//", text)
    assert not OUTSIDE.search(text)
