"""Prints saved plans and proposed templates."""

from __future__ import annotations

import json

from rich.console import Console
from rich.text import Text

from multi_agent.values.plan import Plan


def show_plan(console: Console, question: str, plan: Plan) -> None:
    """Print the goal, the parameters and the steps of a plan."""
    console.print(Text("saved from  ", style="bold") + Text(question), soft_wrap=True)
    console.print(Text("goal        ", style="bold") + Text(plan.goal), soft_wrap=True)
    for parameter in plan.parameters:
        default = f" (default: {parameter.default!r})" if parameter.default is not None else ""
        named = Text(f"{parameter.name}: {parameter.meaning}{default}")
        console.print(Text("parameter   ", style="bold") + named, soft_wrap=True)
    for number, step in enumerate(plan.steps, start=1):
        after = f", after {', '.join(step.after)}" if step.after else ""
        heading = f"{number}. {step.id} ({', '.join(step.agents)}{after})"
        console.print(Text(heading, style="bold"), soft_wrap=True)
        if step.instruction:
            console.print(Text(f"   {step.instruction}"), soft_wrap=True)
        for name, value in step.settings.items():
            shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            console.print(Text(f"   {name}: {shown}"), soft_wrap=True)
