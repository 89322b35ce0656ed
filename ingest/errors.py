"""Errors of this package. They concern one file or the whole ingest. The tree shows how a user can resolve each.

IngestError
├── PathNotFound            the user names a path that exists
├── NothingToIngest         the user names a folder with files in it
├── InvalidRule             the user corrects the pattern of an ignore rule
├── SourceFailed            the user corrects the address, or waits until the source can be reached
├── UnknownParser           the user names an existing parser, or installs its extra
├── InvalidTag              the user writes the tag otherwise
├── InvalidField            the user writes the metadata otherwise
├── DocumentNotFound        the user names a document that was ingested
├── AmbiguousDocument       the user names it by its id
├── IngestUnderWay          the user waits for the other ingest, or ends it
├── IngestCancelled         the user ingests again
├── ParserUnavailable       the user frees memory or processes, or starts the ingest again
├── PageNotShown            the user reads the document as text
├── ModelUnavailable        the user starts or chooses a suitable model, or ingests without a model
├── LedgerUnavailable       the user frees disk space, or starts or repairs the database
│   └── DamagedRow          the user ingests the document again, or restores a backup
└── FileError               one file failed; the ingest continues with the others
    ├── UnreadableFile      the user corrects the permissions, or repairs the disk
    ├── FileChanging        the user ingests again when no process writes to the file
    ├── FileTooLarge        the user raises ``max_file_mb``, or splits the file
    ├── TextTooLong         the user raises ``max_text_mb``, or splits the file
    ├── TooManyPassages     the user raises ``max_passages``, or splits the file
    ├── ParserTimeout       the user raises the time limit, or splits the file
    ├── ParserOutOfMemory   the user raises the memory limit, or splits the file
    ├── ParserCrashed       the user saves the file again, or chooses another parser
    ├── FigureNotDescribed  the user turns off figure descriptions, or repairs the file
    ├── ModelFailed         the user ingests again when the model answers, or ingests without a model
    ├── InternalError       the user reports it
    └── ParseError
        ├── EmptyDocument       the file has no text; a scan needs text recognition
        │   └── EmptyImage      the file is a picture without text; skipped without an error in messages and archives
        ├── EncryptedDocument   the user removes the password
        ├── CorruptDocument     the user repairs or re-exports the file
        └── UnsupportedFormat   the user converts the file
"""

from __future__ import annotations

from base.errors import Explained


class IngestError(Explained):
    """Base of the errors of this package. The message says what failed, why, and what to do."""


class PathNotFound(IngestError):
    """A path to ingest does not exist."""


class NothingToIngest(IngestError):
    """The paths exist, but contain no file."""


class InvalidRule(IngestError):
    """A pattern of what to leave out is invalid, or the file with it cannot be read."""


class SourceFailed(IngestError):
    """A source cannot be read. Its documents are kept unchanged."""


class UnknownParser(IngestError):
    """No parser of that name, or its library is not installed."""


class InvalidTag(IngestError):
    """A text cannot be a tag of a document."""


class InvalidField(IngestError):
    """A text cannot be metadata of a document."""


class DocumentNotFound(IngestError):
    """No ingested document has that id, path or name."""


class AmbiguousDocument(IngestError):
    """Several ingested documents match that id, path or name."""


class IngestUnderWay(IngestError):
    """Another process is changing the collection."""


class IngestCancelled(IngestError):
    """The ingest was cancelled while it worked on a file. The next ingest reads that file."""


class ParserUnavailable(IngestError):
    """The parser processes did not start, or were closed. No file caused this."""


class PageNotShown(IngestError):
    """A page cannot be rendered because the document has no such page or is damaged."""


class LedgerUnavailable(IngestError):
    """The ledger's database cannot be read or written."""


class DamagedRow(LedgerUnavailable):
    """The row of a document has a value that is not valid."""


class FileError(IngestError):
    """One file cannot be ingested. The ingest continues with the others."""


class ModelUnavailable(IngestError):
    """The ingest needs a model, but the model does not answer or does not support the task."""


class FigureNotDescribed(FileError):
    """A page with figures cannot be rendered for the model."""


class ModelFailed(FileError):
    """The model gave no answer for this document. The next ingest retries."""


class UnreadableFile(FileError):
    """The operating system refuses to read the file."""


class FileChanging(FileError):
    """The file changed during every attempt to read it, because another process writes to it."""


class FileTooLarge(FileError):
    """The file exceeds the size limit in the settings."""


class TextTooLong(FileError):
    """The text of the file exceeds the limit in the settings."""


class TooManyPassages(FileError):
    """The file has more passages than the settings allow."""


class ParserTimeout(FileError):
    """The parser exceeded its time limit."""


class ParserOutOfMemory(FileError):
    """The parser exceeded its memory limit."""


class ParserCrashed(FileError):
    """The parser exited, or raised an unexpected error."""


class InternalError(FileError):
    """The file caused an unexpected error in Candor or in a library."""


class ParseError(FileError):
    """The file was read, but has no text that can be extracted."""


class EmptyDocument(ParseError):
    """The file has no text."""


class EmptyImage(EmptyDocument):
    """The file is an image on which no text was recognised."""


class EncryptedDocument(ParseError):
    """The file needs a password."""


class CorruptDocument(ParseError):
    """The file is damaged, or its content does not match its format."""


class UnsupportedFormat(ParseError):
    """No parser reads this format."""
