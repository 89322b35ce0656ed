"""A library with passages given by the caller."""

from __future__ import annotations

from api.services.research.library import CollectionLibrary
from multi_agent.orchestrator.libraries import GivenLibrary
from multi_agent.values.request import RagResult
from vectorstore.models import GivenPassage

MAIL = RagResult(text="The pump was loud at night.", source="mail", score=0.5)
CHAT = RagResult(text="It hums.\x1b[2J", source="chat\nroom", page=2)
QUERY = ("Borea 12 -25 °C",)


def names(found: list) -> list[str]:
    return [chunk.name for chunk in found]


def chunks(hits: list) -> list:
    return [hit.chunk for hit in hits]


def test_given_passages_come_first_in_the_order_of_the_caller(library: CollectionLibrary) -> None:
    given = GivenLibrary(library, [MAIL, CHAT], search=True)
    found = chunks(given.search(QUERY, 3))
    assert names(found) == ["mail", "chat room", "manual.pdf"]
    assert names(chunks(given.search(QUERY, 1))) == ["mail"]
    assert names(chunks(given.search(QUERY, 5, ("recipe.md",)))) == ["mail", "chat room", "recipe.md"]
    assert found[0].origin == GivenPassage(source="mail", score=0.5)
    assert found[1].pages == (2,)
    assert "\x1b" not in found[1].text, "control characters become spaces"


def test_without_a_search_only_given_passages_are_read(library: CollectionLibrary) -> None:
    given = GivenLibrary(library, [MAIL], search=False)
    found = chunks(given.search(QUERY, 5))
    assert names(found) == names(given.scan()) == names(given.catalogue()) == ["mail"]
    assert given.around(found, 3) == []
    assert given.scan(("manual.pdf",)) == []


def test_the_catalogue_lists_given_sources_with_their_passages(library: CollectionLibrary) -> None:
    entries = GivenLibrary(
        library, [MAIL, MAIL.model_copy(update={"text": "It was repaired."})], search=True
    ).catalogue()
    assert names(list(entries)) == ["mail", "manual.pdf", "notes.md", "recipe.md"]
    assert (entries[0].chunks, entries[0].given, entries[0].facts) == (2, True, ("given with the question",))


def test_a_scan_of_the_named_documents_includes_a_named_source(library: CollectionLibrary) -> None:
    given = GivenLibrary(library, [MAIL], search=True)
    assert names(given.scan(("mail", "notes.md"))) == ["mail", "notes.md"]
    assert names(given.scan()) == ["mail", "manual.pdf", "notes.md", "recipe.md"]


def test_a_passage_of_the_collection_is_read_from_there_and_once(library: CollectionLibrary) -> None:
    [manual] = library.scan(("manual.pdf",))
    same = RagResult(text=" ".join(manual.text.split()), source="elsewhere")
    given = GivenLibrary(library, [MAIL, same, same], search=True)
    found = chunks(given.search(QUERY, 9))
    assert found[1] == manual
    assert names(found).count("manual.pdf") == 1
    assert names(given.around([found[0], manual], 3)) == ["manual.pdf"]


def test_an_excerpt_is_recognised_by_the_id_of_its_chunk_alone(library: CollectionLibrary) -> None:
    [manual] = library.scan(("manual.pdf",))
    excerpt = RagResult(text="The Borea 12 works down to -25 °C.", source="elsewhere")
    assert GivenLibrary(library, [excerpt], search=False).search(QUERY, 1)[0].chunk.origin is not None
    named = excerpt.model_copy(update={"chunk_id": manual.id})
    assert chunks(GivenLibrary(library, [named], search=False).search(QUERY, 1)) == [manual]
