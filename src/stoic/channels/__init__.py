"""Where notices go: a terminal, a webhook, and what the `apprise` library reaches; each implements the Channel port."""
