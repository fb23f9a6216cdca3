//! `carrel eval`: judges search by a set that the test writes.

use std::fs;

use serde_json::{Value, json};
use test_qdrant::TestQdrant;

use crate::support::Home;
use crate::support::program::{CommandOutput, command_output, run_command};

/// The texts of the set: id, title, text and tags.
const TEXTS: [(&str, &str, &str, &[&str]); 9] = [
    ("heron", "Herons", "A heron stands still in the reeds and waits for a fish.", &["water"]),
    ("egret", "Egrets", "An egret is a white heron of the marshes.", &[]),
    ("owl", "Owls", "An owl hunts at night and turns its head.", &["night"]),
    ("swift", "Swifts", "A swift sleeps while it flies.", &[]),
    ("eagle", "Eagles", "An eagle builds its nest on a cliff.", &[]),
    ("wren", "Wrens", "A wren sings louder than birds ten times its size.", &[]),
    ("robin", "Robins", "A robin defends its garden in winter.", &[]),
    ("crane", "Cranes", "A crane dances before it breeds.", &[]),
    ("gull", "Gulls", "A gull follows the plough and the ferry.", &["water"]),
];

/// Writes a set of ten texts, one of them without content, with four queries and two questions.
fn write_set(home: &Home) -> String {
    let folder = home.path("birds");
    fs::create_dir(&folder).unwrap();
    let mut corpus: Vec<Value> = TEXTS
        .iter()
        .map(|(id, title, text, tags)| {
            let metadata = json!({
                "url": format!("https://birds.example/{id}"),
                "tags": tags,
                "savedAt": "2024-05-06T07:08:09Z",
                "highlights": [{ "text": text, "note": "Remember this." }],
            });
            json!({ "_id": id, "title": title, "text": text, "metadata": metadata })
        })
        .collect();
    corpus.push(json!({ "_id": "kite", "title": "Kites", "text": "", "metadata": { "state": "failed" } }));
    let queries = [
        json!({ "_id": "q1", "text": "plough ferry", "metadata": { "kind": "text" } }),
        json!({ "_id": "q2", "text": "heron", "metadata": { "kind": "text", "filters": { "tag": "water" } } }),
        json!({ "_id": "q3", "text": "submarine", "metadata": { "kind": "nothing" } }),
        json!({ "_id": "q4", "text": "swift", "metadata": { "kind": "wrong" } }),
    ];
    let questions = [
        json!({ "_id": "a1", "text": "What does a gull follow?", "document": "gull", "fact": "the plough" }),
        json!({ "_id": "a2", "text": "submarine?", "document": null, "fact": null }),
    ];
    let judgements = "query-id\tcorpus-id\tscore\nq1\tgull\t2\nq2\theron\t2\nq2\tegret\t0\nq4\towl\t1\n";
    let lines = |rows: &[Value]| rows.iter().map(|row| format!("{row}\n")).collect::<String>();
    for (name, content) in [
        ("corpus.jsonl", lines(&corpus)),
        ("queries.jsonl", lines(&queries)),
        ("answers.jsonl", lines(&questions)),
        ("qrels.tsv", judgements.to_owned()),
    ] {
        fs::write(folder.join(name), content).unwrap();
    }
    folder.to_str().unwrap().to_owned()
}

/// Returns nDCG, recall and reciprocal rank of a kind of queries.
fn figures(search: &Value, kind: &str) -> Value {
    let rows = search["figures"].as_array().unwrap();
    let row = rows.iter().find(|row| row["kind"] == kind).unwrap_or_else(|| panic!("{kind}: {search}"));
    json!([row["ndcg"], row["recall"], row["mrr"]])
}

#[actix_web::test]
async fn set_is_measured_in_a_library_of_its_own() {
    let home = Home::new().await;
    let set = write_set(&home);
    let features = home.path("features.jsonl");
    let args = ["eval", set.as_str(), "--lexical", "--answers", "--features", features.to_str().unwrap()];

    let report = run_command(&home, &args, "");

    assert_eq!((&report["set"], &report["texts"]), (&json!("birds"), &json!(10)));
    let [search] = report["searches"].as_array().unwrap().as_slice() else { panic!("{report}") };
    assert_eq!((&search["search"], &search["queries"]), (&json!("lexical"), &json!(4)));
    assert_eq!(figures(search, "text"), json!([1.0, 1.0, 1.0]));
    assert_eq!(figures(search, "nothing"), json!([1.0, 1.0, 1.0]));
    assert_eq!(figures(search, "wrong"), json!([0.0, 0.0, 0.0]));
    assert_eq!(figures(search, "all"), json!([0.75, 0.75, 0.75]));
    assert_eq!(search["corrections"], Value::Null);
    assert_eq!(report["answers"]["answered"]["all"], 1);
    assert_eq!(report["answers"]["declined"], json!({ "right": 1, "all": 1 }));
    let lines = fs::read_to_string(features).unwrap();
    let results: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let gull = results.iter().find(|result| result["query"] == "q1").unwrap();
    assert_eq!((&gull["grade"], &gull["c"], &gull["k"]), (&json!(2), &Value::Null, &json!(0.0)));
    assert!(gull["L"].as_f64().unwrap() > 0.0 && gull["C"].as_f64().unwrap() > 0.0, "{gull}");
    // Nothing was created where the library of the server would be.
    assert!(!home.path("data").exists() && !home.path("rows.db").exists());
}

