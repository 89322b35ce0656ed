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
    updated_at TIMESTAMP WITH TIME ZONE NOT NULL,
    attempts INTEGER DEFAULT '0' NOT NULL,
    container TEXT DEFAULT '' NOT NULL,
    read_at FLOAT DEFAULT '0' NOT NULL,
    PRIMARY KEY (collection, id)
);
INSERT INTO documents (collection, id, path, name, state, stage, reason, version, size, modified, mime_type, title, pages, chunks, tokens, parser, chunking, seconds, warnings, metadata, updated_at, attempts, container, read_at) VALUES ('papers', '6f1c2a34-0000-5000-8000-000000000001', '/docs/pump.md', 'pump.md', 'indexed', 'storing', '', 'v1', 120, 1763719200.5, 'text/markdown', 'Borea 12', 1, 2, 40, 'kreuzberg 4.10', 'chunker 1', '{"parsing": 0.5}', '[]', '{"language": "en"}', '2026-11-21 10:00:00.000000+00', 1, '', 1763719201.0);
INSERT INTO documents (collection, id, path, name, state, stage, reason, version, size, modified, mime_type, title, pages, chunks, tokens, parser, chunking, seconds, warnings, metadata, updated_at, attempts, container, read_at) VALUES ('papers', '6f1c2a34-0000-5000-8000-000000000002', '/docs/odd.pdf', 'odd.pdf', 'failed', 'parsing', 'It''s encrypted.', 'v1', 120, 1763719200.5, 'text/markdown', '', 1, 0, 0, 'kreuzberg 4.10', 'chunker 1', '{"parsing": 0.5}', '[]', '{}', '2026-11-21 10:00:00.000000+00', 1, '', 1763719201.0);
CREATE TABLE edition_changes (
    collection VARCHAR(64) NOT NULL,
    number BIGINT NOT NULL,
    PRIMARY KEY (collection)
);
INSERT INTO edition_changes (collection, number) VALUES ('papers', 3);
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
    started_at TIMESTAMP WITH TIME ZONE NOT NULL,
    answer JSON,
    key VARCHAR(64) DEFAULT '' NOT NULL,
    PRIMARY KEY (run_id)
);
CREATE INDEX ix_runs_key ON runs (key);
CREATE INDEX ix_runs_started_at ON runs (started_at);
INSERT INTO runs (run_id, collection, question, model, status, started_at, answer, key) VALUES ('run_0000000000a1', 'papers', 'How cold may it be?', 'llama3', 'failed', '2026-11-21 10:00:00.000000+00', '{"run_id": "run_0000000000a1", "status": "failed", "mode": "", "question": "How cold may it be?", "reasoning": "The model is down.", "usage": {}}', '0123456789ab');
INSERT INTO runs (run_id, collection, question, model, status, started_at, answer, key) VALUES ('run_0000000000a2', 'papers', 'And how warm?', 'llama3', 'running', '2026-11-21 10:00:00.000000+00', NULL, '');
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
    key VARCHAR(64) NOT NULL,
    occurrence INTEGER NOT NULL,
    recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
    entry JSON NOT NULL,
    PRIMARY KEY (run_id, key, occurrence),
    FOREIGN KEY(run_id) REFERENCES runs (run_id)
);
INSERT INTO journal (run_id, key, occurrence, recorded_at, entry) VALUES ('run_0000000000a1', 'kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk', 0, '2026-11-21 10:00:00.000000+00', '{"key": "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"}');
CREATE TABLE plans (
    id SERIAL NOT NULL,
    name VARCHAR(100),
    question TEXT NOT NULL,
    plan JSON NOT NULL,
    shape VARCHAR(64) NOT NULL,
    embedding_model VARCHAR(200) NOT NULL,
    vector BYTEA NOT NULL,
    saved_at TIMESTAMP WITH TIME ZONE NOT NULL,
    collection VARCHAR(64) DEFAULT '' NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (name)
);
CREATE INDEX ix_plans_shape ON plans (shape);
INSERT INTO plans (id, name, question, plan, shape, embedding_model, vector, saved_at, collection) VALUES (1, 'yearly ranking', 'Which were the warmest years?', '{"reasoning": "One search is enough.", "steps": [{"id": "search", "agent": "Retriever", "inputs": {}, "needs": []}]}', 'ssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssss', 'minilm', '\x000102030405060708090a0b0c0d0e0f', '2026-11-21 10:00:00.000000+00', '');
INSERT INTO plans (id, name, question, plan, shape, embedding_model, vector, saved_at, collection) VALUES (2, NULL, 'Which pump is quiet?', '{"reasoning": "One search is enough.", "steps": [{"id": "search", "agent": "Retriever", "inputs": {}, "needs": []}]}', 'tttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttt', 'minilm', '\x00000000000000000000000000000000', '2026-11-21 10:00:00.000000+00', 'papers');
CREATE TABLE approvals (
    approval_id VARCHAR(160) NOT NULL,
    run_id VARCHAR(64) NOT NULL,
    status VARCHAR(20) NOT NULL,
    asked_at TIMESTAMP WITH TIME ZONE NOT NULL,
    approval JSON NOT NULL,
    PRIMARY KEY (approval_id)
);
CREATE INDEX ix_approvals_run_id ON approvals (run_id);
CREATE INDEX ix_approvals_status ON approvals (status);
INSERT INTO approvals (approval_id, run_id, status, asked_at, approval) VALUES ('run_0000000000a2.1', 'run_0000000000a2', 'open', '2026-11-21 10:00:00.000000+00', '{"approval_id": "run_0000000000a2.1"}');
CREATE TABLE tool_calls (
    run_id VARCHAR(64) NOT NULL,
    key VARCHAR(64) NOT NULL,
    occurrence INTEGER NOT NULL,
    began_at TIMESTAMP WITH TIME ZONE NOT NULL,
    entry JSON NOT NULL,
    PRIMARY KEY (run_id, key, occurrence)
);
INSERT INTO tool_calls (run_id, key, occurrence, began_at, entry) VALUES ('run_0000000000a1', 'kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk', 0, '2026-11-21 10:00:00.000000+00', '{"key": "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"}');
CREATE TABLE evaluations (
    id VARCHAR(32) NOT NULL,
    collection VARCHAR(64) NOT NULL,
    started_at TIMESTAMP WITH TIME ZONE NOT NULL,
    evaluation JSON NOT NULL,
    questions JSON NOT NULL,
    PRIMARY KEY (id)
);
CREATE INDEX ix_evaluations_collection ON evaluations (collection);
INSERT INTO evaluations (id, collection, started_at, evaluation, questions) VALUES ('eval_00000001', 'papers', '2026-11-21 10:00:00.000000+00', '{"id": "eval_00000001"}', '[]');
CREATE TABLE evaluation_rows (
    evaluation_id VARCHAR(32) NOT NULL,
    question_id TEXT NOT NULL,
    row JSON NOT NULL,
    PRIMARY KEY (evaluation_id, question_id),
    FOREIGN KEY(evaluation_id) REFERENCES evaluations (id)
);
INSERT INTO evaluation_rows (evaluation_id, question_id, row) VALUES ('eval_00000001', '1', '{"question_id": "1"}');
CREATE TABLE keys (
    id VARCHAR(12) NOT NULL,
    secret_hash VARCHAR(64) NOT NULL,
    name VARCHAR(100) NOT NULL,
    rights JSON NOT NULL,
    requests_per_day INTEGER,
    tokens_per_day BIGINT,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    expires_at TIMESTAMP WITH TIME ZONE,
    revoked_at TIMESTAMP WITH TIME ZONE,
    last_used_at TIMESTAMP WITH TIME ZONE,
    last_day VARCHAR(10) NOT NULL,
    requests INTEGER NOT NULL,
    PRIMARY KEY (id)
);
INSERT INTO keys (id, secret_hash, name, rights, requests_per_day, tokens_per_day, created_at, expires_at, revoked_at, last_used_at, last_day, requests) VALUES ('0123456789ab', 'ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff', 'Ann', '{"papers": "read"}', 100, NULL, '2026-11-21 10:00:00.000000+00', NULL, NULL, '2026-11-21 10:00:00.000000+00', '2026-11-21', 7);
CREATE TABLE roster (
    kind VARCHAR(10) NOT NULL,
    name VARCHAR(64) NOT NULL,
    value JSON NOT NULL,
    changed_at TIMESTAMP WITH TIME ZONE NOT NULL,
    PRIMARY KEY (kind, name)
);
INSERT INTO roster (kind, name, value, changed_at) VALUES ('agent', 'Lawyer', '{"name": "Lawyer"}', '2026-11-21 10:00:00.000000+00');
CREATE TABLE memories (
    id VARCHAR(80) NOT NULL,
    kind VARCHAR(20) NOT NULL,
    key VARCHAR(64) NOT NULL,
    session VARCHAR(100) NOT NULL,
    text TEXT NOT NULL,
    answer TEXT NOT NULL,
    changed_at TIMESTAMP WITH TIME ZONE NOT NULL,
    embedding_model VARCHAR(200),
    vector BYTEA,
    PRIMARY KEY (id)
);
CREATE INDEX ix_memories_key ON memories (key);
CREATE INDEX ix_memories_kind ON memories (kind);
INSERT INTO memories (id, kind, key, session, text, answer, changed_at, embedding_model, vector) VALUES ('mem_1', 'preference', '0123456789ab', '', 'Answer in German.', '', '2026-11-21 10:00:00.000000+00', NULL, NULL);
INSERT INTO memories (id, kind, key, session, text, answer, changed_at, embedding_model, vector) VALUES ('mem_2', 'how_to', '', '', 'Prefer tables.', '', '2026-11-21 10:00:00.000000+00', 'minilm', '\x000102030405060708090a0b0c0d0e0f');
CREATE TABLE audit (
    id SERIAL NOT NULL,
    at TIMESTAMP WITH TIME ZONE NOT NULL,
    key VARCHAR(12) NOT NULL,
    name VARCHAR(100) NOT NULL,
    address VARCHAR(100) NOT NULL,
    action VARCHAR(300) NOT NULL,
    target TEXT NOT NULL,
    collections JSON NOT NULL,
    status INTEGER NOT NULL,
    PRIMARY KEY (id)
);
CREATE INDEX ix_audit_at ON audit (at);
CREATE INDEX ix_audit_key ON audit (key);
INSERT INTO audit (id, at, key, name, address, action, target, collections, status) VALUES (1, '2026-11-21 10:00:00.000000+00', '0123456789ab', 'Ann', '127.0.0.1', 'GET /v1/runs', '/v1/runs', '["papers"]', 200);
