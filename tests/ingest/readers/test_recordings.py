"""Recordings, transcribed by unstructured. A stand-in takes the place of its speech model, which must be downloaded."""

from __future__ import annotations

import wave
from pathlib import Path

import pytest

from ingest.errors import UnsupportedFormat
from ingest.parser import load_parser

SAID = [
    {"text": " The pump was replaced in March.", "start": 0.0, "end": 2.5},
    {"text": " It is quiet", "start": 3.0, "end": 4.0},
    {"text": " now.", "start": 4.0, "end": 3661.25},
]


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    with wave.open(str(tmp_path / "meeting.wav"), "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(8000)
        sound.writeframes(bytes(8000))
    return tmp_path / "meeting.wav"


def test_a_recording_is_read_with_the_times_of_its_sentences(recording: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    speech = pytest.importorskip("unstructured.partition.utils.speech_to_text.speech_to_text_interface")

    class Ear(speech.SpeechToTextAgent):  # type: ignore[misc]  # the module is imported at run time
        def transcribe_segments(self, audio_path: str, *, language: str | None = None) -> list[dict[str, object]]:
            assert audio_path == str(recording)
            return SAID

    monkeypatch.setattr(speech.SpeechToTextAgent, "get_agent", lambda *_: Ear())
    document = load_parser("default").parse(recording)
    assert document.text == "(00:00:00) The pump was replaced in March.\n(00:00:03) It is quiet now."


def test_without_a_speech_model_the_reason_says_what_to_install(recording: Path) -> None:
    with pytest.raises(
        UnsupportedFormat, match=r"was not transcribed: .*pip install 'unstructured\[audio\]'.*transcript"
    ):
        load_parser("default").parse(recording)
