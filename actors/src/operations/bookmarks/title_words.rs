//! The search of titles and URLs: the field `q` of a list of bookmarks.
//!
//! A bookmark matches when its title or its URL contains each word. Both are compared in lower case, as the function `lower()` of the
//! database makes it: of ASCII letters on SQLite, by the collation of the database on PostgreSQL. Words with other letters are looked for
//! in the [spellings] that they usually have in a title.
//!
//! The index finds texts by their trigrams: all parts of three characters.

use entity::bookmark;
use sea_orm::sea_query::{Expr, ExprTrait, Func, LikeExpr, Query, SelectStatement};
use sea_orm::{ColumnTrait, Condition, DbBackend, JoinType};
use values::id::UserId;

use super::order::BookmarkSort;

/// Characters of the parts that the index contains.
const TRIGRAM_CHARS: usize = 3;
/// Trigrams of a word that the index is asked for, which are those of its first 72 characters. Further ones would hardly leave out more
/// bookmarks.
const MAX_TRIGRAMS: usize = 24;
/// The table with the trigrams on SQLite (migration `m0014_title_search`).
const TITLE_SEARCH: &str = "title_search";
const TITLE_SEARCH_ROW: &str = "title_search_row";
const TITLE_SEARCH_TERM: &str = "title_search_term";

/// Returns the condition that the title or the URL of a bookmark contains a word.
pub(super) fn contains(word: &str, backend: DbBackend) -> Expr {
    let contains = |spelling: &String| {
        let like = || LikeExpr::new(format!("%{}%", escape_like(spelling))).escape('\\');
        let title = compared(bookmark::Column::Title, backend).like(like());
        let url = compared(bookmark::Column::Url, backend).like(like());
        title.or(url)
    };
    spellings(word).iter().map(contains).reduce(Expr::or).unwrap_or_else(|| Expr::value(false))
}

/// Returns a column as `LIKE` compares it with a spelling of a word.
fn compared(column: bookmark::Column, backend: DbBackend) -> Expr {
    if backend == DbBackend::Postgres {
        // The index is of this expression.
        Expr::expr(Func::lower(column.into_expr()))
    } else {
        // `LIKE` of SQLite ignores the case of the letters that its `lower()` changes, those of ASCII, and compares others exactly. Without
        // `lower()` a list is searched in two thirds of the time.
        column.into_expr()
    }
}

/// Returns the spellings in which a word is looked for, as a function `lower()` of ASCII letters makes them: in lower case, with a capital at its
/// beginning, with a capital also after each character that is no letter, in capitals, and as it was typed. A word of ASCII letters has
/// one.
fn spellings(word: &str) -> Vec<String> {
    let lower = word.to_lowercase();
    let capitals = lower.chars().map(capital).collect();
    let variants =
        [lower.clone(), capitalized(&lower, 1), capitalized(&lower, usize::MAX), capitals, word.to_owned()];
    let mut spellings: Vec<String> = Vec::new();
    for spelling in variants.map(|variant| variant.to_ascii_lowercase()) {
        if !spellings.contains(&spelling) {
            spellings.push(spelling);
        }
    }
    spellings
}

