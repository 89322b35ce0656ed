"""Let each exchange of a conversation belong to the collection of its run. Before, all collections shared them."""

from __future__ import annotations

from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    op.execute(
        "UPDATE memories SET collection = COALESCE("
        "(SELECT collection FROM runs WHERE 'mem_' || run_id = memories.id), '') WHERE kind = 'conversation'"
    )
