//! What both searches of PostgreSQL have in common, in SQL.

/// Maximum duration of a statement of a search: with the wait for the server of the index, a search ends within two seconds.
pub(super) const LIMIT_TIME: &str = "SET LOCAL statement_timeout = 200";

/// Condition that neither the text nor the title of a document has an excluded phrase.
pub(super) const LACKS_EXCLUDED: &str = r#"NOT (to_tsvector('simple', "document"."title") @@ phraseto_tsquery('simple', $1))
    AND NOT EXISTS (SELECT 1 FROM "chunk" AS "other" WHERE "other"."user_id" = "document"."user_id"
        AND "other"."document_id" = "document"."id" AND "other"."version" = "document"."version"
        AND to_tsvector('simple', "other"."text") @@ phraseto_tsquery('simple', $1))"#;
