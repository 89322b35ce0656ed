"""Ingests of archives, messages and unusual files."""

from __future__ import annotations

import os
from email.message import EmailMessage
from pathlib import Path

import pytest

from support.opened import opened_files
from support.workplace import BREAD, PUMPS, CountingParser, Workplace, write_zip


def test_the_members_of_an_archive_are_documents(workplace: Workplace) -> None:
    archive = write_zip(workplace.documents / "a.zip", inner__pumps=PUMPS, bread=BREAD, empty="")
    os.utime(archive, (1, 1))
    report = workplace.ingest()
    assert workplace.states() == {
        "a.zip": "indexed", "a.zip/inner/pumps.md": "indexed", "a.zip/bread.md": "indexed", "a.zip/empty.md": "failed"
    }  # fmt: skip
    assert (report.files, report.indexed, len(report.failed)) == (4, 3, 1)
    assert report.failed[0].reason.startswith(f"{archive.as_posix()}/empty.md is empty")
    assert workplace.searched("heat pump")[0] == "a.zip/inner/pumps.md"

    again = workplace.ingest()
    assert (again.files, again.unchanged, again.failed_before) == (4, 3, 1)
    write_zip(archive, bread=BREAD, empty="# Full\n\nNow.\n")
    changed = workplace.ingest()
    assert (changed.indexed, changed.unchanged, changed.removed) == (2, 1, ("a.zip/inner/pumps.md",))
    assert sorted(workplace.searched("anything")) == ["a.zip/bread.md", "a.zip/empty.md"]
    archive.unlink()
    workplace.write("other.md", PUMPS)
    assert set(workplace.ingest(sync=True).removed) == {"a.zip", "a.zip/bread.md", "a.zip/empty.md"}


def test_a_message_and_its_attachments_are_documents(workplace: Workplace) -> None:
    message = EmailMessage()
    message["Subject"] = "About pumps"
    message.set_content("Please read the attached file.")
    message.add_attachment(PUMPS, filename="pumps.md")
    workplace.write("mail.eml", message.as_bytes())
    assert workplace.ingest().failed == ()
    assert workplace.states() == {"mail.eml": "indexed", "mail.eml/pumps.md": "indexed"}
    assert len(workplace.chunks(workplace.documents / "mail.eml")) == 1


def test_a_broken_archive_does_not_stop_other_files(workplace: Workplace) -> None:
    workplace.write("a.zip", b"PK\x03\x04" + bytes(100))
    workplace.write("bread.md", BREAD)
    report = workplace.ingest()
    assert [record.name for record in report.failed] in (["a.zip"], ["a.zip/(the rest)"])
    assert report.failed[0].reason
    assert "bread.md" in workplace.searched("bread")


def test_half_a_character_in_a_property_does_not_stop_the_ingest(workplace: Workplace) -> None:
    workplace.write("mail.eml", "Subject: =?utf-7?q?+2AA-?= of pumps\n\nThe valve of the pump leaks.\n")
    workplace.write("bread.md", BREAD)
    assert workplace.ingest().failed == ()
    assert workplace.ledger.find("papers", "mail.eml").metadata["subject"] == "\ufffd of pumps"


def test_a_line_break_in_a_name_begins_no_line(workplace: Workplace) -> None:
    path = workplace.write("pumps.md\n=== manual.pdf.md", PUMPS)
    assert workplace.ingest().failed == ()
    assert workplace.states() == {r"pumps.md\n=== manual.pdf.md": "indexed"}
    assert [chunk.name for chunk in workplace.chunks(path)] == [r"pumps.md\n=== manual.pdf.md"]
    assert workplace.ingest().unchanged == 1


def test_a_file_that_changes_while_it_is_read_is_read_again(workplace: Workplace) -> None:
    path = workplace.write("pumps.md", PUMPS)
    parser = CountingParser(lambda _: path.write_text(BREAD) if len(parser.parsed) == 1 else None)
    assert workplace.ingest(parser=parser).indexed == 1
    assert "Knead" in workplace.chunks(path)[0].text


def test_a_file_that_never_stops_changing_fails(workplace: Workplace) -> None:
    path = workplace.write("log.txt", "line\n")
    parser = CountingParser(lambda _: path.write_text("line\n" * (len(parser.parsed) + 1)))
    failed = workplace.ingest(parser=parser).failed[0]
    assert (failed.stage.value, "changed while it was read" in failed.reason) == ("reading", True)


def test_a_file_over_the_size_limit_is_not_opened(workplace: Workplace) -> None:
    with workplace.write("huge.txt", "").open("wb") as huge:
        huge.truncate(1 << 30)
    with opened_files() as opened:
        failed = workplace.ingest().failed[0]
    assert not [path for path in opened if path.endswith("huge.txt")]
    assert (failed.stage.value, failed.size) == ("reading", 1 << 30)
    assert "1,024 MB; the limit is 200 MB" in failed.reason


def test_circular_links_are_skipped_or_fail_with_a_reason(workplace: Workplace) -> None:
    (workplace.documents / "round").symlink_to("round")
    workplace.write("sub/pumps.md", PUMPS)
    (workplace.documents / "sub/up").symlink_to("..")
    report = workplace.ingest()
    assert "Too many levels of symbolic links" in report.failed[0].reason
    assert workplace.states() == {"sub/pumps.md": "indexed", "round": "failed", "sub/up": "skipped"}


def test_a_file_that_root_cannot_read_fails(workplace: Workplace) -> None:
    memory = Path("/proc/self/mem")  # opens, and refuses to be read where nothing is mapped
    if not memory.exists():
        pytest.skip("this system has no file that opens but cannot be read")
    failed = workplace.ingest(memory).failed[0]
    assert (failed.stage.value, "cannot be read" in failed.reason) == ("reading", True)


def test_a_file_name_may_contain_any_character(workplace: Workplace) -> None:
    odd = "".join(chr(code) for code in range(1, 128) if chr(code) not in "/.") + "äß漢\u202e\u0000"[:-1] + ".md"
    workplace.write(odd, PUMPS)
    assert workplace.ingest().indexed == 1
    shown = "".join(repr(each)[1:-1] if ord(each) < 32 or ord(each) == 127 else each for each in odd)
    assert workplace.chunks()[0].name == shown
    assert workplace.ingest().unchanged == 1


def test_every_file_reaches_a_terminal_state(workplace: Workplace) -> None:
    workplace.write("pumps.md", PUMPS)
    workplace.write("empty.md", "")
    workplace.write(".hidden", "x")
    write_zip(workplace.documents / "a.zip", bread=BREAD)
    workplace.ingest()
    assert set(workplace.states().values()) == {"indexed", "failed", "skipped"}


def test_the_language_is_detected_from_running_text(workplace: Workplace) -> None:
    workplace.write("mietvertrag.md", "# Mietvertrag\n\nDer Mieter haftet für alle Schäden, die er verursacht.\n")
    workplace.write("runners.csv", "Runner,Race\nIngrid Fjellanger,Vinterholm\nJónas Brekkuson,Tarrowgate\n")
    workplace.write("prices.csv", "产品名称,价格说明\n空气源热泵,含税价格\n电辅助加热器,不含安装费用\n")
    workplace.ingest()
    languages = {
        record.name: record.metadata.get("language")
        for record in (
            workplace.ledger.find("papers", name) for name in ("mietvertrag.md", "runners.csv", "prices.csv")
        )
    }
    assert languages == {"mietvertrag.md": "de", "runners.csv": None, "prices.csv": "zh"}
