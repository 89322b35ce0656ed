"""Model calls and tool calls in full, for ``candor trace --prompts``."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from api.services.research.event_text import format_arguments
from multi_agent.llm.wrappers.journal import JournalEntry
from multi_agent.prompts.show_passages import show_location
from multi_agent.storage.tool_calls import ToolEntry


def show_call(console: Console, entry: JournalEntry) -> None:
    """Print a model call: prompt, thinking, responses, reasons for rejected responses, and repairs."""
    console.print(Text(f"\n═══ {entry.caller or 'call'} → {entry.response_model} ({entry.key[:12]})", style="bold"))
    for message in entry.messages:
        _show_part(console, message.role, message.content)
        for picture in message.pictures:
            console.print(Text(f"─── a picture, not kept: {picture}", style="dim"), soft_wrap=True)
    for exchange in entry.exchanges:
        if exchange.thinking:
            _show_part(console, "thinking", exchange.thinking)
        _show_part(console, "response", exchange.response)
        if exchange.fault:
            console.print(Text(f"─── rejected: {exchange.fault}", style="yellow"), soft_wrap=True)
        for repair in exchange.repairs:
            console.print(Text(f"─── repaired: {repair}", style="yellow"), soft_wrap=True)


def show_tool_call(console: Console, entry: ToolEntry) -> None:
    """Print a tool call: arguments, reason and result."""
    console.print(Text(f"\n═══ {entry.agent} → {entry.tool} ({entry.key[:12]})", style="bold"))
    console.print(Text(f"{format_arguments(entry.arguments)}\n{entry.why}"), soft_wrap=True)
    if entry.result:
        _show_part(console, "result", entry.result.text)
        for chunk in entry.result.passages:
            console.print(Text(f"({show_location(chunk)})", style="dim"), soft_wrap=True)
    else:
        console.print(Text(f"─── {entry.error or 'not finished'}", style="yellow"), soft_wrap=True)


def _show_part(console: Console, name: str, text: str) -> None:
    console.print(Text(f"─── {name}", style="bold"))
    console.print(Text(text), soft_wrap=True)
