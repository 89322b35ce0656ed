"""The attachments of Outlook messages become documents of their own."""

from __future__ import annotations

import random
from email import message_from_bytes
from pathlib import Path

import pytest

from ingest.containers.outlook import attachments
from ingest.containers.unpack import ContainerKind, ContainerLimits, container_kind, expand
from support.compound import Tree, write_compound


def text(key: str, words: str) -> dict[str, bytes]:
    """Return a text property."""
    return {f"__substg1.0_{key}001F": words.encode("utf-16-le")}


def message(path: Path, *attached: Tree) -> Path:
    """Write a message with these attachments."""
    storages = {f"__attach_version1.0_#{number:08X}": tree for number, tree in enumerate(attached)}
    return write_compound(path, {"__properties_version1.0": bytes(32), **text("0037", "Offer"), **storages})


def test_attachments_are_unpacked_with_their_long_names(tmp_path: Path) -> None:
    offer: Tree = {
        **text("3707", "Angebot für Überlingen.pdf"),
        **text("3704", "ANGEBO~1.PDF"),
        "__substg1.0_37010102": b"%PDF-",
    }
    old: Tree = {"__substg1.0_3704001E": "Grüße.txt".encode("cp1252"), "__substg1.0_37010102": b"Hello"}
    path = message(tmp_path / "a.msg", offer, old)
    assert container_kind(path) is ContainerKind.OUTLOOK
    assert ContainerKind.OUTLOOK.is_document
    (tmp_path / "out").mkdir()
    found = {
        m.name: m.path.read_bytes().rstrip(b"\0") for m in expand(path, ContainerLimits(), tmp_path / "out") if m.path
    }
    assert found == {"Angebot für Überlingen.pdf": b"%PDF-", "Grüße.txt": b"Hello"}


def test_a_forwarded_message_is_unpacked_as_mail(tmp_path: Path) -> None:
    inner: Tree = {**text("0037", "Earlier"), **text("0C1A", "Ann"), **text("1000", "What was written before.")}
    path = message(tmp_path / "a.msg", {**text("3001", "Earlier"), "__substg1.0_3701000D": inner})
    ((name, data),) = attachments(path)
    mail = message_from_bytes(data)
    assert (name, mail["Subject"], mail["From"]) == ("Earlier.eml", "Earlier", "Ann")
    assert "What was written before." in str(mail.get_payload(decode=True), "utf-8")


def test_other_compound_files_are_not_containers(tmp_path: Path) -> None:
    assert container_kind(message(tmp_path / "a.doc")) is None
    (tmp_path / "b.msg").write_bytes(b"not a message")
    assert container_kind(tmp_path / "b.msg") is None


@pytest.mark.parametrize("seed", range(20))
def test_damaged_messages_raise_only_documented_errors(tmp_path: Path, seed: int) -> None:
    generator = random.Random(seed)
    path = message(tmp_path / "a.msg", {**text("3707", "a.txt"), "__substg1.0_37010102": b"Hello"})
    damaged = bytearray(path.read_bytes())
    for _ in range(30):
        damaged[generator.randrange(8, len(damaged))] = generator.randrange(256)
    path.write_bytes(damaged[: generator.randrange(600, len(damaged))])
    try:
        list(attachments(path))
    except (OSError, ValueError):
        return
