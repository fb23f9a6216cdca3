//! What every passage index must do, as tests that take any of them.

use uuid::Uuid;

use super::{Filter, Hit, IndexError, Labels, Language, PassageIndex, Plan, Point, Source, Sparse, Tenant};

/// How many numbers the vectors of these tests have.
pub const LENGTH: usize = 4;

/// A number as an id.
pub fn id(number: u128) -> Uuid {
    Uuid::from_u128(number)
}

/// The passages of user 1.
pub fn me() -> Tenant {
    Tenant::of(id(1))
}

/// A passage whose id, document and only word are this number.
pub fn point(number: u32) -> Point {
    Point {
        id: id(number.into()),
        document: id(number.into()),
        version: 1,
        labels: Labels { source: Source::Bookmarks, feed: None, collections: Vec::new() },
        language: Language::English,
        sparse: words(&[number]),
        dense: None,
    }
}

/// These words, all of the same weight.
pub fn words(words: &[u32]) -> Sparse {
    Sparse { indices: words.to_vec(), values: vec![1.0; words.len()] }
}

/// A search for one word.
pub fn asking(word: u32) -> Plan {
    Plan { sparse: words(&[word]), depth: 10, ..Plan::default() }
}

/// A search for whatever has a meaning.
pub fn meaning() -> Plan {
    Plan { dense: Some(vec![1.0; LENGTH]), depth: 10, ..Plan::default() }
}

/// The ids that both legs found, the lexical ones first.
pub fn found(index: &dyn PassageIndex, tenant: &Tenant, plan: &Plan) -> Vec<Uuid> {
    let legs = index.search(tenant, plan).unwrap();
    legs.lexical.iter().chain(&legs.dense).map(|hit| hit.id).collect()
}

/// Words and meaning find passages, each in its own leg and best first.
pub fn both_legs_find(index: &dyn PassageIndex) {
    let near = Point { dense: Some(vec![1.0, 0.0, 0.0, 0.0]), sparse: words(&[7, 8]), ..point(1) };
    let far = Point { dense: Some(vec![0.6, 0.8, 0.0, 0.0]), sparse: words(&[8]), ..point(2) };
    index.upsert(&me(), vec![far, near]).unwrap();

    let plan =
        Plan { sparse: words(&[7, 8]), dense: Some(vec![2.0, 0.0, 0.0, 0.0]), depth: 10, ..Plan::default() };
    let legs = index.search(&me(), &plan).unwrap();

    assert_eq!(legs.lexical.iter().map(|hit| hit.id).collect::<Vec<_>>(), [id(1), id(2)]);
    assert!(legs.lexical.iter().all(|hit| hit.score > 0.0 && hit.document == hit.id));
    let Hit { score, .. } = legs.dense[1];
    assert!((legs.dense[0].score - 1.0).abs() < 1e-3 && (score - 0.6).abs() < 1e-3);
}

/// A search finds nothing without words or meaning, and no word that stands nowhere.
pub fn nothing_finds_nothing(index: &dyn PassageIndex) {
    index.upsert(&me(), vec![point(1)]).unwrap();

    assert!(found(index, &me(), &Plan { depth: 10, ..Plan::default() }).is_empty());
    assert!(found(index, &me(), &asking(2)).is_empty());
    assert!(found(index, &Tenant::of(id(2)), &asking(1)).is_empty());
}

/// One tenant neither sees nor changes what is another's, even by its id (row T4).
pub fn tenants_never_meet(index: &dyn PassageIndex) {
    let (mine, other) = (me(), Tenant::of(id(2)));
    index.upsert(&mine, vec![point(1)]).unwrap();

    index.upsert(&other, vec![Point { sparse: words(&[9]), ..point(1) }]).unwrap();
    index.patch_document(&other, id(1), &Labels { source: Source::Feeds, ..point(1).labels }).unwrap();
    index.delete_document(&other, id(1), None).unwrap();
    index.delete_tenant(&other).unwrap();

    assert_eq!(found(index, &mine, &asking(1)), [id(1)]);
    let bookmarks = Filter { source: Some(Source::Bookmarks), ..Filter::default() };
    assert_eq!(found(index, &mine, &Plan { filter: bookmarks, ..asking(1) }), [id(1)]);
    assert_eq!(index.count().unwrap(), 1);
    assert!(index.languages(&other).unwrap().is_empty());
}

