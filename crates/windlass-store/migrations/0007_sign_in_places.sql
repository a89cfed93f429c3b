-- From which address blocks people signed in: there, what strangers do elsewhere does not slow them down.
CREATE TABLE sign_in_places (
    user_id TEXT NOT NULL REFERENCES users (id),
    block TEXT NOT NULL,
    last_at BIGINT NOT NULL,
    PRIMARY KEY (user_id, block)
);
CREATE INDEX sign_in_places_by_time ON sign_in_places (last_at);

-- Subjects are written otherwise now; what was counted before is a day old at most.
DELETE FROM throttles;
CREATE INDEX throttles_by_time ON throttles (last_at);
