//! The same passages and queries in both engines.

use std::collections::HashMap;

use uuid::Uuid;

use crate::index::contract::{DIMENSIONS, embedding, id, models, point, words};
use crate::index::{
    EdgeIndex, Hit, IndexQuery, Labels, Language, PassageIndex, Point, Source, SparseVector, Tenant,
};

const PASSAGES: u32 = 1_000;
const TENANTS: u32 = 3;
const QUERIES: u32 = 50;
/// Greatest difference of the scores of a passage.
const TOLERANCE: f32 = 1e-4;

/// Numbers that look random, the same at every run.
struct NumberSequence(u64);

impl NumberSequence {
    /// Returns a number below `bound`.
    fn below(&mut self, bound: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u32::try_from(self.0 >> 33).unwrap() % bound
    }

    fn vector(&mut self) -> Vec<f32> {
        (0..DIMENSIONS).map(|_| self.below(2_000) as f32 / 1_000.0 - 1.0).collect()
    }

    /// Words of which low numbers are frequent, each with a weight.
    fn words(&mut self, count: u32) -> SparseVector {
        let mut indices: Vec<u32> = (0..count).map(|_| self.below(200) * self.below(200) / 200).collect();
        indices.sort_unstable();
        indices.dedup();
        let values = indices.iter().map(|_| (1 + self.below(100)) as f32 / 50.0).collect();
        SparseVector { indices, values }
    }
}

fn tenant_of(number: u32) -> Tenant {
    Tenant::of(id(u128::from(number % TENANTS) + 1))
}

fn fill(index: &dyn PassageIndex) {
    let mut numbers = NumberSequence(7);
    let mut of_tenant: HashMap<Tenant, Vec<Point>> = HashMap::new();
    for number in 1..=PASSAGES {
        let source = if number % 4 == 0 { Source::Feeds } else { Source::Bookmarks };
        let passage = Point {
            document: id(u128::from(number / 3) + 10_000),
            labels: Labels { source, ..point(1).labels },
            language: if number % 5 == 0 { Language::German } else { Language::English },
            sparse: numbers.words(12),
            dense: (number % 7 != 0).then(|| embedding(numbers.vector())).into_iter().collect(),
            ..point(number)
        };
        of_tenant.entry(tenant_of(number)).or_default().push(passage);
    }
    for (tenant, passages) in of_tenant {
        index.upsert(&tenant, passages).unwrap();
    }
    index.delete_document(&tenant_of(30), id(10_010), None).unwrap();
}

/// The index finds the same passages as the embedded one, with the same scores.
pub fn ranks_as_the_embedded_index(index: &dyn PassageIndex) {
    let folder = tempfile::tempdir().unwrap();
    let embedded = EdgeIndex::open(folder.path(), models()).unwrap();
    fill(index);
    fill(&embedded);
    let mut numbers = NumberSequence(11);

    for number in 0..QUERIES {
        let sparse = if number % 9 == 0 { words(&[]) } else { numbers.words(4) };
        let dense = (number % 8 != 0).then(|| embedding(numbers.vector()));
        let mut query = IndexQuery { sparse, dense, depth: 30, ..IndexQuery::default() };
        query.filter.source = (number % 3 == 0).then_some(Source::Feeds);
        let tenant = tenant_of(number);
        let (found, expected) =
            (index.search(&tenant, &query).unwrap(), embedded.search(&tenant, &query).unwrap());

        assert_same_hits(&found.lexical, &expected.lexical, number);
        assert_same_hits(&found.dense, &expected.dense, number);
        let documents: Vec<Uuid> = found.documents.keys().copied().collect();
        assert_eq!(found.documents, embedded.find_documents(&tenant, &documents).unwrap());
    }
}

/// Compares the hits of a query. Of those with the lowest score, other ones may be within the depth.
fn assert_same_hits(found: &[Hit], expected: &[Hit], query: u32) {
    assert_eq!(found.len(), expected.len(), "query {query}");
    let Some(lowest) = expected.last() else { return };
    let scores: HashMap<Uuid, f32> = found.iter().map(|hit| (hit.id, hit.score)).collect();
    for hit in expected.iter().filter(|hit| hit.score > lowest.score + TOLERANCE) {
        let score = scores.get(&hit.id).copied();
        assert!(
            score.is_some_and(|score| (score - hit.score).abs() < TOLERANCE),
            "query {query}: {hit:?} has the score {score:?}"
        );
    }
}
