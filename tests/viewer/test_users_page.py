"""Sign-in with name and password, the page of users, and an invitation."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from api.auth.permissions import Right
from api.auth.users import NewUser
from api.settings import ServiceSettings
from support.viewer import OpenPage, Site, answered

PASSWORD = "correct horse battery"


@pytest.fixture
def protected(site: Site) -> Iterator[Site]:
    """The service, which requires everybody to sign in."""
    site.stop()
    site.start(service=ServiceSettings(require_key=True))
    yield site
    site.stop()
    site.start()


def test_an_owner_invites_a_user_who_chooses_a_password(open_page: OpenPage, protected: Site) -> None:
    protected.candor.users.add(NewUser(name="The owner", rights={"*": Right.ADMIN}), PASSWORD)
    page = open_page("users")
    page.get_by_label("Name").fill("the owner")
    page.get_by_label("Password").fill("a wrong password")
    page.get_by_role("button", name="Sign in").first.click()
    expect(page.get_by_role("alert")).to_contain_text("The name or the password is wrong.")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").first.click()
    expect(page.get_by_text("Signed in as The owner")).to_be_visible()
    page.locator("summary").filter(has_text="Add a user").click()
    page.get_by_label("Name").fill("Ada")
    page.get_by_label("Collection").select_option("pumps")
    page.get_by_role("button", name="Add and invite").click()
    link = page.locator(".secret code").inner_text()
    expect(page.locator("tr").filter(has_text="Ada")).to_contain_text("read pumps")
    assert page.evaluate("document.cookie") == "", "scripts cannot read the session"

    theirs = open_page(link.partition("#/")[2], at=protected.url)
    theirs.get_by_label("Password").fill("staple and a new horse")
    theirs.get_by_role("button", name="Sign in").click()
    expect(theirs.get_by_text("Signed in as Ada")).to_be_visible()
    answered(theirs)  # also the event stream
    expect(theirs.get_by_role("link", name="Users")).to_be_hidden()
    theirs.get_by_role("button", name="Sign out").click()
    expect(theirs.get_by_role("heading", name="Sign in")).to_be_visible()
    theirs.goto(link)
    theirs.reload()
    theirs.get_by_label("Password").fill("another one for me")
    theirs.get_by_role("button", name="Sign in").click()
    expect(theirs.get_by_role("alert")).to_contain_text("This invitation is not valid.")
