"""Base URLs as people write them."""

import pytest

from stoic.errors import ConfigurationError
from stoic.models.addresses import azure_base_url, check_base_url, ollama_base_url, shown_url, with_version_path


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("127.0.0.1", "http://127.0.0.1:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),  # noqa: S104 -- read, not listened on
        ("0.0.0.0:9", "http://127.0.0.1:9"),
        (":9", "http://127.0.0.1:9"),
        ("box", "http://box:11434"),
        ("box:9", "http://box:9"),
        ("box:", "http://box:11434"),
        ("http://box", "http://box:80"),
        ("https://box", "https://box:443"),
        ("https://box:9/deep", "https://box:9/deep"),
        ("[::1]:9", "http://[::1]:9"),
        ("[::1]", "http://[::1]:11434"),
    ],
)
def test_ollama_host_means_what_its_own_client_takes_it_for(given, meant):
    assert ollama_base_url(given) == meant


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("https://x", "https://x/v1"),
        ("https://x/", "https://x/v1"),
        ("https://x/deep", "https://x/deep"),
        ("nonsense", "nonsense"),
    ],
)
def test_version_path_is_added_where_there_is_no_path(given, meant):
    assert with_version_path(given, "/v1") == meant


@pytest.mark.parametrize(
    ("endpoint", "version", "meant"),
    [
        ("https://x.openai.azure.com/", None, ("https://x.openai.azure.com/openai/v1", "")),
        ("https://x.openai.azure.com", "v1", ("https://x.openai.azure.com/openai/v1", "")),
        ("https://x.openai.azure.com", "preview", ("https://x.openai.azure.com/openai/v1", "?api-version=preview")),
        ("https://x.openai.azure.com/openai/v1/", None, ("https://x.openai.azure.com/openai/v1", "")),
        ("https://x.openai.azure.com/openai", None, ("https://x.openai.azure.com/openai/v1", "")),
        (
            "https://x.openai.azure.com",
            "2024-10-21",
            ("https://x.openai.azure.com/openai/deployments/my%2Fd", "?api-version=2024-10-21"),
        ),
        (
            "https://x.openai.azure.com/openai/deployments/other",
            "2025-01-01-preview",
            ("https://x.openai.azure.com/openai/deployments/other", "?api-version=2025-01-01-preview"),
        ),
    ],
)
def test_azure_deployment_has_the_url_of_its_api_version(endpoint, version, meant):
    assert azure_base_url(endpoint, "my/d", version) == meant


@pytest.mark.parametrize("url", ["ftp://x", "http://", "http://x:0", "http://x:y", "http://[", "localhost:8000", "x"])
def test_base_url_that_cannot_be_used_is_refused_with_an_example(url):
    with pytest.raises(ConfigurationError, match=r"write it like http://127\.0\.0\.1:8000/v1"):
        check_base_url(url)


@pytest.mark.parametrize(
    "url", ["sk-proj-abc", "http://user:sk-proj-abc@x/v1", "ftp://sk-proj-abc@x", "http://x:y?k=sk-proj-abc"]
)
def test_base_url_with_a_credential_is_refused_without_showing_it(url):
    with pytest.raises(ConfigurationError) as caught:
        check_base_url(url)
    assert "sk-proj-abc" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://u:p@x:1/v1?key=k#f", "http://x:1/v1"),
        ("http://[::1]:1/v1", "http://[::1]:1/v1"),
        ("http://x:y", "(not a URL)"),
        ("sk-1", "(not a URL)"),
    ],
)
def test_shown_url_has_no_place_for_a_credential(url, shown):
    assert shown_url(url) == shown
