//! Answers with and without a model: what is quoted, from which document, and what is not an answer.

use inference::embedder::{Calibration, Embeddings, QueryWeight};

use super::*;

const QUAGGA: &str = "Artis had animals of many kinds. The quagga of Artis died on the twelfth of August 1883. \
    Visitors came by tram and had tea in the garden. The keeper fed it hay.";
const BREAD: &str = "Bread needs flour and water.\nIt rises for an hour.";
const BACKDOOR: &str = "In March 2024 Andres Freund noticed that logins took half a second longer. \
    He traced this to a hidden object file in the test data.";

/// A passage of the document with this rank.
fn passage(document_rank: usize, title: &str, text: &str) -> SourcePassage {
    let score = if document_rank == 0 { 0.9 } else { 0.8 };
    SourcePassage { document_rank, title: title.to_owned(), text: text.to_owned(), score, cosine: None }
}

/// Whether the question is answered, and the quotations, each with the number of its passage from 1.
fn answer_from(text: &str, passages: Vec<SourcePassage>, embedder: Option<&dyn Embedder>) -> (bool, String) {
    let question = Question { text: text.to_owned(), passages };
    let (is_answered, sentences) = match answer(&question, embedder).unwrap() {
        DraftAnswer::Quoted(sentences) => (true, sentences),
        DraftAnswer::Closest(sentences) => (false, sentences),
        DraftAnswer::Nothing => (false, Vec::new()),
        DraftAnswer::Written(text) => panic!("a model wrote {text}"),
    };
    let shown = sentences.into_iter().map(|sentence| {
        let text = question.passages[sentence.passage].text.get(sentence.range).unwrap();
        format!("“{text}” [{}]", sentence.passage + 1)
    });
    (is_answered, shown.collect::<Vec<_>>().join(" "))
}

/// The answer from texts without titles, each of another document.
fn answer_of(text: &str, texts: &[&str]) -> (bool, String) {
    let passages = texts.iter().enumerate().map(|(rank, text)| passage(rank, "", text));
    answer_from(text, passages.collect(), None)
}

