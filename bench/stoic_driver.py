"""Our driver for the harness: the embedded runtime over a SQLite log (synchronous=FULL), streaming always.

--opt effect=read|write   what the one tool declares (default read; `write` is what an undeclared tool counts as)
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "harness"))
from harness import SYSTEM, Driver, echo, main

AGENT = """
from stoic import Agent, tool
@tool(effect="read")
def echo(key: str) -> str:
    "Echo the key."
    return key
agent = Agent("openai:gpt-5", tools=[echo])
"""
READY = """
import asyncio, ssl
from stoic import Runtime
async def main():
    async with Runtime("stoic.db") as runtime:
        runtime.connection(agent.model)
        ssl.create_default_context()  # what the first request to an https URL does
asyncio.run(main())
"""
HELP = """
import sys
from stoic.cli import main
sys.argv = ["stoic", "--help"]
main()
"""


class Stoic(Driver):
    name = "stoic"
    apis = ("chat",)
    imports = "from stoic import Agent, Runtime, tool"
    steps = {"agent": AGENT, "ready": "import os; os.environ['OPENAI_API_KEY'] = 'x'" + AGENT + READY, "help": HELP}

    async def open(self):
        from stoic import Agent, Runtime, tool
        from stoic.settings import Access, Secret, Settings

        settings = Settings(
            database=str(self.db / "stoic.db"),
            access={"openai-chat": Access(base_url=self.base_url + "/v1", key=Secret("sk-mock"))},
        )
        self.runtime = await Runtime(settings=settings).__aenter__()
        self.agent = Agent(
            "openai-chat:gpt-mock",
            instructions=SYSTEM,
            tools=[tool(effect=self.opts.get("effect", "read"))(echo)],
            permissions="allow",
            max_rounds=self.max_rounds,
        )

    async def turn(self, thread, text):
        outcome = await self.runtime.thread(thread, self.agent).run(text)
        if outcome.outcome != "completed":
            raise RuntimeError(f"{outcome.outcome}: {outcome.message}")
        return outcome.text

    async def stream(self, thread, text):
        async for event in self.runtime.thread(thread, self.agent).send(text):
            if type(event).__name__ == "TextDelta":
                yield event.text

    async def recover(self, threads, texts):
        import asyncio

        await asyncio.gather(*(self.runtime.thread(thread, self.agent).resume() for thread in threads))

    async def close(self):
        await self.runtime.__aexit__(None, None, None)


if __name__ == "__main__":
    main(Stoic)
