//! The search of titles and URLs: the field `q` of a list of bookmarks.
//!
//! A bookmark matches when its title or its URL contains each word. Both are compared in lower case, as the function `lower()` of the
//! database makes it: of ASCII letters on SQLite, by the collation of the database on PostgreSQL. Words with other letters are looked for
//! in the [spellings] that they usually have in a title.
//!
//! The index finds texts by their trigrams: all parts of three characters.

use std::cmp::Reverse;

use entity::bookmark;
use sea_orm::sea_query::{
    CommonTableExpression, Expr, ExprTrait, Func, LikeExpr, Query, SelectStatement, UnionType, WithClause,
};
use sea_orm::{ColumnTrait, Condition, DbBackend, JoinType};
use values::id::UserId;

use super::order::BookmarkSort;

/// Characters of the parts that the index contains.
const TRIGRAM_CHARS: usize = 3;
/// Trigrams of a word that the index is asked for, which are those of its first 72 characters. Further ones would hardly leave out more
/// bookmarks.
const MAX_TRIGRAMS: usize = 24;
/// On PostgreSQL two words are looked up together if there are at most this many ways to find them: in the title or in the URL, in each
/// spelling of each word. Otherwise one of them is.
const MAX_WAYS: usize = 16;
/// The table with the trigrams on SQLite (migration `m0014_title_search`).
const TITLE_SEARCH: &str = "title_search";
const TITLE_SEARCH_ROW: &str = "title_search_row";
/// Column of the statements on SQLite: the number of a bookmark in [`TITLE_SEARCH_ROW`].
const NUMBER: &str = "number";
/// The names of the tables that a statement makes on SQLite.
const FOUND_TABLE: &str = "found";
const FOUND_TERM_TABLE: &str = "found_term";
const FIRST_WORD_TABLE: &str = "first_word";
const SECOND_WORD_TABLE: &str = "second_word";

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
pub(in crate::operations) fn spellings(word: &str) -> Vec<String> {
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

/// Returns a text as a pattern of `LIKE` that matches only it, with a backslash before the characters that mean something else.
pub(in crate::operations) fn escape_like(word: &str) -> String {
    word.chars().flat_map(|c| matches!(c, '%' | '_' | '\\').then_some('\\').into_iter().chain([c])).collect()
}

/// Selects a superset of the bookmarks that contain all words, by an index, as candidates for a list in this order. If the index has more
/// than `max` for each word that is looked up, the statement selects more than `max` rows, which may be any. A database that uses the index
/// reads no other rows than it selects, and only rows of the user: so a limit bounds what is read. Returns `None` if no word can be looked
/// up: on PostgreSQL the index has parts of three letters or digits alone.
pub(super) fn select_candidates(
    user: UserId,
    words: &[String],
    sort: BookmarkSort,
    max: u64,
    backend: DbBackend,
) -> Option<SelectStatement> {
    // The longest words leave out most.
    let mut longest: Vec<&String> = words.iter().collect();
    longest.sort_by_key(|word| Reverse(char_count(word)));
    if backend == DbBackend::Postgres {
        return select_on_postgres(user, &longest, sort);
    }
    let with_trigram: Vec<&String> =
        longest.iter().filter(|word| char_count(word) >= TRIGRAM_CHARS).copied().collect();
    let numbers = match with_trigram.as_slice() {
        [] => return longest.first().map(|word| select_short_word(user, word, sort)),
        [word] => select_numbers(user, word, max),
        [first, second, ..] => select_numbers_of_two(user, [*first, *second], max),
    };
    let mut found = select_found_rows(sort);
    found
        .from_subquery(numbers, FOUND_TABLE)
        // A cross join, because SQLite keeps its order: the rows with the trigrams first, then the bookmark of each.
        .join(JoinType::CrossJoin, TITLE_SEARCH_ROW, Condition::all())
        .and_where(Expr::col((TITLE_SEARCH_ROW, NUMBER)).equals((FOUND_TABLE, NUMBER)));
    Some(found)
}

fn char_count(word: &str) -> usize {
    word.chars().count()
}

/// Selects the bookmarks with the trigrams of the first of these words that has one, or of the first two.
///
/// Whether they contain the words is not tested here. The index would return the bookmarks with the trigrams of a word, those that do not
/// contain it would be read and left out, and a limit would not bound their number. A text that has the trigram of three letters contains
/// them, so all that the index returns is selected. For the same reason the trigrams of two words are the condition of one look-up for each
/// way in which a bookmark can have both: PostgreSQL may otherwise look up one word, and test the other on what it reads.
fn select_on_postgres(user: UserId, longest: &[&String], sort: BookmarkSort) -> Option<SelectStatement> {
    let mut words = longest.iter().filter_map(|word| ways_to_find(word));
    let first = words.next()?;
    let ways: Vec<Expr> = match words.next() {
        Some(second) if first.len() * second.len() <= MAX_WAYS => first
            .iter()
            .flat_map(|one| second.iter().map(move |other| one.clone().and(other.clone())))
            .collect(),
        Some(_) | None => first,
    };
    let is_found = ways.into_iter().reduce(Expr::or)?;
    let mut found = Query::select();
    sort.select_candidate(
        &mut found,
        bookmark::Column::Id.into_expr(),
        bookmark::Column::SavedAt.into_expr(),
    );
    found.from(bookmark::Entity).and_where(bookmark::Column::UserId.eq(user)).and_where(is_found);
    Some(found)
}

/// Returns one condition for each way in which the index of PostgreSQL finds a word: that the title has the trigrams of a spelling, or that
/// the URL has them. Returns `None` if a spelling has no trigram of letters, such as `c++`: PostgreSQL would read all bookmarks of the user
/// for it.
fn ways_to_find(word: &str) -> Option<Vec<Expr>> {
    let mut ways = Vec::new();
    for spelling in spellings(word) {
        let trigrams = letter_trigrams(&spelling);
        for column in [bookmark::Column::Title, bookmark::Column::Url] {
            let has_trigram =
                |trigram: &String| compared(column, DbBackend::Postgres).like(format!("%{trigram}%"));
            ways.push(trigrams.iter().map(has_trigram).reduce(Expr::and)?);
        }
    }
    Some(ways)
}

/// Returns the trigrams of letters and digits by which the index of PostgreSQL finds a word. It separates words at all other characters.
fn letter_trigrams(word: &str) -> Vec<String> {
    let runs = word.split(|c: char| !c.is_alphanumeric());
    runs.flat_map(covering_trigrams).take(MAX_TRIGRAMS).collect()
}

/// Selects the numbers of the bookmarks with the trigrams of a word, at most one more than `max`.
fn select_numbers(user: UserId, word: &str, max: u64) -> SelectStatement {
    Query::select()
        // A bookmark may have the word in its title and in its URL, which are separate rows of the index.
        .distinct()
        .expr_as(Expr::cust(r#""title_search"."rowid" / 2"#), NUMBER)
        .from(TITLE_SEARCH)
        .and_where(Expr::cust_with_values(r#""title_search" MATCH ?"#, [match_trigrams(word)]))
        .and_where(is_row_of(user))
        .limit(max.saturating_add(1))
        .take()
}

/// Returns the condition that a row of the index belongs to a bookmark of a user: a range of the rows.
fn is_row_of(user: UserId) -> Expr {
    Expr::cust_with_values(
        r#""title_search"."rowid" BETWEEN (SELECT "slot" << 33 FROM "title_search_owner" WHERE "user_id" = ?)
           AND (SELECT (("slot" + 1) << 33) - 1 FROM "title_search_owner" WHERE "user_id" = ?)"#,
        [user, user],
    )
}

/// Selects the numbers of the bookmarks with the trigrams of both words. A word that more than `max` have is left out, unless both are such
/// words: then more than `max` of one are selected.
fn select_numbers_of_two(user: UserId, [first, second]: [&String; 2], max: u64) -> SelectStatement {
    let mut clause = WithClause::new();
    for (table, word) in [(FIRST_WORD_TABLE, first), (SECOND_WORD_TABLE, second)] {
        let mut numbers = CommonTableExpression::new();
        // Otherwise the index would be read once to count them, and once more to select them.
        numbers.table_name(table).query(select_numbers(user, word, max)).materialized(true);
        clause.cte(numbers);
    }
    let max = i64::try_from(max).unwrap_or(i64::MAX);
    let count =
        |table: &'static str| Expr::from(Query::select().expr(Expr::cust("COUNT(*)")).from(table).take());
    let is_frequent = |table| count(table).gt(max);
    let is_rare = |table| count(table).lte(max);
    let select_all = |table: &'static str| Query::select().column(NUMBER).from(table).take();
    let has_second = Expr::col((FIRST_WORD_TABLE, NUMBER)).in_subquery(select_all(SECOND_WORD_TABLE));
    let mut numbers = select_all(FIRST_WORD_TABLE);
    numbers
        .and_where(is_rare(FIRST_WORD_TABLE).or(is_frequent(SECOND_WORD_TABLE)))
        .and_where(is_frequent(SECOND_WORD_TABLE).or(has_second));
    let mut of_second = select_all(SECOND_WORD_TABLE);
    of_second.and_where(is_frequent(FIRST_WORD_TABLE)).and_where(is_rare(SECOND_WORD_TABLE));
    numbers.union(UnionType::All, of_second).with_cte(clause);
    numbers
}

/// Begins a statement with the columns of a candidate, from [`TITLE_SEARCH_ROW`].
fn select_found_rows(sort: BookmarkSort) -> SelectStatement {
    let column = |name: &'static str| Expr::col((TITLE_SEARCH_ROW, name));
    let mut found = Query::select();
    sort.select_candidate(&mut found, column("bookmark_id"), column("saved_at"));
    found
}

/// Selects the bookmarks of a user with a trigram that begins with a word of one or two characters, in one of its spellings.
fn select_short_word(user: UserId, word: &str, sort: BookmarkSort) -> SelectStatement {
    let mut terms = CommonTableExpression::new();
    terms.table_name(FOUND_TERM_TABLE).columns(["term", "term_end"]).query(select_terms(word));
    let mut clause = WithClause::new();
    clause.recursive(true).cte(terms);
    let mut found = select_found_rows(sort);
    found
        // A bookmark may have several such trigrams.
        .distinct()
        .from(FOUND_TERM_TABLE)
        // Cross joins, because SQLite keeps their order: one trigram after the other, and of each the rows of the user.
        .join(JoinType::CrossJoin, TITLE_SEARCH, Condition::all())
        .join(JoinType::CrossJoin, TITLE_SEARCH_ROW, Condition::all())
        .and_where(Expr::cust(r#""found_term"."term" IS NOT NULL"#))
        // A quotation mark within a quoted string of FTS5 is doubled.
        .and_where(Expr::cust(
            r#""title_search" MATCH '"' || replace("found_term"."term", '"', '""') || '"'"#,
        ))
        .and_where(is_row_of(user))
        .and_where(Expr::cust(r#""title_search_row"."number" = "title_search"."rowid" / 2"#))
        .with_cte(clause);
    found
}

/// Selects the trigrams that begin with a word, each with the end of the range of its spelling, and a row without a trigram after those of a
/// spelling.
///
/// Each is looked up after the one before, because `title_search_term` has a row for each bookmark of each user with a trigram. Those of
/// three characters that come after a trigram also come after the trigram with any character appended.
fn select_terms(word: &str) -> SelectStatement {
    let ranges = spellings(word).into_iter().map(|spelling| {
        let end = after_prefix(&spelling);
        (spelling, end)
    });
    let select_first = r#"(SELECT "title_search_term"."term" FROM "title_search_term"
        WHERE "title_search_term"."term" >= "spelling"."column1"
            AND "title_search_term"."term" < "spelling"."column2" LIMIT 1)"#;
    let select_next = r#"(SELECT "title_search_term"."term" FROM "title_search_term"
        WHERE "title_search_term"."term" >= "found_term"."term" || char(1)
            AND "title_search_term"."term" < "found_term"."term_end" LIMIT 1)"#;
    let next = Query::select()
        .expr(Expr::cust(select_next))
        .expr(Expr::cust(r#""found_term"."term_end""#))
        .from(FOUND_TERM_TABLE)
        .and_where(Expr::cust(r#""found_term"."term" IS NOT NULL"#))
        .take();
    Query::select()
        .expr(Expr::cust(select_first))
        .expr(Expr::cust(r#""spelling"."column2""#))
        .from_values(ranges, "spelling")
        .union(UnionType::All, next)
        .take()
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

/// Returns the query for rows that have the covering trigrams of a word.
fn and_trigrams(word: &str) -> String {
    let quoted = covering_trigrams(word).into_iter().take(MAX_TRIGRAMS).map(|trigram| {
        // A quotation mark within a quoted string of FTS5 is doubled.
        format!("\"{}\"", trigram.replace('"', "\"\""))
    });
    quoted.collect::<Vec<_>>().join(" AND ")
}

/// Returns every third trigram of a word from the first on, and the last, which may overlap. The others exclude few more rows, and the index
/// would read the rows of each.
fn covering_trigrams(word: &str) -> Vec<String> {
    let chars: Vec<char> = word.chars().collect();
    let last = chars.len().saturating_sub(TRIGRAM_CHARS);
    let all = chars.windows(TRIGRAM_CHARS).enumerate();
    let covering = all.filter(|(start, _)| start.is_multiple_of(TRIGRAM_CHARS) || *start == last);
    covering.map(|(_, trigram)| trigram.iter().collect()).collect()
}

#[cfg(test)]
mod tests {
    use sea_orm::sea_query::PostgresQueryBuilder;

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
            select_candidates(user, &words, BookmarkSort::Title, 9, backend)
        };

        for words in [&["ai", "é€"][..], &["c++"], &["a-b.c", "--->"], &["c++", "r&d"]] {
            assert!(candidates(words, DbBackend::Postgres).is_none(), "{words:?}");
        }
        for words in [&["ai", "ants"][..], &["c++20", "обзор"], &["wi-fi-kit"]] {
            assert!(candidates(words, DbBackend::Postgres).is_some(), "{words:?}");
        }
        assert!(candidates(&["ai", "é€"], DbBackend::Sqlite).is_some());
        assert!(candidates(&[], DbBackend::Sqlite).is_none());
    }

    #[test]
    fn candidates_on_postgres_are_tested_by_trigrams_alone() {
        let select = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            let user = UserId(uuid::Uuid::nil());
            let selected = select_candidates(user, &words, BookmarkSort::Title, 9, DbBackend::Postgres);
            selected.unwrap().to_string(PostgresQueryBuilder)
        };

        let (one, two) = (select(&["heron", "c++"]), select(&["heron", "reeds"]));
        let many = select(&["москва", "обзор"]);

        assert_eq!((one.matches(" OR ").count(), two.matches(" OR ").count()), (1, 3));
        assert!(one.contains(r#"LOWER("bookmark"."title") LIKE '%her%'"#), "{one}");
        assert!(one.contains(r#"LOWER("bookmark"."url") LIKE '%ron%'"#), "{one}");
        for word in ["%heron%", "reeds", "++"] {
            assert!(!one.contains(word) && !two.contains(word), "{one} {two}");
        }
        // Three spellings of one word, in the title and in the URL.
        assert_eq!(many.matches(" OR ").count(), 5);
    }

    #[test]
    fn letters_and_digits_have_trigrams() {
        assert_eq!(letter_trigrams("heron"), ["her", "ron"]);
        assert_eq!(letter_trigrams("«санкт-up-123»"), ["сан", "нкт", "123"]);
        assert!(letter_trigrams("a+b_c").is_empty());
        assert_eq!(letter_trigrams(&"reed".repeat(50)).len(), MAX_TRIGRAMS);
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
