"""What stands inside a line: links, tags, block ids; and the words that remain."""

import pytest

from bridge.inline import plain
from bridge.model import Block, Link, NotePath
from bridge.parse import parse


def links(text: str) -> list[Link]:
    return list(parse(NotePath("Note.md"), text.encode()).links)


def tags(text: str) -> list[str]:
    return list(parse(NotePath("Note.md"), text.encode()).tags)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[[Note]]", Link("Note", "link", 1)),
        ("[[Folder/Note]]", Link("Folder/Note", "link", 1)),
        ("[[Note|shown]]", Link("Note", "link", 1, alias="shown")),
        ("[[Note#Part]]", Link("Note", "link", 1, heading="Part")),
        ("[[Note#Part#Inner|shown]]", Link("Note", "link", 1, heading="Part#Inner", alias="shown")),
        ("[[Note#^id]]", Link("Note", "link", 1, block="id")),
        ("[[#Part]]", Link("", "link", 1, heading="Part")),
        ("[[#^id]]", Link("", "link", 1, block="id")),
        ("![[Note]]", Link("Note", "embed", 1)),
        ("![[photo.png|300]]", Link("photo.png", "embed", 1, alias="300")),
        ("| [[Note\\|shown]] |", Link("Note", "link", 1, alias="shown")),
        ("[[ Note ]]", Link("Note", "link", 1)),
        ("[[Note [1]]]", Link("Note [1", "link", 1)),
        ("[shown](Note.md)", Link("Note.md", "link", 1, alias="shown")),
        ("[shown](My%20Note.md)", Link("My Note.md", "link", 1, alias="shown")),
        ("[shown](<My Note.md>)", Link("My Note.md", "link", 1, alias="shown")),
        (
            '[shown](Note.md#Part%20two "hover")',
            Link("Note.md", "link", 1, heading="Part two", alias="shown"),
        ),
        ("[shown](Note.md#^id)", Link("Note.md", "link", 1, block="id", alias="shown")),
        ("[shown](#Part)", Link("", "link", 1, heading="Part", alias="shown")),
        ("[shown](a_(b).md)", Link("a_(b).md", "link", 1, alias="shown")),
        ("[a [b] c](Note.md)", Link("Note.md", "link", 1)),
        ("![alt](photo.png)", Link("photo.png", "embed", 1, alias="alt")),
        ("[](C%23.md)", Link("C#.md", "link", 1)),
        ("**[[Note]]**", Link("Note", "link", 1)),
        ("> - [[Note]]", Link("Note", "link", 1)),
        ("# [[Note]]", Link("Note", "link", 1)),
        ("\\![[Note]]", Link("Note", "link", 1)),
        ("one ` two [[Note]]", Link("Note", "link", 1)),
        ("costs $5 and [[Note]] $6", Link("Note", "link", 1)),
        ("100%% sure of [[Note]]", Link("Note", "link", 1)),
        ("a\n\n- b ` c\n- [[Note]] ` d", Link("Note", "link", 4)),
    ],
)
def test_a_link(text: str, expected: Link) -> None:
    """Each spelling of a link gives its target, heading, block, alias, kind and line."""
    assert [expected] == links(text)


@pytest.mark.parametrize(
    "text",
    [
        "`[[code]]`",
        "``a ` [[code]]``",
        "`a\n[[code]]`",
        "```\n[[code]]\n```",
        "````\n```\n[[code]]\n````",
        "~~~\n[[code]]\n```\n[[code]]\n~~~",
        "```js\n[[code]]",
        "- item\n  ```\n  [[code]]\n  ```",
        "- ```\n  [[code]]\n  ```",
        "> ```\n> [[code]]\n> ```",
        "> [!note]\n> ```\n> [[code]]\n> ```",
        "text\n\n    [[code]]",
        "\t[[code]]",
        "- item\n\n      [[code]]",
        "$[[math]]$",
        "$$\n[[math]]\n$$",
        "$$ [[math]] $$",
        "text $$ x\n[[math]] $$",
        "%%[[comment]]%%",
        "%%\n[[comment]]\n\n[[comment]]\n%%",
        "text %% begins\n[[comment]]\nends %%",
        "%%\n[[comment]]",
        "$$ and %% begins\n[[comment]] %%",
        "<!-- [[comment]] -->",
        "<!--\n\n[[comment]]\n-->",
        "\\[[escaped]]",
        "[web](https://example.org/a)",
        "[mail](mailto:someone@example.com)",
        "[app](obsidian://open?vault=x)",
        "[[]]",
        "[[ ]]",
        "[empty]()",
        "![](data:image/png;base64,AAAA)",
        "[[two\nlines]]",
    ],
)
def test_no_link(text: str) -> None:
    """What Obsidian does not read as a link into the vault is none."""
    assert [] == links(text)


