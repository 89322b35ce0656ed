"""What can go wrong with one file or with a whole ingest, by who must act.

IngestError
├── PathNotFound            the user names a path that exists
├── NothingToIngest         the user names a folder with files in it
├── UnknownParser           the user names a parser there is, or installs its extra
├── DocumentNotFound        the user names a document that was ingested
├── AmbiguousDocument       the user names it more exactly
├── IngestUnderWay          the user waits for the other ingest, or ends it
├── ParserUnavailable       the user frees memory or processes, or starts the ingest again
├── PageNotShown            the user reads the document as text
├── LedgerUnavailable       the user frees the disk, mends or starts the database
└── FileError               one file; the rest of the ingest goes on
    ├── UnreadableFile      the user mends the rights, or the disk
    ├── FileChanging        the user ingests again when the writing has ended
    ├── FileTooLarge        the user raises ``max_file_mb``, or splits the file
    ├── ParserTimeout       the user raises the time limit, or splits the file
    ├── ParserOutOfMemory   the user raises the memory limit, or splits the file
    ├── ParserCrashed       the user saves the file anew, or chooses another parser
    ├── InternalError       the user reports it
    └── ParseError
        ├── EmptyDocument       nothing to read in it; a scan needs text recognition
        ├── EncryptedDocument   the user removes the password
        ├── CorruptDocument     the user repairs or re-exports the file
        └── UnsupportedFormat   the user converts the file
"""

from __future__ import annotations


class IngestError(Exception):
    """Base of the errors of this package; the message says what happened, to what, and what to do."""


class PathNotFound(IngestError):
    """A path to ingest does not exist."""


class NothingToIngest(IngestError):
    """The paths exist, and there is no file in them."""


class UnknownParser(IngestError):
    """No parser of that name, or its library is not installed."""


class DocumentNotFound(IngestError):
    """No ingested document answers to that name."""


class AmbiguousDocument(IngestError):
    """Several ingested documents answer to that name."""


class IngestUnderWay(IngestError):
    """Another process changes the collection at this moment."""


class ParserUnavailable(IngestError):
    """The processes that parse do not start, or were closed: no fault of a file."""


class PageNotShown(IngestError):
    """A page cannot be drawn: the document has none, or not that one, or it is damaged."""


class LedgerUnavailable(IngestError):
    """The database that keeps the ledger cannot be read or written."""


class FileError(IngestError):
    """One file cannot be ingested; the others can."""


class UnreadableFile(FileError):
    """The operating system does not let us read the file."""


class FileChanging(FileError):
    """Somebody writes to the file: it was another one after it was read than before, every time."""


class FileTooLarge(FileError):
    """The file exceeds the limit of the settings."""


class ParserTimeout(FileError):
    """The parser did not finish within its time."""


class ParserOutOfMemory(FileError):
    """The parser took more memory than it may."""


class ParserCrashed(FileError):
    """The parser died, or failed in a way that it does not foresee."""


class InternalError(FileError):
    """A defect of Candor, or of a library in its process, that this file brought to light."""


class ParseError(FileError):
    """The file was read, and no text could be had from it."""


class EmptyDocument(ParseError):
    """There is no text in it."""


class EncryptedDocument(ParseError):
    """It asks for a password."""


class CorruptDocument(ParseError):
    """It is damaged, or not what it claims to be."""


class UnsupportedFormat(ParseError):
    """No parser reads this format."""