/// Returns a text with capitals at the beginnings of its first words, which are separated by characters that are no letters.
fn capitalized(text: &str, max_words: usize) -> String {
    let (mut words, mut is_in_word) = (0, false);
    let capitalize = |letter: char| {
        let is_first = letter.is_alphabetic() && !is_in_word && words < max_words;
        is_in_word = letter.is_alphabetic();
        words += usize::from(is_first);
        if is_first { capital(letter) } else { letter }
    };
    text.chars().map(capitalize).collect()
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

/// Selects a superset of the bookmarks that contain all words, by an index, as candidates for a list in this order. Returns `None` if no
/// word is long enough for the index: on PostgreSQL it has three characters or more.
pub(super) fn select_candidates(
    user: UserId,
    words: &[String],
    sort: BookmarkSort,
    backend: DbBackend,
) -> Option<SelectStatement> {
    // The longest word leaves out most. A bookmark may have the words in its title and in its URL, which are separate rows of the index
    // on SQLite, so the others are not looked up in the same statement.
    let word = words.iter().max_by_key(|word| word.chars().count())?;
    let has_trigram = word.chars().count() >= TRIGRAM_CHARS;
    if backend == DbBackend::Postgres {
        return has_trigram.then(|| select_on_postgres(user, words, sort));
    }
    Some(if has_trigram { select_on_sqlite(user, word, sort) } else { select_short_word(word, sort) })
}

fn select_on_postgres(user: UserId, words: &[String], sort: BookmarkSort) -> SelectStatement {
    let mut found = Query::select();
    sort.select_candidate(
        &mut found,
        bookmark::Column::Id.into_expr(),
        bookmark::Column::SavedAt.into_expr(),
    );
    found.from(bookmark::Entity).and_where(bookmark::Column::UserId.eq(user));
    for word in words {
        found.and_where(contains(word, DbBackend::Postgres));
    }
    found
}

fn select_on_sqlite(user: UserId, word: &str, sort: BookmarkSort) -> SelectStatement {
    let mut found = select_found_rows(sort);
    found
        .from(TITLE_SEARCH)
        // A cross join, because SQLite keeps its order: the rows with the trigrams first, then the bookmark of each.
        .join(JoinType::CrossJoin, TITLE_SEARCH_ROW, Condition::all())
        .and_where(Expr::cust_with_values(r#""title_search" MATCH ?"#, [match_trigrams(word)]))
        .and_where(Expr::cust_with_values(
            r#""title_search"."rowid" BETWEEN (SELECT "slot" << 33 FROM "title_search_owner" WHERE "user_id" = ?)
               AND (SELECT (("slot" + 1) << 33) - 1 FROM "title_search_owner" WHERE "user_id" = ?)"#,
            [user, user],
        ))
        .and_where(Expr::cust(r#""title_search_row"."number" = "title_search"."rowid" / 2"#));
    found
}

/// Begins a statement with the columns of a candidate, from [`TITLE_SEARCH_ROW`]. A bookmark may have a word in both of its rows.
fn select_found_rows(sort: BookmarkSort) -> SelectStatement {
    let column = |name: &'static str| Expr::col((TITLE_SEARCH_ROW, name));
    let mut found = Query::select();
    sort.select_candidate(&mut found, column("bookmark_id"), column("saved_at"));
    found.distinct();
    found
}

/// Selects the bookmarks with a trigram that begins with a word of one or two characters, in one of its spellings. Those of other users are
/// among them, and left out when the bookmarks are read: they are not left out here, so that the limit of the candidates bounds the rows
/// that are read.
fn select_short_word(word: &str, sort: BookmarkSort) -> SelectStatement {
    let ranges = spellings(word).into_iter().map(|spelling| {
        let end = after_prefix(&spelling);
        (spelling, end)
    });
    let mut found = select_found_rows(sort);
    found
        .from_values(ranges, "spelling")
        .join(JoinType::CrossJoin, TITLE_SEARCH_TERM, Condition::all())
        .join(JoinType::CrossJoin, TITLE_SEARCH_ROW, Condition::all())
        .and_where(Expr::cust(r#""title_search_term"."term" >= "spelling"."column1""#))
        .and_where(Expr::cust(r#""title_search_term"."term" < "spelling"."column2""#))
        .and_where(Expr::cust(r#""title_search_row"."number" = "title_search_term"."doc" / 2"#));
    found
}

/// Returns the first string after all that begin with a prefix, in the order of their code points.
fn after_prefix(prefix: &str) -> String {
    let mut chars: Vec<char> = prefix.chars().collect();
    while let Some(last) = chars.pop() {
        if let Some(next) = (last..=char::MAX).nth(1) {
            chars.push(next);
            return chars.into_iter().collect();
        }
    }
    // No other string is greater than these.
    char::MAX.to_string().repeat(TRIGRAM_CHARS + 1)
}

/// Returns the query of FTS5 for rows that have the trigrams of a word, in one of its spellings.
fn match_trigrams(word: &str) -> String {
    let alternatives: Vec<String> = spellings(word).iter().map(|spelling| and_trigrams(spelling)).collect();
    if let [only] = alternatives.as_slice() {
        return only.clone();
    }
    alternatives.iter().map(|trigrams| format!("({trigrams})")).collect::<Vec<_>>().join(" OR ")
}

/// Returns the query for rows that have every third trigram of a word from the first on, and the last, which may overlap. The others exclude
/// few more rows, and the index would read the rows of each.
fn and_trigrams(word: &str) -> String {
    let chars: Vec<char> = word.chars().collect();
    let last = chars.len().saturating_sub(TRIGRAM_CHARS);
    let all = chars.windows(TRIGRAM_CHARS).enumerate();
    let covering = all.filter(|(start, _)| start.is_multiple_of(TRIGRAM_CHARS) || *start == last);
    let quoted = covering.take(MAX_TRIGRAMS).map(|(_, trigram)| {
        // A quotation mark within a quoted string of FTS5 is doubled.
        format!("\"{}\"", trigram.iter().collect::<String>().replace('"', "\"\""))
    });
    quoted.collect::<Vec<_>>().join(" AND ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trigrams_that_cover_a_word_are_quoted() {
        assert_eq!(match_trigrams("heron"), r#""her" AND "ron""#);
        assert_eq!(match_trigrams("herons"), r#""her" AND "ons""#);
        assert_eq!(match_trigrams("herring"), r#""her" AND "rin" AND "ing""#);
        assert_eq!(match_trigrams(&"reed".repeat(50)).split(" AND ").count(), MAX_TRIGRAMS);
        assert_eq!(match_trigrams(r#"a"b"#), r#""a""b""#);
        assert_eq!(match_trigrams("äöü"), r#"("äöü") OR ("Äöü") OR ("ÄÖÜ")"#);
    }

    #[test]
    fn words_have_the_spellings_that_differ_in_letters_beyond_ascii() {
        assert_eq!(spellings("heron"), ["heron"]);
        assert_eq!(spellings("москва"), ["москва", "Москва", "МОСКВА"]);
        assert_eq!(spellings("straße"), ["straße"]);
        assert_eq!(spellings("café"), ["café", "cafÉ"]);
        assert_eq!(
            spellings("«санкт-петербург"),
            ["«санкт-петербург", "«Санкт-петербург", "«Санкт-Петербург", "«САНКТ-ПЕТЕРБУРГ"]
        );
        // The lower case of the Turkish capital is two characters.
        assert!(spellings("İstanbul").contains(&"İstanbul".to_owned()));
        assert!(spellings("приветМир").contains(&"приветМир".to_owned()));
        assert_eq!(spellings("鷺"), ["鷺"]);
    }

    #[test]
    fn words_without_a_trigram_have_no_candidates_on_postgres() {
        let candidates = |words: &[&str], backend| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            let user = UserId(uuid::Uuid::nil());
            select_candidates(user, &words, BookmarkSort::Title, backend)
        };

        assert!(candidates(&["ai", "é€"], DbBackend::Postgres).is_none());
        assert!(candidates(&["ai", "ants"], DbBackend::Postgres).is_some());
        assert!(candidates(&["ai", "é€"], DbBackend::Sqlite).is_some());
        assert!(candidates(&[], DbBackend::Sqlite).is_none());
    }

    #[test]
    fn prefix_ends_before_the_next_code_point() {
        assert_eq!(after_prefix("zq"), "zr");
        assert_eq!(after_prefix("猫"), "猬");
        assert_eq!(after_prefix("a\u{d7ff}"), "a\u{e000}");
        assert_eq!(after_prefix("a\u{10ffff}"), "b");
        assert!(after_prefix("\u{10ffff}\u{10ffff}").as_str() > "\u{10ffff}\u{10ffff}\u{10ffff}");
    }
}
