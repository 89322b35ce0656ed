CREATE TABLE collection_places (
    place VARCHAR(80) NOT NULL,
    collection VARCHAR(64) NOT NULL,
    role VARCHAR(16) NOT NULL,
    PRIMARY KEY (place)
);
INSERT INTO collection_places (place, collection, role) VALUES ('papers.1', 'papers', 'live');
CREATE TABLE document_texts (
    collection VARCHAR(64) NOT NULL,
    id VARCHAR(36) NOT NULL,
    text TEXT NOT NULL,
    blocks JSON NOT NULL,
    pages JSON NOT NULL,
    PRIMARY KEY (collection, id)
);
INSERT INTO document_texts (collection, id, text, blocks, pages) VALUES ('papers', '6f1c2a34-0000-5000-8000-000000000001', 'The Borea 12 works down to -25 °C.
', '[]', '[]');
CREATE TABLE documents (
    collection VARCHAR(64) NOT NULL,
    id VARCHAR(36) NOT NULL,
    path TEXT NOT NULL,
    name TEXT NOT NULL,
    state VARCHAR(16) NOT NULL,
    stage VARCHAR(16) NOT NULL,
    reason TEXT NOT NULL,
    version VARCHAR(64) NOT NULL,
    size BIGINT NOT NULL,
    modified FLOAT NOT NULL,
    mime_type VARCHAR(255) NOT NULL,
    title TEXT NOT NULL,
    pages INTEGER NOT NULL,
    chunks INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    parser VARCHAR(255) NOT NULL,
    chunking VARCHAR(255) NOT NULL,
    seconds JSON NOT NULL,
    warnings JSON NOT NULL,
    metadata JSON NOT NULL,
    updated_at DATETIME NOT NULL,
    attempts INTEGER DEFAULT '0' NOT NULL,
    container TEXT DEFAULT '' NOT NULL,
    read_at FLOAT DEFAULT '0' NOT NULL,
    PRIMARY KEY (collection, id)
);
INSERT INTO documents (collection, id, path, name, state, stage, reason, version, size, modified, mime_type, title, pages, chunks, tokens, parser, chunking, seconds, warnings, metadata, updated_at, attempts, container, read_at) VALUES ('papers', '6f1c2a34-0000-5000-8000-000000000001', '/docs/pump.md', 'pump.md', 'indexed', 'storing', '', 'v1', 120, 1763719200.5, 'text/markdown', 'Borea 12', 1, 2, 40, 'kreuzberg 4.10', 'chunker 1', '{"parsing": 0.5}', '[]', '{"language": "en"}', '2026-11-21 10:00:00.000000', 1, '', 1763719201.0);
INSERT INTO documents (collection, id, path, name, state, stage, reason, version, size, modified, mime_type, title, pages, chunks, tokens, parser, chunking, seconds, warnings, metadata, updated_at, attempts, container, read_at) VALUES ('papers', '6f1c2a34-0000-5000-8000-000000000002', '/docs/odd.pdf', 'odd.pdf', 'failed', 'parsing', 'It''s encrypted.', 'v1', 120, 1763719200.5, 'text/markdown', '', 1, 0, 0, 'kreuzberg 4.10', 'chunker 1', '{"parsing": 0.5}', '[]', '{}', '2026-11-21 10:00:00.000000', 1, '', 1763719201.0);
CREATE TABLE embedded_passages (
    collection VARCHAR(64) NOT NULL,
    digest VARCHAR(64) NOT NULL,
    chunk VARCHAR(36) NOT NULL,
    PRIMARY KEY (collection, digest)
);
INSERT INTO embedded_passages (collection, digest, chunk) VALUES ('papers', 'dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd', '6f1c2a34-0000-5000-8000-000000000002');
CREATE TABLE hidden_editions (
    collection VARCHAR(64) NOT NULL,
    edition VARCHAR(16) NOT NULL,
    document VARCHAR(36) NOT NULL,
    PRIMARY KEY (collection, edition)
);
INSERT INTO hidden_editions (collection, edition, document) VALUES ('papers', 'e1', '6f1c2a34-0000-5000-8000-000000000001');
CREATE TABLE ingests_under_way (
    collection VARCHAR(64) NOT NULL,
    holder VARCHAR(36) NOT NULL,
    host TEXT NOT NULL,
    process BIGINT NOT NULL,
    process_started FLOAT NOT NULL,
    since FLOAT NOT NULL,
    alive_at FLOAT NOT NULL,
    PRIMARY KEY (collection)
);
INSERT INTO ingests_under_way (collection, holder, host, process, process_started, since, alive_at) VALUES ('letters', '6f1c2a34-0000-5000-8000-000000000001', 'a-host-that-is-gone', 4711, 1763719200.0, 1763719200.0, 1763719200.0);
CREATE TABLE runs (
    run_id VARCHAR(64) NOT NULL,
    collection VARCHAR(64) NOT NULL,
    question TEXT NOT NULL,
    model VARCHAR(200) NOT NULL,
    status VARCHAR(20) NOT NULL,
    started_at DATETIME NOT NULL,
    answer JSON,
    PRIMARY KEY (run_id)
);
CREATE INDEX ix_runs_started_at ON runs (started_at);
INSERT INTO runs (run_id, collection, question, model, status, started_at, answer) VALUES ('run_0000000000a1', 'papers', 'How cold may it be?', 'llama3', 'failed', '2026-11-21 10:00:00.000000', '{"run_id": "run_0000000000a1", "status": "failed", "mode": "", "question": "How cold may it be?", "reasoning": "The model is down.", "usage": {}}');
INSERT INTO runs (run_id, collection, question, model, status, started_at, answer) VALUES ('run_0000000000a2', 'papers', 'And how warm?', 'llama3', 'running', '2026-11-21 10:00:00.000000', NULL);
CREATE TABLE events (
    run_id VARCHAR(64) NOT NULL,
    number INTEGER NOT NULL,
    event JSON NOT NULL,
    PRIMARY KEY (run_id, number),
    FOREIGN KEY(run_id) REFERENCES runs (run_id)
);
INSERT INTO events (run_id, number, event) VALUES ('run_0000000000a1', 1, '{"run_id": "run_0000000000a1", "number": 1, "at": "2026-11-21T10:00:00Z", "body": {"type": "step_failed", "id": "plan", "agent": "Planner", "error": "The model is down."}}');
CREATE TABLE journal (
    run_id VARCHAR(64) NOT NULL,
    "key" VARCHAR(64) NOT NULL,
    occurrence INTEGER NOT NULL,
    recorded_at DATETIME NOT NULL,
    entry JSON NOT NULL,
    PRIMARY KEY (run_id, "key", occurrence),
    FOREIGN KEY(run_id) REFERENCES runs (run_id)
);
INSERT INTO journal (run_id, "key", occurrence, recorded_at, entry) VALUES ('run_0000000000a1', 'kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk', 0, '2026-11-21 10:00:00.000000', '{"key": "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"}');
CREATE TABLE plans (
    id INTEGER NOT NULL,
    name VARCHAR(100),
    question TEXT NOT NULL,
    "plan" JSON NOT NULL,
    shape VARCHAR(64) NOT NULL,
    embedding_model VARCHAR(200) NOT NULL,
    vector BLOB NOT NULL,
    saved_at DATETIME NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (name)
);
CREATE INDEX ix_plans_shape ON plans (shape);
INSERT INTO plans (id, name, question, "plan", shape, embedding_model, vector, saved_at) VALUES (1, 'yearly ranking', 'Which were the warmest years?', '{"reasoning": "One search is enough.", "steps": [{"id": "search", "agent": "Retriever", "inputs": {}, "needs": []}]}', 'ssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssss', 'minilm', X'000102030405060708090a0b0c0d0e0f', '2026-11-21 10:00:00.000000');
INSERT INTO plans (id, name, question, "plan", shape, embedding_model, vector, saved_at) VALUES (2, NULL, 'Which pump is quiet?', '{"reasoning": "One search is enough.", "steps": [{"id": "search", "agent": "Retriever", "inputs": {}, "needs": []}]}', 'tttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttt', 'minilm', X'00000000000000000000000000000000', '2026-11-21 10:00:00.000000');
CREATE TABLE approvals (
    approval_id VARCHAR(160) NOT NULL,
    run_id VARCHAR(64) NOT NULL,
    status VARCHAR(20) NOT NULL,
    asked_at DATETIME NOT NULL,
    approval JSON NOT NULL,
    PRIMARY KEY (approval_id)
);
CREATE INDEX ix_approvals_run_id ON approvals (run_id);
CREATE INDEX ix_approvals_status ON approvals (status);
INSERT INTO approvals (approval_id, run_id, status, asked_at, approval) VALUES ('run_0000000000a2.1', 'run_0000000000a2', 'open', '2026-11-21 10:00:00.000000', '{"approval_id": "run_0000000000a2.1"}');
CREATE TABLE tool_calls (
    run_id VARCHAR(64) NOT NULL,
    "key" VARCHAR(64) NOT NULL,
    occurrence INTEGER NOT NULL,
    began_at DATETIME NOT NULL,
    entry JSON NOT NULL,
    PRIMARY KEY (run_id, "key", occurrence)
);
INSERT INTO tool_calls (run_id, "key", occurrence, began_at, entry) VALUES ('run_0000000000a1', 'kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk', 0, '2026-11-21 10:00:00.000000', '{"key": "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"}');
