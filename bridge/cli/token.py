"""`transom token`: the keys by which programs and people may ask."""

from collections.abc import Mapping
from typing import Any

import click

from bridge.cli.call import Call, common
from bridge.cli.verbs import token, verbs


@click.group()
def command() -> None:
    """Show, create, list and revoke keys."""


@command.command()
@common()
def show(call: Call) -> None:
    """Print the first key, which may do everything; it is made if there is none yet."""
    found = token(call)
    if not found:
        with verbs(call) as bridge:
            bridge.keys()
            found = token(call)
    call.show({"name": "owner", "token": found}, _print_token)


@command.command()
@click.argument("name")
@click.option("--read-only", is_flag=True, help="It may not write.")
@click.option("--allow", multiple=True, metavar="GLOB", help="It sees these notes alone; may be given again.")
@click.option(
    "--deny", multiple=True, metavar="GLOB", help="It sees nothing of these notes; wins over --allow."
)
@click.option("--transcripts", is_flag=True, help="It sees transcripts too.")
@common()
def create(
    call: Call, name: str, read_only: bool, allow: tuple[str, ...], deny: tuple[str, ...], transcripts: bool
) -> None:
    """Make a key called NAME and print it, this once."""
    asked = {
        "name": name,
        "read_only": read_only,
        "allow": list(allow),
        "deny": list(deny),
        "transcripts": transcripts,
    }
    with verbs(call) as bridge:
        call.show(bridge.create_key(asked), _print_token)


@command.command(name="list")
@common()
def list_(call: Call) -> None:
    """List the keys and what each may see and do."""
    with verbs(call) as bridge:
        call.show(bridge.keys()["keys"], _print_keys)


@command.command()
@click.argument("name")
@common()
def revoke(call: Call, name: str) -> None:
    """Make a key worthless from now on; the first one is replaced by a new one."""
    with verbs(call) as bridge:
        call.show(bridge.revoke_key(name), lambda answer: click.echo(f"{answer['name']} is revoked."))


def _print_token(answer: Mapping[str, Any]) -> None:
    click.echo(answer["token"])


def _print_keys(keys: list[Mapping[str, Any]]) -> None:
    for key in keys:
        click.echo(f"{key['name']:20} {key['created_at'][:10]}  {_rights(key)}")


def _rights(key: Mapping[str, Any]) -> str:
    rights = ["reads" if key["read_only"] else "reads and writes"]
    rights += [f"only {', '.join(key['allow'])}"] if key["allow"] else []
    rights += [f"never {', '.join(key['deny'])}"] if key["deny"] else []
    rights += [] if key["transcripts"] else ["no transcripts"]
    return "; ".join(rights)
