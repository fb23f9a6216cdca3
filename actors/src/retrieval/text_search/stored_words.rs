//! The words of the points of the index as rows of PostgreSQL (migration `m0015_text_search`), with the ids and the weights that they have in
//! the index. So a search of the database finds what the index would find by words, in every language and spelling.
//!
//! They are stored when the index is about to get the points, whether it answers or not, and on the embedded index too, so that a later move
//! to a server has them. A row is written only if it changes.

use database::Db;
use errors::Error;
use sea_orm::{ConnectionTrait, DbBackend, DbErr, QueryResult, Statement, Value};
use search::index::{Language, Point, SparseVector};
use serde_json::json;
use uuid::Uuid;
use values::id::{DocumentId, UserId};

/// Points of a statement: some 200 kilobytes of parameters.
const POINTS_PER_STATEMENT: usize = 64;
/// The upper bound of the weight of a word in a passage: BM25 with k1 = 1.2 has at most k1 + 1.
const MAX_WEIGHT: f32 = 2.2;
/// The weight of a byte with the value 1.
const WEIGHT_STEP: f32 = MAX_WEIGHT / 255.0;
/// Bytes before the elements of an array of one dimension in the binary format of PostgreSQL.
const ARRAY_HEADER_BYTES: usize = 20;

/// Stores the points `$2` of the user `$1`, those of deleted documents left out. In the order of their ids, so that two processes that store
/// the same ones do not wait for each other.
const STORE: &str = r#"INSERT INTO "point_words"
    ("id", "document_id", "user_id", "version", "language", "words", "weights")
    SELECT "new"."id", "new"."document_id", $1, "new"."version", "new"."language", "new"."words", decode("new"."weights", 'hex')
    FROM jsonb_to_recordset($2::jsonb) AS "new"
        ("id" uuid, "document_id" uuid, "version" integer, "language" text, "words" integer[], "weights" text)
    JOIN "document" ON "document"."id" = "new"."document_id" AND "document"."user_id" = $1
    ORDER BY "new"."id"
    ON CONFLICT ("id") DO UPDATE SET "version" = excluded."version", "language" = excluded."language",
        "words" = excluded."words", "weights" = excluded."weights"
    WHERE "point_words"."user_id" = $1
        AND ("point_words"."version", "point_words"."language", "point_words"."words", "point_words"."weights")
            IS DISTINCT FROM (excluded."version", excluded."language", excluded."words", excluded."weights")"#;

/// Deletes the passages of the document `$2` of the user `$1` that are of another version than `$3`. Its metadata has no version.
const DELETE_FORMER: &str = r#"DELETE FROM "point_words" WHERE "user_id" = $1 AND "document_id" = $2
    AND "version" <> $3 AND "id" <> "document_id""#;

/// A point of the index with its words.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredPoint {
    /// Its id: that of the passage, or of the document for the metadata.
    pub id: Uuid,
    /// The id of its document.
    pub document: Uuid,
    /// The language in which it was analysed.
    pub language: Language,
    /// Its words, with weights that are exact to 1/255 of the highest.
    pub words: SparseVector,
}

impl StoredPoint {
    /// Reads the columns `id`, `document_id`, `language`, `array_send(words)` and `weights`, in this order.
    pub(super) fn of(row: &QueryResult) -> Result<Self, DbErr> {
        let (language, words): (String, Vec<u8>) = (row.try_get_by_index(2)?, row.try_get_by_index(3)?);
        let weights: Vec<u8> = row.try_get_by_index(4)?;
        Ok(Self {
            id: row.try_get_by_index(0)?,
            document: row.try_get_by_index(1)?,
            language: Language::from_code(&language).unwrap_or(Language::Other),
            words: SparseVector {
                indices: read_words(&words),
                values: weights.into_iter().map(|weight| f32::from(weight) * WEIGHT_STEP).collect(),
            },
        })
    }
}

impl From<Point> for StoredPoint {
    fn from(point: Point) -> Self {
        Self { id: point.id, document: point.document, language: point.language, words: point.sparse }
    }
}

