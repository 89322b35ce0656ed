"""Archives and messages are unpacked within limits. Nothing is written outside the folder or skipped silently."""

from __future__ import annotations

import base64
import bz2
import gzip
import io
import lzma
import random
import struct
import tarfile
import zipfile
from collections.abc import Mapping
from email.message import EmailMessage
from pathlib import Path

import pytest

from ingest.containers.entries import ENTRIES
from ingest.containers.unpack import REST, ContainerKind, ContainerLimits, Member, container_kind, expand
from support.files import write_docx, write_pdf, write_xlsx

MB = 1 << 20
NOISE = random.Random(3).randbytes(80_000)  # cannot be compressed


def zip_of(path: Path, files: Mapping[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def tar_of(path: Path, files: Mapping[str, bytes], mode: str = "w") -> Path:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


def expanded(path: Path, **limits: int) -> list[Member]:
    folder = path.parent / "unpacked"
    folder.mkdir(exist_ok=True)
    return list(expand(path, ContainerLimits(**limits), folder))


def contents(path: Path, **limits: int) -> dict[str, bytes | str]:
    """Return the content of each member, or the reason why it was rejected."""
    return {m.name: m.path.read_bytes() if m.path else m.reason for m in expanded(path, **limits)}


# Kinds of containers


def test_office_files_are_documents(tmp_path: Path) -> None:
    assert container_kind(write_docx(tmp_path / "a.docx", ["text"])) is None
    assert container_kind(write_xlsx(tmp_path / "a.xlsx", {"Sheet": [["1"]]})) is None
    assert container_kind(zip_of(tmp_path / "a.epub", {"mimetype": b"application/epub+zip", "a.html": b""})) is None
    assert container_kind(write_pdf(tmp_path / "a.pdf")) is None


def test_a_damaged_document_is_still_a_document(tmp_path: Path) -> None:
    whole = write_docx(tmp_path / "a.docx", ["text"]).read_bytes()
    (tmp_path / "cut.docx").write_bytes(whole[: len(whole) // 2])
    assert container_kind(tmp_path / "cut.docx") is None


def test_containers_are_recognised_by_their_content(tmp_path: Path) -> None:
    assert container_kind(zip_of(tmp_path / "a.bin", {"a.txt": b"a"})) is ContainerKind.ZIP
    for mode in ("w", "w:gz", "w:bz2", "w:xz"):
        assert container_kind(tar_of(tmp_path / "b.bin", {"a.txt": b"a"}, mode)) is ContainerKind.TAR
    (tmp_path / "c.txt.gz").write_bytes(gzip.compress(b"words"))
    assert container_kind(tmp_path / "c.txt.gz") is ContainerKind.COMPRESSED


# Members


@pytest.mark.parametrize("ending", ["zip", "tar", "tar.gz", "tar.bz2", "tar.xz"])
def test_every_file_is_unpacked_with_its_name(tmp_path: Path, ending: str) -> None:
    files = {"report.txt": b"one", "inner/plan.md": b"# two", "inner/Größe 名.txt": b"three"}
    path = tmp_path / f"a.{ending}"
    if ending == "zip":
        zip_of(path, files)
    else:
        tar_of(path, files, f"w:{ending.removeprefix('tar').removeprefix('.')}")
    assert contents(path) == files


@pytest.mark.parametrize(("ending", "pack"), [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)])
def test_a_compressed_file_loses_its_second_suffix(tmp_path: Path, ending: str, pack: object) -> None:
    assert callable(pack)
    (tmp_path / f"note.txt.{ending}").write_bytes(pack(b"some words"))
    assert contents(tmp_path / f"note.txt.{ending}") == {"note.txt": b"some words"}


def test_copies_keep_their_suffix(tmp_path: Path) -> None:
    (member,) = expanded(zip_of(tmp_path / "a.zip", {"in/" + "x" * 300 + ".PDF": b"%PDF"}))
    assert member.path is not None
    assert member.path.suffix == ".PDF"


def test_nested_archives_are_unpacked(tmp_path: Path) -> None:
    inner = zip_of(tmp_path / "inner.zip", {"deep.txt": b"deep"}).read_bytes()
    packed = tar_of(tmp_path / "middle.tgz", {"in/inner.zip": inner, "note.txt": b"note"}, "w:gz").read_bytes()
    outer = zip_of(tmp_path / "outer.zip", {"middle.tgz": packed})
    assert contents(outer) == {"middle.tgz/in/inner.zip/deep.txt": b"deep", "middle.tgz/note.txt": b"note"}


def test_a_message_is_a_document_with_attachments(tmp_path: Path) -> None:
    forwarded = EmailMessage()
    forwarded["Subject"] = "Earlier"
    forwarded.set_content("What was written before.")
    message = EmailMessage()
    message.set_content("See the attachments.")
    message.add_alternative("<p>See the attachments.</p>", subtype="html")
    message.add_attachment(b"%PDF-1.7", maintype="application", subtype="pdf", filename="Übersicht 1.pdf")
    message.add_attachment("a;b", filename="data.csv")
    message.add_attachment(forwarded)
    (tmp_path / "m.eml").write_bytes(message.as_bytes())
    found = contents(tmp_path / "m.eml")
    assert ContainerKind.MAIL.is_document
    assert found["Übersicht 1.pdf"] == b"%PDF-1.7"
    assert found["data.csv"].strip() == b"a;b"  # type: ignore[union-attr]
    assert b"What was written before." in found["attachment 3.eml"]  # type: ignore[operator]
    assert len(found) == 3


def test_a_message_without_attachments_has_no_members(tmp_path: Path) -> None:
    message = EmailMessage()
    message.set_content("Only words.")
    (tmp_path / "m.eml").write_bytes(message.as_bytes())
    assert contents(tmp_path / "m.eml") == {}


# Rejected members


@pytest.mark.parametrize("ending", ["zip", "tar"])
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("../../etc/passwd", "leads out"),
        ("in/../../x.txt", "leads out"),
        ("..\\..\\x.txt", "leads out"),
        ("/etc/passwd", "absolute"),
        ("C:\\Windows\\x.txt", "absolute"),
        ("\\\\server\\x.txt", "absolute"),
        (".ssh/id", "hidden"),
        ("__MACOSX/x.txt", "hidden"),
    ],
)
def test_names_that_leave_the_container_are_rejected(tmp_path: Path, ending: str, name: str, reason: str) -> None:
    make = zip_of if ending == "zip" else tar_of
    path = make(tmp_path / f"a.{ending}", {name: b"x"})
    (member,) = expanded(path)
    assert member.path is None
    assert reason in member.reason
    assert [found.name for found in tmp_path.rglob("*") if found.is_file()] == [path.name]


def test_unprintable_names_are_escaped(tmp_path: Path) -> None:
    path = tar_of(tmp_path / "a.tar", {"line\nbreak\x1b[31m.txt": b"1", "a*b?c|d.txt": b"2", "x" * 2000: b"3"})
    first, second, third = expanded(path)
    assert (first.name, second.name) == ("line\\nbreak\\x1b[31m.txt", "a*b?c|d.txt")
    assert first.path
    assert second.path
    assert "too long" in third.reason


def test_links_and_devices_are_rejected(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        for number, kind in enumerate((tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE)):
            info = tarfile.TarInfo(f"{number}.txt")
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
    assert set(contents(tmp_path / "a.tar").values()) == {"it is a link or a device"}
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        link = zipfile.ZipInfo("link.txt")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
    assert contents(tmp_path / "a.zip") == {"link.txt": "it is a link or a device"}


def test_encrypted_files_are_rejected(tmp_path: Path) -> None:
    data = bytearray(zip_of(tmp_path / "a.zip", {"a.txt": b"secret"}).read_bytes())
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.find(mark) + offset] |= 1
    (tmp_path / "a.zip").write_bytes(data)
    assert contents(tmp_path / "a.zip") == {"a.txt": "it is encrypted"}


def test_a_second_file_with_the_same_name_is_rejected(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        for content in (b"first", b"other"):
            info = tarfile.TarInfo("a.txt")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    first, second = expanded(tmp_path / "a.tar")
    assert first.path is not None
    assert first.path.read_bytes() == b"first"
    assert second.reason == "another file has the same name"


def test_a_damaged_member_does_not_affect_the_others(tmp_path: Path) -> None:
    path = zip_of(tmp_path / "a.zip", {"a.txt": NOISE, "b.txt": b"intact"})
    data = bytearray(path.read_bytes())
    data[40:50] = b"\xff" * 10
    path.write_bytes(data)
    found = contents(path)
    assert "damaged" in str(found["a.txt"])
    assert found["b.txt"] == b"intact"


@pytest.mark.parametrize("ending", ["zip", "tar.gz", "gz"])
def test_a_truncated_container_is_reported(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"a.{ending}"
    match ending:
        case "zip":
            zip_of(path, {"a.txt": NOISE})
        case "gz":
            path.write_bytes(gzip.compress(NOISE))
        case _:
            tar_of(path, {"a.txt": NOISE}, "w:gz")
    path.write_bytes(path.read_bytes()[:30_000])
    (member,) = expanded(path)
    assert member.name == REST
    assert "is damaged" in member.reason


# Limits


def test_a_zip_bomb_is_rejected(tmp_path: Path) -> None:
    path = zip_of(tmp_path / "a.zip", {"bomb.txt": bytes(60 * MB), "b.txt": b"intact"})
    found = contents(path, ratio=100)
    assert found == {"bomb.txt": "it unpacks to more than 100 times its size, like a zip bomb", "b.txt": b"intact"}
    assert sum(file.stat().st_size for file in (tmp_path / "unpacked").rglob("*") if file.is_file()) == 6


@pytest.mark.parametrize("ending", ["tar.gz", "gz"])
def test_a_compressed_bomb_is_rejected(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"a.{ending}"
    if ending == "gz":
        path.write_bytes(gzip.compress(bytes(60 * MB)))
    else:
        tar_of(path, {"bomb.txt": bytes(60 * MB)}, "w:gz")
    (member,) = expanded(path, ratio=100)
    assert (member.name, member.path) == (REST, None)
    assert "unpacks to more than" in member.reason


def test_a_bomb_with_a_false_size_is_rejected(tmp_path: Path) -> None:
    path = zip_of(tmp_path / "a.zip", {"bomb.txt": bytes(60 * MB)})
    data = bytearray(path.read_bytes())
    entry = data.rfind(b"PK\x01\x02")
    data[entry + 24 : entry + 28] = struct.pack("<I", 100)  # the unpacked size in its header
    path.write_bytes(data)
    (member,) = expanded(path)
    assert member.path is None
    assert member.reason


def test_a_tar_header_that_needs_much_memory_is_rejected(tmp_path: Path) -> None:
    info = tarfile.TarInfo("a")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, 1500 * MB
    (tmp_path / "a.tar").write_bytes(info.tobuf() + bytes(1 * MB))
    (member,) = expanded(tmp_path / "a.tar")
    assert (member.name, member.path) == (REST, None)


def test_a_zip_with_a_huge_file_list_is_not_opened(tmp_path: Path) -> None:
    path = zip_of(tmp_path / "a.zip", {"a.txt": b"a"})
    path.write_bytes(b"PK\x03\x04" + b"PK\x01\x02".ljust(46, b"\0") * 100_001 + path.read_bytes())
    assert container_kind(path) is ContainerKind.ZIP
    (member,) = expanded(path)
    assert "lists more than 100000 files" in member.reason


def test_a_message_nested_too_deeply_is_damaged(tmp_path: Path) -> None:
    parts = (f'Content-Type: multipart/mixed; boundary="b{level}"\n\n--b{level}\n' for level in range(5000))
    (tmp_path / "m.eml").write_text("".join(parts))
    (member,) = expanded(tmp_path / "m.eml")
    assert member.name == REST
    assert "damaged" in member.reason


def test_a_zip_of_an_unknown_version_is_rejected(tmp_path: Path) -> None:
    data = bytearray(zip_of(tmp_path / "a.zip", {"a.txt": b"a"}).read_bytes())
    data[data.find(b"PK\x01\x02") + 6] = 99
    (tmp_path / "a.zip").write_bytes(data)
    (member,) = expanded(tmp_path / "a.zip")
    assert "version 9.9" in member.reason


def test_limits_on_count_size_and_depth(tmp_path: Path) -> None:
    many = zip_of(tmp_path / "many.zip", {f"{number}.txt": b"x" for number in range(5)})
    found = contents(many, members=3)
    assert list(found) == ["0.txt", "1.txt", "2.txt", REST]
    assert "more than 3 files" in str(found[REST])

    noise = NOISE * 20
    large = zip_of(tmp_path / "large.zip", {"a": noise, "b": b"small", "c": noise, "d": noise})
    assert contents(large, member_mb=1)["a"] == "it is larger than 1 MB"
    assert contents(large, member_mb=1)["b"] == b"small"
    total = contents(large, total_mb=2)
    assert list(total) == ["a", "b", REST]
    assert "unpacks to more than 2 MB" in str(total[REST])

    nested = b"deepest"
    for level in range(4):
        nested = zip_of(tmp_path / "n.zip", {f"{level}.zip" if level else "0.txt": nested}).read_bytes()
    assert contents(tmp_path / "n.zip", depth=4) == {"3.zip/2.zip/1.zip/0.txt": b"deepest"}
    assert contents(tmp_path / "n.zip", depth=2) == {f"3.zip/2.zip/{REST}": "containers are nested more than 2 deep"}


@pytest.mark.parametrize("encoding", ["gb18030", "shift_jis", "utf-8"])
def test_names_of_members_are_decoded_in_the_encoding_of_their_system(tmp_path: Path, encoding: str) -> None:
    name = {
        "gb18030": "合同与采购价格清单.txt",
        "shift_jis": "見積書と契約の一覧.txt",
        "utf-8": "Übersicht über Prüfungen.txt",
    }[encoding]
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("x" * len(name.encode(encoding)), b"text")
    data = (tmp_path / "a.zip").read_bytes().replace(b"x" * len(name.encode(encoding)), name.encode(encoding))
    (tmp_path / "a.zip").write_bytes(data)
    assert [entry.name for entry in ENTRIES[ContainerKind.ZIP](tmp_path / "a.zip", 1)] == [name]


def test_attachments_with_the_same_name_are_all_unpacked(tmp_path: Path) -> None:
    message = EmailMessage()
    message.set_content("See both.")
    for content in ("first", "second"):
        message.add_attachment(content, filename="scan.txt")
    (tmp_path / "m.eml").write_bytes(message.as_bytes())
    assert contents(tmp_path / "m.eml") == {"scan.txt": b"first\n", "scan 2.txt": b"second\n"}


def test_names_of_attachments_may_be_in_utf8_without_a_code(tmp_path: Path) -> None:
    attached = 'Content-Type: text/plain\nContent-Disposition: attachment; filename="Größe.txt"\n\n5 m\n'
    message = f"Subject: t\nContent-Type: multipart/mixed; boundary=B\n\n--B\n\nSee it.\n--B\n{attached}--B--\n"
    (tmp_path / "m.eml").write_text(message, encoding="utf-8")
    assert contents(tmp_path / "m.eml") == {"Größe.txt": b"5 m"}


def test_files_without_a_name_and_a_message_that_is_one_file_are_unpacked(tmp_path: Path) -> None:
    (tmp_path / "fax.eml").write_text("Subject: Fax\nContent-Type: application/pdf\n\n%PDF-1.4")
    assert contents(tmp_path / "fax.eml") == {"attachment 1.pdf": b"%PDF-1.4"}
    parts = ("text/plain\n\nSee the scan.", "application/pdf\n\n%PDF-1.5", "image/png\nContent-ID: <logo>\n\nx")
    several = "".join(f"--x\nContent-Type: {part}\n" for part in parts)
    (tmp_path / "scan.eml").write_text(f"Subject: Scan\nContent-Type: multipart/mixed; boundary=x\n\n{several}--x--\n")
    assert contents(tmp_path / "scan.eml") == {"attachment 1.pdf": b"%PDF-1.5"}


def mail_of(*parts: str) -> str:
    return (
        "Subject: t\nContent-Type: multipart/mixed; boundary=B\n\n"
        + "".join(f"--B\n{part}\n" for part in parts)
        + "--B--\n"
    )


def test_names_of_attachments_are_labels_and_not_paths(tmp_path: Path) -> None:
    names = ("C:/Users/ada/plan.txt", "/tmp/x.txt", "R: Offerta.txt", "a.txt", "a.txt", "a 2.txt", "")
    parts = (f'Content-Disposition: attachment; filename="{name}"\nContent-Type: text/plain\n\nx' for name in names)
    (tmp_path / "m.eml").write_text(mail_of(*parts))
    expected = ["plan.txt", "x.txt", "R: Offerta.txt", "a.txt", "a 2.txt", "a 2 2.txt", "attachment 7.txt"]
    assert contents(tmp_path / "m.eml") == dict.fromkeys(expected, b"x")


def test_an_attached_message_in_base64_is_decoded(tmp_path: Path) -> None:
    inner = base64.encodebytes(b"Subject: Inner\n\nThe valve leaks.").decode()
    (tmp_path / "m.eml").write_text(
        mail_of(f"Content-Type: message/rfc822\nContent-Transfer-Encoding: base64\n\n{inner}")
    )
    assert contents(tmp_path / "m.eml") == {"attachment 1.eml": b"Subject: Inner\n\nThe valve leaks."}


@pytest.mark.parametrize(
    "fault",
    [f"Content-Type: text/plain; name={'x' * 9000}", "Subject: \x07K\xd1\xf8\xf9"],
)
def test_a_message_with_a_forged_field_does_not_hide_the_others_of_its_mailbox(tmp_path: Path, fault: str) -> None:
    heads = ("Subject: one", fault, "Subject: three")
    start = "From ada@example.org Thu Jan  1 10:00:00 2026"
    (tmp_path / "box.mbox").write_text("".join(f"{start}\n{head}\n\nHello\n\n" for head in heads), "latin-1")
    found = contents(tmp_path / "box.mbox")
    assert {"1 one.eml", "3 three.eml"} <= found.keys()