/// A model in whose vectors each of these groups of synonyms is one dimension.
struct SynonymEmbedder(&'static [&'static [&'static str]]);

impl Embedder for SynonymEmbedder {
    fn model(&self) -> &str {
        "synonyms"
    }

    fn dimensions(&self) -> usize {
        self.0.len()
    }

    fn embed(&self, texts: &[&str]) -> Result<Embeddings, EmbedError> {
        Ok(Embeddings { vectors: self.embed_queries(texts)?, tokens: texts.len() })
    }

    fn embed_query(&self, text: &str) -> Result<Vec<f32>, EmbedError> {
        let text = text.to_lowercase();
        let is_in_text = |group: &&[&str]| group.iter().any(|word| text.contains(word));
        let vector: Vec<f32> = self.0.iter().map(|group| if is_in_text(group) { 1.0 } else { 0.0 }).collect();
        let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt().max(1.0);
        Ok(vector.into_iter().map(|value| value / length).collect())
    }

    fn query_weight(&self, _: &str) -> QueryWeight {
        QueryWeight::FULL
    }

    fn knows_each_word(&self, _: &str) -> Option<bool> {
        Some(true)
    }

    fn calibration(&self) -> Calibration {
        Calibration::STANDARD
    }
}

#[test]
fn sentence_with_the_question_words_is_quoted() {
    let answer = answer_of("When did the quagga die?", &[BREAD, QUAGGA]);

    let quoted = "“The quagga of Artis died on the twelfth of August 1883.” [2]";
    assert_eq!(answer, (true, quoted.to_owned()));
}

#[test]
fn question_without_answer_gets_the_closest_sentences() {
    let question = "Which moons of Mars have animals with feathers?";

    let closest = "“Artis had animals of many kinds.” [1]";
    assert_eq!(answer_of(question, &[QUAGGA, BREAD]), (false, closest.to_owned()));
}

#[test]
fn passages_without_sentences_are_quoted_as_they_are() {
    assert_eq!(answer_of("?", &["Buy milk"]), (false, "“Buy milk” [1]".to_owned()));
    assert_eq!(answer_of("When did the quagga die?", &[]), (false, String::new()));
}

#[test]
fn document_that_search_ranks_first_answers_by_its_title() {
    let passages = vec![
        passage(0, "The xz backdoor", BACKDOOR),
        passage(1, "Found objects", "A dog found the old door of a barn behind the house in 1999."),
        passage(2, "Who we are", "Who are we? We are who found this club."),
    ];

    let answer = answer_from("Who found the xz backdoor?", passages, None);

    let quoted = "“In March 2024 Andres Freund noticed that logins took half a second longer.” [1]";
    let (is_answered, text) = answer;
    assert!(
        is_answered && text.starts_with(quoted) && !text.contains("[2]") && !text.contains("[3]"),
        "{text}"
    );
}

#[test]
fn similarity_finds_a_sentence_that_shares_no_word() {
    let embedder = SynonymEmbedder(&[&["flies", "insect"], &["coat", "stripe"], &["hay"]]);
    let text = "They eat hay in the morning. Flies cannot land on such a coat.";
    let mut passages = vec![passage(0, "Animals", text), passage(1, "Bread", BREAD)];
    passages[0].cosine = Some(0.7);

    let answer = answer_from("What keeps insects away?", passages, Some(&embedder));

    let quoted = "“Flies cannot land on such a coat.” [1]";
    assert_eq!(answer, (true, quoted.to_owned()));
}

#[test]
fn near_passage_of_another_document_is_no_evidence() {
    let embedder = SynonymEmbedder(&[&["bread"], &["baked"], &["night"]]);
    let mut passages = vec![passage(0, "Bread", BREAD), passage(1, "Planets", "Venus is hot in the day.")];
    passages[0].cosine = Some(0.3);
    passages[1].cosine = Some(0.9);

    let answer = answer_from("Is bread baked at night?", passages, Some(&embedder));

    let closest = "“Bread needs flour and water.” [1]";
    assert_eq!(answer, (false, closest.to_owned()));
}

#[test]
fn question_about_a_date_is_answered_from_that_date() {
    let question = "What is in the meeting of 2024-06-06?";
    let other = |rank| passage(rank, "Meeting of 2024-06-13", "The auditor came and left in the rain.");
    let wanted = passage(0, "Meeting of 2024-06-06", "The roof leaks and must be mended in autumn.");

    let quoted = "“The roof leaks and must be mended in autumn.” [1]";
    assert_eq!(answer_from(question, vec![wanted, other(1)], None), (true, quoted.to_owned()));
    assert!(!answer_from(question, vec![other(0)], None).0);
}

#[test]
fn question_about_another_name_or_number_is_not_answered() {
    for (question, is_answered) in [
        ("When did the quagga of Artis die?", true),
        ("When did the quagga of Berlin die?", false),
        ("Did the quagga of Artis die in 1883?", true),
        ("Did the quagga of Artis die in 1884?", false),
    ] {
        let answer = answer_of(question, &[QUAGGA, BREAD]);
        assert_eq!(answer.0, is_answered, "{question}");
    }
}

#[test]
fn quoted_sentence_is_the_text_unchanged() {
    let passage = "Nobody believed it. He said “the quagga [2] is  dead”\nin 1883[4]. Others did.";

    let answer = answer_of("Who said that the quagga is dead?", &[passage]);

    assert_eq!(answer, (true, "“He said “the quagga [2] is  dead”\nin 1883[4].” [1]".to_owned()));
}

#[test]
fn sentence_ends_before_its_footnotes() {
    let okapi =
        "The okapi is native to the Congo.[1][2] It was described in 1901 by Sclater.[3] It eats leaves.";

    let answer = answer_of("Where is the okapi native?", &[okapi]);

    assert_eq!(answer.1, "“The okapi is native to the Congo.” [1]");
}

#[test]
fn sentence_without_words_is_not_quoted() {
    let quagga = "The quagga died in Artis.\n\n[1] [2] [99]\n\n— [1], [99] —";
    for question in ["previous quagga [1]", "[99]", "quagga [99]", "What is in [2]?"] {
        assert_eq!(answer_of(question, &[quagga]).1, "“The quagga died in Artis.” [1]", "{question}");
        assert_eq!(answer_of(question, &["[1] [2] [99]"]), (false, String::new()), "{question}");
    }
}

#[test]
fn numbers_are_quoted_of_texts_without_letters_only() {
    assert_eq!(answer_of("137", &["137 138 139 140"]).1, "“137 138 139 140” [1]");
    let text = "137 138 139 140\n\nThe code 137 means that it was killed.";
    assert_eq!(answer_of("137", &[text]).1, "“The code 137 means that it was killed.” [1]");
}