/// Stores the words of points of a user, or replaces them. Only for PostgreSQL.
///
/// # Errors
/// [`Error::Internal`] when the database fails.
pub async fn store_words(db: &Db, user: UserId, points: &[&Point]) -> Result<(), Error> {
    for points in points.chunks(POINTS_PER_STATEMENT) {
        let values = [Value::from(user), Value::from(to_json(points))];
        let store = Statement::from_sql_and_values(DbBackend::Postgres, STORE, values);
        db.write().execute_raw(store).await?;
    }
    Ok(())
}

/// Deletes the words of the passages of a document that are not of this version. Only for PostgreSQL.
///
/// # Errors
/// [`Error::Internal`] when the database fails.
pub async fn delete_former_words(
    db: &Db,
    user: UserId,
    document: DocumentId,
    version: i64,
) -> Result<(), Error> {
    let values = [Value::from(user), Value::from(document), Value::from(version)];
    let delete = Statement::from_sql_and_values(DbBackend::Postgres, DELETE_FORMER, values);
    db.write().execute_raw(delete).await?;
    Ok(())
}

fn to_json(points: &[&Point]) -> String {
    let to_row = |point: &&Point| {
        let words: Vec<i32> = point.sparse.indices.iter().map(|id| id.cast_signed()).collect();
        let weights: Vec<u8> = point.sparse.values.iter().map(|weight| to_byte(*weight)).collect();
        json!({
            "id": point.id,
            "document_id": point.document,
            "version": point.version,
            "language": point.language.code(),
            "words": words,
            "weights": base16ct::lower::encode_string(&weights),
        })
    };
    serde_json::Value::from(points.iter().map(to_row).collect::<Vec<_>>()).to_string()
}

/// Returns the byte for a weight, from 1 to 255.
fn to_byte(weight: f32) -> u8 {
    (weight / WEIGHT_STEP).round().clamp(1.0, 255.0) as u8
}

/// Returns ids of words as the text of an array of PostgreSQL.
pub(super) fn to_array(ids: &[u32]) -> String {
    let ids: Vec<String> = ids.iter().map(|id| id.cast_signed().to_string()).collect();
    format!("{{{}}}", ids.join(","))
}

/// Reads an array of words in the binary format of PostgreSQL: after the header, four bytes of length and four of the number for each.
fn read_words(sent: &[u8]) -> Vec<u32> {
    let (elements, _) = sent.get(ARRAY_HEADER_BYTES..).unwrap_or_default().as_chunks::<8>();
    elements.iter().map(|[_, _, _, _, a, b, c, d]| u32::from_be_bytes([*a, *b, *c, *d])).collect()
}

#[cfg(test)]
mod tests {
    use search::lexical;

    use super::*;
    use crate::retrieval::test_library::point;

    #[test]
    fn sent_array_is_read_as_unsigned_numbers() {
        // Of `array_send('{1,-2}'::int4[])` and of an empty array.
        let sent: [u8; 20] = [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 23, 0, 0, 0, 2, 0, 0, 0, 1];
        let elements: [u8; 16] = [0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 4, 255, 255, 255, 254];
        assert_eq!(read_words(&[sent.as_slice(), &elements].concat()), [1, u32::MAX - 1]);
        assert_eq!(read_words(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 23]), [] as [u32; 0]);
        assert_eq!(to_array(&[1, u32::MAX - 1]), "{1,-2}");
    }

    #[test]
    fn weights_keep_their_order_in_a_byte() {
        let text = format!("reed pond {}", "heron ".repeat(60));
        let weights = lexical::analyze_passage("pond", &text, Language::English).values;

        for weight in weights {
            assert!(weight < MAX_WEIGHT, "{weight}");
            let stored = f32::from(to_byte(weight)) * WEIGHT_STEP;
            assert!((stored - weight).abs() <= WEIGHT_STEP / 2.0 + f32::EPSILON, "{weight} {stored}");
        }
        assert_eq!(to_byte(0.0), 1, "a word that is there has a weight");
    }

    #[test]
    fn row_of_a_point_has_a_weight_for_each_word() {
        let heron = point(11, 1, "a grey heron");

        let rows: serde_json::Value = serde_json::from_str(&to_json(&[&heron])).unwrap();

        assert_eq!(rows[0]["document_id"], Uuid::from_u128(1).to_string());
        assert_eq!(rows[0]["words"].as_array().unwrap().len(), 3);
        assert_eq!(rows[0]["weights"].as_str().unwrap().len(), 6);
    }
}
