//! The conditions of a statement, read from its SQL.

/// What separates the conditions of a `WHERE`.
const AND: &str = " AND ";
/// The words that end the conditions of a `WHERE`.
const CONDITION_ENDS: [&str; 9] = [
    " WHERE ",
    " GROUP BY ",
    " HAVING ",
    " ORDER BY ",
    " LIMIT ",
    " UNION ",
    " FOR ",
    " RETURNING ",
    " ON CONFLICT ",
];

/// Returns the conditions of each `WHERE`, also of subqueries. A row meets all conditions of one.
pub(super) fn of_each_where(sql: &str) -> Vec<Vec<&str>> {
    sql.match_indices(" WHERE ")
        .map(|(at, word)| separated(sql.get(at.saturating_add(word.len())..).unwrap_or_default()))
        .collect()
}

/// Returns whether a limit bounds the rows that the statement itself returns, and not only those of a subquery.
pub(super) fn has_outer_limit(sql: &str) -> bool {
    outer_positions(sql).into_iter().any(|at| sql.get(at..).is_some_and(|rest| rest.starts_with(" LIMIT ")))
}

/// Returns a condition without the parentheses around it.
pub(super) fn without_parentheses(condition: &str) -> &str {
    let mut inner = condition.trim();
    while let Some(within) = inner.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
        inner = within;
    }
    inner
}

/// Returns whether a side of a condition is a parameter, or a literal in its place.
pub(super) fn is_value(side: &str) -> bool {
    side.starts_with(['?', '$', '\'']) && !side.contains(' ')
}

/// Returns whether all rows of an owner meet a condition of a statement, or it joins two tables.
pub(super) fn is_met_by_rows_of_owner(condition: &str) -> bool {
    let condition = without_parentheses(condition);
    let is_join = condition
        .split_once(" = ")
        .is_some_and(|(one, other)| is_column_of_table(one) && is_column_of_table(other));
    let is_of_list = condition
        .strip_suffix(" IS NULL")
        .is_some_and(|column| ["deleted_at", "hidden_at"].contains(&column_name(column)));
    is_join || is_of_list || names_owner(condition)
}

/// Returns whether a condition says whose row it is, and nothing else.
pub(super) fn names_owner(condition: &str) -> bool {
    without_parentheses(condition)
        .split_once(" = ")
        .is_some_and(|(column, value)| column_name(column) == "user_id" && is_value(value))
}

/// Returns the name of a column without that of its table. An expression is returned as it is.
fn column_name(side: &str) -> &str {
    if side.contains([' ', '(']) {
        return side;
    }
    side.rsplit('.').next().unwrap_or(side).trim_matches('"')
}

fn is_column_of_table(side: &str) -> bool {
    side.contains('.') && !side.contains([' ', '?', '$', '(', '\''])
}

/// Returns the conditions of a `WHERE` that this text follows.
fn separated(rest: &str) -> Vec<&str> {
    let (mut conditions, mut from, mut end) = (Vec::new(), 0, rest.len());
    for at in outer_positions(rest) {
        let following = rest.get(at..).unwrap_or_default();
        if following.starts_with(')') || CONDITION_ENDS.iter().any(|word| following.starts_with(word)) {
            end = at;
            break;
        }
        if following.starts_with(AND) {
            conditions.push(rest.get(from..at).unwrap_or_default());
            from = at.saturating_add(AND.len());
        }
    }
    conditions.push(rest.get(from..end).unwrap_or_default());
    conditions
}

/// Returns the positions of the characters outside of quotes and of inner parentheses, up to a parenthesis that closes none of these.
fn outer_positions(sql: &str) -> Vec<usize> {
    let (mut depth, mut quote) = (0_u32, None);
    let mut positions = Vec::new();
    for (at, c) in sql.char_indices() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '(') => depth = depth.saturating_add(1),
            (None, ')') if depth > 0 => depth = depth.saturating_sub(1),
            (None, _) if depth == 0 => positions.push(at),
            (None, _) => {}
        }
        if c == ')' && positions.last() == Some(&at) {
            break;
        }
    }
    positions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_those_of_one_level() {
        let sql = r#"SELECT "n" FROM "bird" WHERE "bird"."n" = ? AND ("a" = ? OR "b" = ?) AND "n" IN (SELECT "n" FROM "egg" WHERE "c" = ' AND ') ORDER BY "n""#;

        let found = of_each_where(sql);

        assert_eq!(
            found,
            [
                vec![
                    r#""bird"."n" = ?"#,
                    r#"("a" = ? OR "b" = ?)"#,
                    r#""n" IN (SELECT "n" FROM "egg" WHERE "c" = ' AND ')"#
                ],
                vec![r#""c" = ' AND '"#],
            ]
        );
    }

    #[test]
    fn limit_of_a_subquery_is_none_of_the_statement() {
        assert!(has_outer_limit("WITH a AS (SELECT 1) SELECT n FROM bird LIMIT ?"));
        assert!(!has_outer_limit("DELETE FROM bird WHERE n IN (SELECT n FROM bird LIMIT ?)"));
    }

    #[test]
    fn rows_of_an_owner_meet_what_names_the_owner_alone() {
        for condition in [
            r#""bird"."user_id" = ?"#,
            "user_id = $1",
            r#"("bird"."deleted_at" IS NULL)"#,
            r#""bird"."egg_id" = "egg"."id""#,
        ] {
            assert!(is_met_by_rows_of_owner(condition), "{condition}");
        }
        for condition in [
            r#""bird"."color" = ?"#,
            r#"("color" = ? OR "user_id" = ?)"#,
            r#""id" IN (SELECT "id" FROM "egg" WHERE "user_id" = ?)"#,
            r#""bird"."color" IS NULL"#,
        ] {
            assert!(!is_met_by_rows_of_owner(condition), "{condition}");
        }
    }
}
