//! The search of titles and URLs: the field `q` of a list of bookmarks.
//!
//! A bookmark matches when its title or its URL contains each word. Both are compared in lower case, as the function `lower()` of the
//! database makes it: of ASCII letters on SQLite, by the collation of the database on PostgreSQL. Words with other letters are looked for
//! in the [spellings] that they usually have in a title.

use entity::bookmark;
use sea_orm::sea_query::{Expr, ExprTrait, Func, LikeExpr, Query, SelectStatement};
use sea_orm::{ColumnTrait, Condition, DbBackend, JoinType};
use values::id::UserId;

use super::order::ID;

/// Characters of the parts that the index contains.
const TRIGRAM_CHARS: usize = 3;
/// Trigrams of a word that the index is asked for. Further ones would hardly leave out more bookmarks.
const MAX_TRIGRAMS: usize = 24;
/// The table with the trigrams on SQLite (migration `m0014_title_search`).
const TITLE_SEARCH: &str = "title_search";
const TITLE_SEARCH_ROW: &str = "title_search_row";

/// Returns the condition that the title or the URL of a bookmark contains a word, which is in lower case.
pub(super) fn contains(word: &str) -> Expr {
    let contains = |spelling: &String| {
        // In lower case, because `LIKE` ignores case on SQLite, for ASCII letters only, and not on PostgreSQL.
        let like = || LikeExpr::new(format!("%{}%", escape_like(spelling))).escape('\\');
        let title = Expr::expr(Func::lower(bookmark::Column::Title.into_expr())).like(like());
        let url = Expr::expr(Func::lower(bookmark::Column::Url.into_expr())).like(like());
        title.or(url)
    };
    spellings(word).iter().map(contains).reduce(Expr::or).unwrap_or_else(|| Expr::value(false))
}

/// Returns what `lower()` of SQLite makes of a word in lower case, with a first capital and in capitals: one spelling for a word of ASCII
/// letters, up to three for others.
fn spellings(word: &str) -> Vec<String> {
    let first_capital: String = word.chars().take(1).map(capital).chain(word.chars().skip(1)).collect();
    let capitals: String = word.chars().map(capital).collect();
    let mut spellings: Vec<String> = Vec::new();
    for spelling in [word, &first_capital, &capitals].map(str::to_ascii_lowercase) {
        if !spellings.contains(&spelling) {
            spellings.push(spelling);
        }
    }
    spellings
}

/// Returns the capital of a letter; the letter itself if its capital is several letters.
fn capital(letter: char) -> char {
    let mut capital = letter.to_uppercase();
    match (capital.next(), capital.next()) {
        (Some(capital), None) => capital,
        _ => letter,
    }
}

fn escape_like(word: &str) -> String {
    word.chars().flat_map(|c| matches!(c, '%' | '_' | '\\').then_some('\\').into_iter().chain([c])).collect()
}

/// Selects the ids of a superset of the bookmarks that contain all words, by an index. Returns `None` if no word is long enough for the
/// index.
pub(super) fn select_candidates(
    user: UserId,
    words: &[String],
    backend: DbBackend,
) -> Option<SelectStatement> {
    // The longest word leaves out most. A bookmark may have the words in its title and in its URL, which are separate rows of the index
    // on SQLite, so the others are not looked up in the same statement.
    let word = words.iter().max_by_key(|word| word.chars().count())?;
    if word.chars().count() < TRIGRAM_CHARS {
        return None;
    }
    Some(if backend == DbBackend::Postgres {
        select_on_postgres(user, words)
    } else {
        select_on_sqlite(user, word)
    })
}

fn select_on_postgres(user: UserId, words: &[String]) -> SelectStatement {
    let mut found = Query::select();
    found
        .expr_as(bookmark::Column::Id.into_expr(), ID)
        .from(bookmark::Entity)
        .and_where(bookmark::Column::UserId.eq(user));
    for word in words {
        found.and_where(contains(word));
    }
    found
}

fn select_on_sqlite(user: UserId, word: &str) -> SelectStatement {
    Query::select()
        // A bookmark may have the word in both of its rows.
        .distinct()
        .expr_as(Expr::col((TITLE_SEARCH_ROW, "bookmark_id")), ID)
        .from(TITLE_SEARCH)
        // A cross join, because SQLite keeps its order: the rows with the trigrams first, then the bookmark of each.
        .join(JoinType::CrossJoin, TITLE_SEARCH_ROW, Condition::all())
        .and_where(Expr::cust_with_values(r#""title_search" MATCH ?"#, [match_trigrams(word)]))
        .and_where(Expr::cust_with_values(
            r#""title_search"."rowid" BETWEEN (SELECT "slot" << 33 FROM "title_search_owner" WHERE "user_id" = ?)
               AND (SELECT (("slot" + 1) << 33) - 1 FROM "title_search_owner" WHERE "user_id" = ?)"#,
            [user, user],
        ))
        .and_where(Expr::cust(r#""title_search_row"."number" = "title_search"."rowid" / 2"#))
        .take()
}

/// Returns the query of FTS5 for rows that have the trigrams of a word, in one of its spellings.
fn match_trigrams(word: &str) -> String {
    let alternatives: Vec<String> = spellings(word).iter().map(|spelling| all_trigrams(spelling)).collect();
    if let [only] = alternatives.as_slice() {
        return only.clone();
    }
    alternatives.iter().map(|trigrams| format!("({trigrams})")).collect::<Vec<_>>().join(" OR ")
}

fn all_trigrams(word: &str) -> String {
    let chars: Vec<char> = word.chars().collect();
    let trigrams = chars.windows(TRIGRAM_CHARS).take(MAX_TRIGRAMS);
    let quoted = trigrams.map(|trigram| {
        // A quotation mark within a quoted string of FTS5 is doubled.
        format!("\"{}\"", trigram.iter().collect::<String>().replace('"', "\"\""))
    });
    quoted.collect::<Vec<_>>().join(" AND ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trigrams_of_a_word_are_quoted() {
        assert_eq!(match_trigrams("heron"), r#""her" AND "ero" AND "ron""#);
        assert_eq!(match_trigrams(r#"a"b"#), r#""a""b""#);
        assert_eq!(match_trigrams("äöü"), r#"("äöü") OR ("Äöü") OR ("ÄÖÜ")"#);
    }

    #[test]
    fn words_have_the_spellings_that_differ_in_letters_beyond_ascii() {
        assert_eq!(spellings("heron"), ["heron"]);
        assert_eq!(spellings("москва"), ["москва", "Москва", "МОСКВА"]);
        assert_eq!(spellings("straße"), ["straße"]);
        assert_eq!(spellings("café"), ["café", "cafÉ"]);
        assert_eq!(spellings("鷺"), ["鷺"]);
    }

    #[test]
    fn words_without_a_trigram_have_no_candidates() {
        let candidates = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            select_candidates(UserId(uuid::Uuid::nil()), &words, DbBackend::Sqlite)
        };

        assert!(candidates(&["ai", "é€"]).is_none() && candidates(&[]).is_none());
        assert!(candidates(&["ai", "ants"]).is_some());
    }
}
