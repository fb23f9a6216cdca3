//! The laws of the language: what is printed is read as the same query, and no text makes the parser panic.

use proptest::prelude::*;

use super::*;

fn parsed(text: &str) -> LibraryQuery {
    LibraryQuery::parse(text).unwrap()
}

fn fault(text: &str) -> (QueryFaultKind, usize, usize) {
    let fault = LibraryQuery::parse(text).unwrap_err();
    (fault.kind, fault.start, fault.length)
}

fn text(text: &str) -> QueryCondition {
    QueryCondition::Text(text.to_owned())
}

#[test]
fn plain_words_are_texts_that_must_all_match() {
    let query = parsed("  Own time  c++ a:b https://example.org/ - Heron");

    let texts = ["Own", "time", "c++", "a:b", "https://example.org/", "-", "Heron"];
    let expected = texts.map(|word| QueryGroup::of(text(word))).to_vec();
    assert_eq!(query.groups, expected);
}

#[test]
fn quoted_texts_contain_spaces_and_quotes() {
    let query = parsed(r#""own time" "a \"b\" \\ c\d" tag:"two words""#);

    let conditions: Vec<&QueryCondition> = query.groups.iter().filter_map(QueryGroup::only).collect();
    let tag = QueryCondition::Tag("two words".to_owned());
    assert_eq!(conditions, [&text("own time"), &text(r#"a "b" \ c\d"#), &tag]);
}

#[test]
fn or_binds_stronger_than_a_space() {
    let query = parsed("tag:a or TAG:b is:unread OR -type:pdf x");

    let printed: Vec<String> = query.groups.iter().map(ToString::to_string).collect();
    assert_eq!(printed, ["tag:a or tag:b", "is:unread or -type:pdf", "x"]);
}

#[test]
fn or_without_two_terms_is_a_text() {
    for (source, printed) in [
        ("or", r#""or""#),
        ("or tides", r#""or" tides"#),
        ("tides or", r#"tides "or""#),
        ("tides or or", r#"tides or "or""#),
        ("a or or b", r#"a or "or" b"#),
    ] {
        assert_eq!(parsed(source).to_string(), printed, "{source}");
    }
}

#[test]
fn values_of_fields_are_read_in_any_case() {
    let query = parsed("is:UNREAD type:Pdf site:Example.ORG before:2026 after:2026-02-28 upto:10");

    assert_eq!(query.to_string(), "is:unread type:pdf site:example.org before:2026 after:2026-02-28 upto:10");
}

#[test]
fn faults_name_their_place() {
    for (source, expected) in [
        (r#"a "b c"#, (QueryFaultKind::OpenQuote, 2, 1)),
        (r#"ä tag:"b"#, (QueryFaultKind::OpenQuote, 6, 1)),
        (r#"a """#, (QueryFaultKind::EmptyValue, 2, 2)),
        ("a tag: b", (QueryFaultKind::EmptyValue, 2, 4)),
        ("-is:gone", (QueryFaultKind::UnknownState, 4, 4)),
        ("type:birds", (QueryFaultKind::UnknownType, 5, 5)),
        ("after:2026-02-30", (QueryFaultKind::InvalidDate, 6, 10)),
        ("before:yesterday", (QueryFaultKind::InvalidDate, 7, 9)),
        ("upto:0", (QueryFaultKind::InvalidMinutes, 5, 1)),
        ("upto:10001", (QueryFaultKind::InvalidMinutes, 5, 5)),
    ] {
        assert_eq!(fault(source), expected, "{source}");
    }
    let message = LibraryQuery::parse("tides is:gone").unwrap_err().to_string();
    assert!(message.starts_with("is wrong at character 10: the state must be one of"), "{message}");
}

#[test]
fn reasons_name_every_state_and_type() {
    let states = QueryFaultKind::UnknownState.reason();
    let types = QueryFaultKind::UnknownType.reason();

    assert!(<QueryState as validation::NamedKind>::NAMES.iter().all(|name| states.contains(name)));
    assert!(ContentType::NAMES.iter().all(|name| types.contains(name)));
}

#[test]
fn condition_is_added_once_and_removed() {
    let query = parsed("tides").and(QueryCondition::Is(QueryState::Unread));

    assert_eq!(query.clone().and(QueryCondition::Is(QueryState::Unread)), query);
    assert!(query.requires(&QueryCondition::Is(QueryState::Unread)));
    assert_eq!(query.without(&QueryCondition::Is(QueryState::Unread)), parsed("tides"));
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "\\PC{1,12}",
        "[-a-z:\"\\\\ ]{1,8}",
        Just("or".to_owned()),
        Just("tag:x".to_owned()),
        Just("-".to_owned()),
    ]
}

fn any_date() -> impl Strategy<Value = QueryDate> {
    let (year, month, day) = (1..=9999_u32, 1..=12_u32, 1..=28_u32);
    let texts = (year, month, day, 0..3_u8).prop_map(|(year, month, day, parts)| match parts {
        0 => format!("{year:04}"),
        1 => format!("{year:04}-{month:02}"),
        _ => format!("{year:04}-{month:02}-{day:02}"),
    });
    texts.prop_map(|text| QueryDate::parse(&text).unwrap())
}

fn any_state() -> impl Strategy<Value = QueryState> {
    let names = <QueryState as validation::NamedKind>::NAMES;
    prop::sample::select(names).prop_map(|name| name.parse().unwrap())
}

fn any_condition() -> impl Strategy<Value = QueryCondition> {
    prop_oneof![
        any_text().prop_map(QueryCondition::Text),
        any_text().prop_map(QueryCondition::Tag),
        any_state().prop_map(QueryCondition::Is),
        prop::sample::select(ContentType::NAMES).prop_map(|name| QueryCondition::Type(name.parse().unwrap())),
        any_text().prop_map(|host| QueryCondition::Site(host.to_ascii_lowercase())),
        any_text().prop_map(QueryCondition::Feed),
        any_text().prop_map(QueryCondition::Collection),
        any_date().prop_map(QueryCondition::Before),
        any_date().prop_map(QueryCondition::After),
        (1..=MAX_QUERY_MINUTES).prop_map(QueryCondition::UpTo),
    ]
}

fn any_query() -> impl Strategy<Value = LibraryQuery> {
    let term = (any::<bool>(), any_condition())
        .prop_map(|(is_excluded, condition)| QueryTerm { is_excluded, condition });
    let group = prop::collection::vec(term, 1..4).prop_map(|terms| QueryGroup { terms });
    prop::collection::vec(group, 0..5).prop_map(|groups| LibraryQuery { groups })
}

proptest! {
    #[test]
    fn printed_query_is_read_as_the_same(query in any_query()) {
        prop_assert_eq!(LibraryQuery::parse(&query.to_string()), Ok(query));
    }

    #[test]
    fn any_text_is_read_or_has_a_fault_within_it(source in "\\PC{0,60}") {
        match LibraryQuery::parse(&source) {
            Ok(query) => prop_assert_eq!(LibraryQuery::parse(&query.to_string()), Ok(query)),
            Err(fault) => {
                prop_assert!(fault.length > 0);
                prop_assert!(fault.start + fault.length <= source.chars().count());
            }
        }
    }

    #[test]
    fn text_of_operators_is_read_or_has_a_fault_within_it(source in "[-a-z:\"\\\\ ]{0,40}|((-?(tag|is|before|upto):)? ?\"?(or|unread|2026|1)\"? ?){0,6}") {
        match LibraryQuery::parse(&source) {
            Ok(query) => prop_assert_eq!(LibraryQuery::parse(&query.to_string()), Ok(query)),
            Err(fault) => prop_assert!(fault.start + fault.length <= source.chars().count()),
        }
    }
}
