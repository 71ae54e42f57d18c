"""`fairwitness demo`: the whole story with what is built in."""

from typing import Annotated

from cyclopts import Parameter

from fairwitness.audits.demo import DemoConfig


def demo(config: Annotated[DemoConfig | None, Parameter(name="*")] = None) -> None:
    """Audit the built-in examples with the built-in models, and write one report."""
    from fairwitness.audits.demo import demo as run_demo

    print(run_demo(config or DemoConfig()))