#[actix_web::test]
async fn figure_below_its_minimum_fails_the_evaluation() {
    let home = Home::new().await;
    let set = write_set(&home);
    let run = |minimum: &str| {
        let args = ["eval", set.as_str(), "--lexical", "--kind", "text", "--min", minimum];
        let CommandOutput { code, stdout, stderr } = command_output(&home, &args, "", &[]);
        (code, format!("{stdout}{stderr}"))
    };

    let (met, printed) = run("text.mrr=1");
    assert_eq!(met, Some(0), "{printed}");
    assert!(printed.contains("lexical search: 2 queries") && !printed.contains("nothing"), "{printed}");
    let (unmet, printed) = run("wrong=0.5");
    assert_eq!(unmet, Some(1), "{printed}");
    assert!(printed.contains("too low: wrong is not measured by this set"), "{printed}");
}

#[actix_web::test]
async fn library_of_an_evaluation_can_be_kept() {
    let home = Home::new().await;
    let set = write_set(&home);
    let kept = home.path("kept");
    let args = ["eval", set.as_str(), "--lexical", "--keep", kept.to_str().unwrap()];
    run_command(&home, &args, "");

    let settings = [("DATABASE__URL", ""), ("DATA_DIR", kept.to_str().unwrap())];
    let users = command_output(&home, &["user", "list"], "", &settings);

    assert!(users.stdout.contains("reader@eval.example"), "{users:?}");
    let again = command_output(&home, &args, "", &[]);
    assert_eq!(again.code, Some(1), "{again:?}");
    assert!(again.stderr.contains("it is not empty"), "{again:?}");
}

#[actix_web::test]
async fn set_is_measured_on_a_qdrant_server() {
    let (home, qdrant) = (Home::new().await, TestQdrant::start().unwrap());
    let (set, url, kept) = (write_set(&home), qdrant.url(), home.path("kept"));
    let args = ["eval", set.as_str(), "--lexical", "--vectors-url", url.as_str()];

    // The second time there is no collection of the first.
    for _ in 0..2 {
        let report = run_command(&home, &args, "");
        assert_eq!(figures(&report["searches"][0], "text"), json!([1.0, 1.0, 1.0]));
    }
    assert!(qdrant.requests("upsert_points") > 0);

    let keeping = args.iter().copied().chain(["--keep", kept.to_str().unwrap()]).collect::<Vec<_>>();
    run_command(&home, &keeping, "");
    let refused = command_output(&home, &args, "", &[]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("the collection carrel-eval of the Qdrant server"), "{refused:?}");
}

/// Runs on PostgreSQL only, which searches texts itself.
#[actix_web::test]
async fn database_is_judged_without_its_index() {
    let (home, qdrant) = (Home::new().await, TestQdrant::start().unwrap());
    if home.database_file().is_some() {
        return;
    }
    let (set, url, database) = (write_set(&home), qdrant.url(), home.database_url());
    let servers = ["--vectors-url", url.as_str(), "--database-url", database.as_str()];
    let args = [&["eval", set.as_str(), "--lexical"], servers.as_slice()].concat();

    let report = run_command(&home, &args, "");

    let searches = report["searches"].as_array().unwrap();
    let names: Vec<&Value> = searches.iter().map(|search| &search["search"]).collect();
    assert_eq!(names, ["lexical", "database"]);
    assert_eq!(searches[1]["degraded"], searches[1]["queries"]);
    assert_eq!(figures(&searches[1], "text")[1], 1.0);
    let again = command_output(&home, &args, "", &[]);
    assert_eq!(again.code, Some(1), "{again:?}");
    assert!(again.stderr.contains("is not empty"), "{again:?}");
}

#[actix_web::test]
async fn hybrid_search_without_its_model_is_refused() {
    let home = Home::new().await;
    let set = write_set(&home);

    let refused = command_output(&home, &["eval", set.as_str()], "", &[]);

    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("pass --lexical"), "{refused:?}");
}
