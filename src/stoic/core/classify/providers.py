"""Which table a provider's name stands for; a table is loaded when it is first asked for."""

from functools import cache
from importlib import import_module

from stoic.core.classify.fields import fold
from stoic.core.classify.rules import Family

_NAMES: dict[str, str] = {
    "openai": "openai chatgpt codex openairesponses",
    "azure": "azure azureresponses azureopenai azureai azureaifoundry foundry azureaistudio microsoftfoundry",
    "github": "github githubmodels copilot githubcopilot",
    "anthropic": "anthropic claude claudecode anthropicmessages",
    "gemini": "gemini google googleai googlegenai googlegemini generativelanguage aistudio googleaistudio",
    "vertex": "vertex vertexai googlevertex googlevertexai",
    "bedrock": "bedrock aws awsbedrock amazonbedrock amazon bedrockruntime botocore boto3",
    "openrouter": "openrouter",
    "litellm": "litellm litellmproxy",
    "newapi": "newapi oneapi",
    "deepseek": "deepseek",
    "dashscope": "dashscope dashscopeintl qwen alibaba alibabacloud aliyun bailian modelstudio tongyi",
    "zhipu": "zhipu zhipuai bigmodel glm zai chatglm",
    "moonshot": "moonshot moonshotcn moonshotai kimi kimicode kimiforcoding",
    "minimax": "minimax minimaxcn minimaxi",
    "baidu": "baidu qianfan ernie wenxin",
    "volcengine": "volcengine ark volcark doubao bytedance byteplus",
    "spark": "spark iflytek xfyun xunfei sparkdesk",
    "hunyuan": "hunyuan tencent tencentcloud",
    "groq": "groq",
    "xai": "xai grok",
    "mistral": "mistral mistralai codestral",
    "together": "together togetherai",
    "fireworks": "fireworks fireworksai",
    "cohere": "cohere",
    "perplexity": "perplexity perplexityai",
    "cerebras": "cerebras",
    "cloudflare": "cloudflare workersai cloudflareworkersai",
    "huggingface": "huggingface hf hfinference huggingfacehub tgi textgenerationinference",
    "ollama": "ollama",
    "vllm": "vllm hostedvllm",
    "sglang": "sglang",
    "llamacpp": "llamacpp llamaserver llamacppserver llamafile",
    "lmstudio": "lmstudio",
    "openai_chat": "openaichat",
    "compatible": "compatible openaicompatible openailike nvidia nim deepinfra sambanova siliconflow",
}
"""Table to the folded names it answers to."""

_TABLE_OF = {name: table for table, names in _NAMES.items() for name in names.split()}
_NOTHING = Family()


def table_name(provider: str) -> str | None:
    """Return the name of a provider's table, or None for a provider unknown to us."""
    return _TABLE_OF.get(fold(provider))


@cache
def family(provider: str) -> Family:
    """Return what is known of a provider; of an unknown one nothing, so that only shapes and statuses count."""
    name = table_name(provider)
    if name is None:
        return _NOTHING
    # Thirty tables would cost more CPU than the rest of the import; one exchange needs one of them.
    return import_module(f"stoic.core.classify.families.{name}").FAMILY


@cache
def family_behind(provider: str, table: str) -> Family:
    """Return what is known of a compatible server whose answer shows whose it is; that provider's own facts come first.

    Args:
        provider: The name the server goes by here.
        table: The table of the provider that its answer names.
    """
    own, named = family(provider), family(table)
    return Family(
        codes={**own.codes, **named.codes},
        words=(*named.words, *own.words),
        finishes={**own.finishes, **named.finishes},
        statuses=named.statuses,
        read=named.read or own.read,
        open=named.open,
        zone_hours=named.zone_hours,
    )