/// Word frequencies are those of the tenant's passages alone.
pub fn a_word_is_as_rare_as_in_the_tenants_own_library(index: &dyn PassageIndex) {
    let library = |from: u32| (from..from + 5).map(|n| Point { sparse: words(&[7, n]), ..point(n) });
    let score = || index.search(&me(), &asking(100)).unwrap().lexical[0].score;
    index.upsert(&me(), library(100).collect()).unwrap();
    let alone = score();

    index
        .upsert(&Tenant::of(id(2)), library(200).map(|p| Point { sparse: words(&[100]), ..p }).collect())
        .unwrap();

    assert!((score() - alone).abs() < 1e-6);
}

/// Every filter leaves what it names, and all that are given must hold.
pub fn filters_narrow(index: &dyn PassageIndex) {
    let labels = point(1).labels;
    let boxed = Point { labels: Labels { collections: vec![id(51), id(52)], ..labels.clone() }, ..point(1) };
    let fed = Point { labels: Labels { source: Source::Feeds, feed: Some(id(61)), ..labels }, ..point(2) };
    let all = [boxed, fed, point(3)].map(|point| Point { sparse: words(&[9]), ..point });
    index.upsert(&me(), all.to_vec()).unwrap();
    let with = |filter: Filter| {
        let mut ids = found(index, &me(), &Plan { filter, ..asking(9) });
        ids.sort();
        ids
    };
    let any = Filter::default;

    assert_eq!(with(any()), [id(1), id(2), id(3)]);
    assert_eq!(with(Filter { source: Some(Source::Bookmarks), ..any() }), [id(1), id(3)]);
    assert_eq!(with(Filter { source: Some(Source::Feeds), ..any() }), [id(2)]);
    assert_eq!(with(Filter { collection: Some(id(52)), ..any() }), [id(1)]);
    assert_eq!(with(Filter { feed: Some(id(61)), ..any() }), [id(2)]);
    assert_eq!(with(Filter { documents: Some(vec![id(2), id(3)]), ..any() }), [id(2), id(3)]);
    assert!(with(Filter { documents: Some(Vec::new()), ..any() }).is_empty());
    assert!(with(Filter { source: Some(Source::Feeds), collection: Some(id(51)), ..any() }).is_empty());
}

/// A document is filed anew without losing its words or its meaning.
pub fn labels_change_alone(index: &dyn PassageIndex) {
    let labels = Labels { feed: Some(id(61)), collections: vec![id(51)], ..point(1).labels };
    index.upsert(&me(), vec![Point { labels, dense: Some(vec![1.0; LENGTH]), ..point(1) }]).unwrap();

    let moved = Labels { collections: vec![id(52)], ..point(1).labels };
    index.patch_document(&me(), id(1), &moved).unwrap();

    let within = |filter: Filter| found(index, &me(), &Plan { filter, ..asking(1) });
    assert_eq!(within(Filter { collection: Some(id(52)), ..Filter::default() }), [id(1)]);
    assert!(within(Filter { collection: Some(id(51)), ..Filter::default() }).is_empty());
    assert!(within(Filter { feed: Some(id(61)), ..Filter::default() }).is_empty());
    assert_eq!(found(index, &me(), &meaning()), [id(1)]);
}

/// A new version comes in beside the old one, which then goes.
pub fn an_old_version_goes(index: &dyn PassageIndex) {
    let of_version =
        |number, version| Point { document: id(90), version, sparse: words(&[9]), ..point(number) };
    index.upsert(&me(), vec![of_version(1, 1), of_version(2, 1), point(4)]).unwrap();
    index.upsert(&me(), vec![of_version(3, 2)]).unwrap();

    index.delete_document(&me(), id(90), Some(2)).unwrap();
    assert_eq!(found(index, &me(), &asking(9)), [id(3)]);
    assert_eq!((index.count().unwrap(), found(index, &me(), &asking(4))), (2, vec![id(4)]));

    index.delete_document(&me(), id(90), None).unwrap();
    assert!(found(index, &me(), &asking(9)).is_empty());
    assert_eq!(index.count().unwrap(), 1);
}