@pytest.mark.parametrize(
    "text",
    [
        "```\ncode\n```\n[[Note]]",
        "> ```\n> code\n[[Note]]",
        "- ```\n  code\n  ```\n\n[[Note]]",
        "%%\nhidden\n%% [[Note]]",
        "[[Note]] %% hidden\nhidden %%",
        "%%a%% [[Note]] %%b%%",
        "$$\nx\n$$\n[[Note]]",
        "$$ never closed\n\n[[Note]]",
        "``` `not a fence\n[[Note]]",
        "- item\n\n    [[Note]]",
        "text\n    [[Note]]",
        "1. item\n   - inner\n\n     [[Note]]",
        "<% template %> [[Note]]",
    ],
)
def test_a_link_beside_what_hides(text: str) -> None:
    """Code, math and comments hide what is inside them and nothing else."""
    assert ["Note"] == [link.target for link in links(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#tag", ["tag"]),
        ("a #tag, #other.", ["tag", "other"]),
        ("#nested/tag/", ["nested/tag"]),
        ("#y2024 #2024 #2024/05x", ["y2024", "2024/05x"]),
        ("#Tag #tag #TAG", ["Tag"]),
        ("#标签，后面", ["标签"]),
        ("#приклад #αβγ #वर्ग", ["приклад", "αβγ", "वर्ग"]),
        ("#🌱 #a🌱b", ["🌱", "a🌱b"]),
        ("(#tag) *#other*", ["tag", "other"]),
        ("#snake_case-kebab", ["snake_case-kebab"]),
        ("> #quoted\n- #listed", ["quoted", "listed"]),
        ("# Heading #tag", ["tag"]),
        ("##twice", []),
        ("# heading", []),
        ("a#b https://example.org/#top", []),
        ("[x](Note.md#tag) [[Note#tag]] <a href='#tag'>x</a>", []),
        ("`#code` $#math$ %%#comment%%", []),
        ("\\#escaped", []),
    ],
)
def test_tags(text: str, expected: list[str]) -> None:
    """A tag begins a word, holds something beside digits, and counts once in any case."""
    assert expected == tags(text)


def test_block_ids() -> None:
    """A block id ends its line, wherever the line stands, and is none inside code."""
    text = "para ^a\n- item ^b-2\n\n^own\n\n# Head ^h\n`x ^c`d\n2^10\n```\ncode ^d\n```\n| row | ^e"

    assert (
        Block("a", 1),
        Block("b-2", 2),
        Block("own", 4),
        Block("h", 6),
        Block("e", 12),
    ) == parse(NotePath("Note.md"), text.encode()).blocks


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see [[Note]] and [[Note|that one]]", "see Note and that one"),
        ("[[Note#Part]] [[#Part]]", "Note Part Part"),
        ("before ![[photo.png]] after", "before  after"),
        ("[shown](Note.md) ![alt](x.png)", "shown alt"),
        ("[![badge](a.png)](b.md) text", "[badge text"),
        ("**bold** ==marked== ~~gone~~", "bold marked gone"),
        ("use `ls -l` or ``a`b``", "use ls -l or a`b"),
        ("%%secret%% said <!-- x -->", "said"),
        ("{{title}} <% tp.now() %> stays", "stays"),
        ("## Heading", "Heading"),
        ("- [x] done\n> quoted\n> [!tip]+ Title\n1. first", "done\nquoted\nTitle\nfirst"),
        ("fact.[^1]\n[^1]: source", "fact.\nsource"),
        ("words ^block-id", "words"),
        ("#only #tags\na #tag inside", "a tag inside"),
        ("<b>bold</b> <https://example.org>", "bold https://example.org"),
        ("2024 was $5", "2024 was $5"),
        ("\\*not\\* emphasis", "*not* emphasis"),
    ],
)
def test_plain(text: str, expected: str) -> None:
    """Only the words that a reader sees are left."""
    assert expected == plain(text)
