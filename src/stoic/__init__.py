"""stoic: a durable runtime for multi-model LLM agents that is honest about failure."""