/// The same again changes nothing.
pub fn twice_is_once(index: &dyn PassageIndex) {
    for _ in 0..2 {
        index.upsert(&me(), vec![point(1), point(2)]).unwrap();
    }
    assert_eq!((index.count().unwrap(), index.estimate_count().unwrap()), (2, 2));
    for _ in 0..2 {
        index.delete_document(&me(), id(1), None).unwrap();
    }
    assert_eq!(index.count().unwrap(), 1);
    for _ in 0..2 {
        index.delete_tenant(&me()).unwrap();
    }
    assert_eq!((index.count().unwrap(), index.estimate_count().unwrap()), (0, 0));
}

/// A passage without a meaning is found by its words alone, until it is put in again with one.
pub fn meaning_may_come_later(index: &dyn PassageIndex) {
    index.upsert(&me(), vec![point(1), point(2)]).unwrap();
    assert!(found(index, &me(), &meaning()).is_empty());

    index.upsert(&me(), vec![Point { dense: Some(vec![1.0; LENGTH]), ..point(2) }]).unwrap();

    assert_eq!(found(index, &me(), &meaning()), [id(2)]);
    assert_eq!(found(index, &me(), &asking(2)), [id(2)]);
}

/// A vector of another length is refused, and nothing is written.
pub fn a_vector_of_another_length_is_refused(index: &dyn PassageIndex) {
    let odd = Point { dense: Some(vec![1.0; LENGTH + 1]), ..point(2) };

    let refused = index.upsert(&me(), vec![point(1), odd]).unwrap_err();

    assert!(matches!(refused, IndexError::Dimension { wanted: LENGTH, got: 5 }));
    assert_eq!(index.count().unwrap(), 0);
    let plan = Plan { dense: Some(vec![1.0]), depth: 1, ..Plan::default() };
    assert!(matches!(index.search(&me(), &plan), Err(IndexError::Dimension { .. })));
}

/// The languages of a library are those of its passages, also after it was asked.
pub fn a_library_knows_its_languages(index: &dyn PassageIndex) {
    assert!(index.languages(&me()).unwrap().is_empty());
    index.upsert(&me(), vec![Point { language: Language::German, ..point(1) }]).unwrap();
    assert_eq!(index.languages(&me()).unwrap(), [Language::German]);
}

/// Nothing more than asked for.
pub fn a_leg_is_as_deep_as_asked(index: &dyn PassageIndex) {
    index.upsert(&me(), (1..20).map(|n| Point { sparse: words(&[9]), ..point(n) }).collect()).unwrap();
    assert_eq!(found(index, &me(), &Plan { depth: 3, ..asking(9) }).len(), 3);
}

/// Passages of all users are listed page by page, compared by their ids, and removed by them.
pub fn passages_are_listed_compared_and_removed_by_id(index: &dyn PassageIndex) {
    let all = |from| index.passages(from, 2).unwrap();
    index.upsert(&me(), vec![point(1), point(3)]).unwrap();
    index.upsert(&Tenant::of(id(2)), vec![point(2)]).unwrap();

    let first = all(None);
    assert_eq!((first.ids, first.next), (vec![id(1), id(2)], Some(id(3))));
    let last = all(Some(id(3)));
    assert_eq!((last.ids, last.next), (vec![id(3)], None));
    assert_eq!(index.missing(&[id(1), id(4), id(2), id(5)]).unwrap(), [id(4), id(5)]);

    index.remove(&[id(1), id(2), id(9)]).unwrap();
    assert_eq!(index.missing(&[id(1), id(2), id(3)]).unwrap(), [id(1), id(2)]);
    assert!(found(index, &me(), &asking(1)).is_empty());
}
