"""The first steps in the page: which model is set, is it there, try it, then add documents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from api.cli.ingest import run_ingest
from base.installation import extra_command
from multi_agent.llm.settings import EndpointSettings
from support.replies import always
from support.viewer import OpenPage, Site
from vectorstore.embedding.embedder import Embedder

GREEN = '{"colour": "green", "certain": true}'
NOWHERE = EndpointSettings(provider="ollama", base_url="http://127.0.0.1:9", model="qwen3:8b")


@pytest.fixture(name="site")
def fresh_site(tmp_path: Path, embedder: Embedder, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A service without collections; its model is there."""
    site = Site(tmp_path / "home", embedder)
    site.responder = always(GREEN)
    with site.endpoint:
        site.start()
        yield site
        site.stop()


def card(page: Page):  # type: ignore[no-untyped-def]
    return page.get_by_role("region", name="Set-up")


def test_a_new_user_tries_the_model_and_adds_documents(open_page: OpenPage, site: Site, tmp_path: Path) -> None:
    page = open_page()
    setup = card(page)
    expect(setup).to_contain_text("A language model")
    expect(setup.locator(".badge").first).to_have_text("reachable")
    expect(setup).to_contain_text(f"scripted · an OpenAI-compatible endpoint at {site.candor.settings.llm.base_url}")
    expect(setup).not_to_contain_text("Set another model")
    setup.get_by_role("button", name="Try it").click()
    expect(setup).to_contain_text("checks in")
    expect(setup).to_contain_text("llm structured output: a valid response that follows a JSON schema")
    expect(setup.locator("pre")).to_have_text("candor ingest FOLDER --collection NAME")
    (tmp_path / "pump.md").write_text("The Borea 12 works down to -25 °C.\n")
    setup.get_by_role("link", name="Add documents").click()
    expect(page.get_by_role("heading", name="Documents")).to_be_visible()
    run_ingest(site.candor, [tmp_path / "pump.md"], "pumps", progress=False)
    with page.expect_response("**/v1/setup") as answered:
        page.goto(f"{site.url}#/")
    assert answered.value.json()["collections"] == 1
    expect(page.get_by_role("textbox", name="Question")).to_be_visible()
    expect(card(page)).to_have_count(0)


def test_an_unreachable_model_is_explained_with_lines_to_copy(
    open_page: OpenPage, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere = site.candor.settings.model_copy(update={"llm": NOWHERE})
    monkeypatch.setattr(site.candor, "doctor", replace(site.candor.doctor, settings=nowhere))
    page = open_page(at=site.url, permissions=["clipboard-read", "clipboard-write"])
    setup = card(page)
    expect(setup.locator(".badge").first).to_have_text("not reachable")
    expect(setup).to_contain_text("No server answers at http://127.0.0.1:9. Start Ollama with `ollama serve`")
    ollama = setup.locator(".copyable").filter(has_text="ollama pull")
    expect(ollama.locator("pre")).to_have_text("ollama serve &\nollama pull qwen3:8b")
    ollama.get_by_role("button", name="Copy").click()
    expect(ollama).to_contain_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == "ollama serve &\nollama pull qwen3:8b"
    expect(setup).to_contain_text(str(site.candor.settings.home / "candor.toml"))
    expect(setup.locator("pre").filter(has_text="xllamacpp")).to_have_text(extra_command("local"))
    setup.get_by_role("button", name="Try it").click()
    expect(setup).to_contain_text("The model does not work yet: 1 check in")
    for width in (1280, 768, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
