"""Servers that people run themselves: on this machine unless a variable or the configuration says otherwise, without a key."""

from stoic.models.entries import ProviderEntry

SERVERS = (
    ProviderEntry(
        name="ollama",
        api="chat",
        base_url="http://127.0.0.1:11434/v1",
        source="https://docs.ollama.com/openai",
        key_variables=("OLLAMA_API_KEY",),
        url_variables=("OLLAMA_HOST", "OLLAMA_BASE_URL"),
        version_path="/v1",
        needs_key=False,
    ),
    ProviderEntry(
        name="vllm",
        api="chat",
        base_url="http://127.0.0.1:8000/v1",
        source="https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html",
        key_variables=("VLLM_API_KEY",),
        url_variables=("VLLM_BASE_URL",),
        version_path="/v1",
        needs_key=False,
    ),
    ProviderEntry(
        name="sglang",
        api="chat",
        base_url="http://127.0.0.1:30000/v1",
        source="https://docs.sglang.ai/basic_usage/openai_api_completions.html",
        key_variables=("SGLANG_API_KEY",),
        url_variables=("SGLANG_BASE_URL",),
        version_path="/v1",
        needs_key=False,
    ),
    ProviderEntry(
        name="llamacpp",
        api="chat",
        base_url="http://127.0.0.1:8080/v1",
        source="https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md",
        key_variables=("LLAMA_API_KEY",),
        url_variables=("LLAMACPP_BASE_URL",),
        version_path="/v1",
        needs_key=False,
    ),
    ProviderEntry(
        name="lmstudio",
        api="chat",
        base_url="http://127.0.0.1:1234/v1",
        source="https://lmstudio.ai/docs/developer/openai-compat",
        key_variables=("LM_API_TOKEN", "LMSTUDIO_API_KEY"),
        url_variables=("LMSTUDIO_BASE_URL",),
        version_path="/v1",
        needs_key=False,
    ),
    ProviderEntry(
        name="litellm",
        api="chat",
        base_url="http://127.0.0.1:4000",
        source="https://docs.litellm.ai/docs/proxy/user_keys",
        key_variables=("LITELLM_PROXY_API_KEY", "LITELLM_API_KEY"),
        url_variables=("LITELLM_PROXY_API_BASE", "LITELLM_BASE_URL"),
        needs_key=False,
    ),
)
"""Each one's default port is the one its own documentation names."""
