//! Results against their form as trees of values.

use serde_json::value::to_raw_value;
use validation::Invalid;
use values::scope::Scope;

use super::super::error::tool_error;
use super::*;

const GENERATIONS: [ProtocolGeneration; 2] = [ProtocolGeneration::Legacy, ProtocolGeneration::Modern];
const CACHES: [Option<CachePolicy>; 2] = [None, Some(CachePolicy { ttl_ms: 5, scope: "private" })];

fn fault(error: &Error) -> Value {
    Value::Object(tool_failure(error, tool_error(error).unwrap(), "https://a.example"))
}

fn bytes(result: MethodResult, generation: ProtocolGeneration, cache: Option<CachePolicy>) -> Vec<u8> {
    result.write(&RpcId::Number(7.into()), generation, cache).unwrap()
}

fn written(result: MethodResult, generation: ProtocolGeneration, cache: Option<CachePolicy>) -> Value {
    serde_json::from_slice(&bytes(result, generation, cache)).unwrap()
}

/// Returns the response to request 7 that is built as a tree of values and then written.
fn built(
    generation: ProtocolGeneration,
    mut result: Map<String, Value>,
    cache: Option<CachePolicy>,
) -> String {
    if generation == ProtocolGeneration::Modern {
        result.insert("resultType".to_owned(), json!("complete"));
        if let Some(CachePolicy { ttl_ms, scope }) = cache {
            result.insert("ttlMs".to_owned(), json!(ttl_ms));
            result.insert("cacheScope".to_owned(), json!(scope));
        }
        add_meta(&mut result, "io.modelcontextprotocol/serverInfo", server_info());
    }
    json!({ "jsonrpc": "2.0", "id": 7, "result": result }).to_string()
}

/// The result of a tool as a tree of values.
fn tool_success(structured: Value, has_third_party_text: bool) -> Map<String, Value> {
    let text_content = |text: &str| json!({ "type": "text", "text": text });
    let mut content = vec![text_content(&structured.to_string())];
    if has_third_party_text {
        content.push(text_content(THIRD_PARTY));
    }
    members([("content", Value::Array(content)), ("structuredContent", structured)])
}

fn parsed(result: &Value, block: usize) -> Value {
    serde_json::from_str(result["content"][block]["text"].as_str().unwrap()).unwrap()
}

#[test]
fn result_is_sent_twice_with_a_warning_about_third_party_text() {
    let found = json!({ "results": [], "degraded": null });

    let result = |has_third_party_text| {
        let result = MethodResult::ToolReply { reply: to_raw_value(&found).unwrap(), has_third_party_text };
        written(result, ProtocolGeneration::Legacy, None)["result"].take()
    };

    let with_warning = result(true);
    assert_eq!(with_warning["structuredContent"], found);
    assert_eq!(parsed(&with_warning, 0), found);
    assert!(with_warning["content"][1]["text"].as_str().unwrap().contains("third-party"));
    assert_eq!(result(false)["content"].as_array().unwrap().len(), 1);
}

#[test]
fn error_is_one_block_without_structured_content() {
    let result = fault(&Error::Invalid(Invalid::new("query", "is required")));

    let block = parsed(&result, 0);
    assert_eq!(block["code"], "VALIDATION_FAILED");
    assert_eq!(block["fields"][0]["field"], "query");
    assert_eq!(result["_meta"]["carrel/error"], block);
    assert_eq!((result["content"].as_array().unwrap().len(), &result["isError"]), (1, &json!(true)));
    assert!(result.get("structuredContent").is_none());
}

#[test]
fn missing_scope_comes_with_a_step_up_challenge() {
    let result = fault(&Error::ScopeRequired(vec![Scope::WriteProjects]));

    let challenge = result["_meta"]["mcp/www_authenticate"][0].as_str().unwrap();
    assert!(challenge.starts_with("Bearer resource_metadata=\"https://a.example/"), "{challenge}");
    assert!(challenge.ends_with(", error=\"insufficient_scope\", scope=\"write:projects\""), "{challenge}");
}

#[test]
fn modern_result_is_complete_and_cacheable() {
    let cache = Some(CachePolicy { ttl_ms: 5, scope: "private" });
    let result = |generation| {
        let own = MethodResult::Members(members([("_meta", json!({ "a/b": 1 }))]));
        written(own, generation, cache)["result"].take()
    };

    assert_eq!(result(ProtocolGeneration::Legacy), json!({ "_meta": { "a/b": 1 } }));
    let modern = result(ProtocolGeneration::Modern);
    assert_eq!(
        (&modern["resultType"], &modern["ttlMs"], &modern["cacheScope"]),
        (&json!("complete"), &json!(5), &json!("private"))
    );
    assert_eq!(modern["_meta"]["a/b"], 1);
    assert_eq!(modern["_meta"]["io.modelcontextprotocol/serverInfo"], server_info());
}

#[test]
fn reply_is_written_as_its_tree_of_values_would_be() {
    let reply = json!({
        "text": "𝒳 é \\ \"quoted\" \n\t\u{1}\u{7f}\u{2028} </script>",
        "score": 0.3,
        "whole": 1.0,
        "none": null,
        "items": [{ "b": 1, "a": u64::MAX }, {}, []],
        "resultType": "a member of the reply itself",
    });
    for (generation, has_third_party_text) in GENERATIONS.into_iter().flat_map(|of| [(of, true), (of, false)])
    {
        for cache in CACHES {
            let result =
                MethodResult::ToolReply { reply: to_raw_value(&reply).unwrap(), has_third_party_text };
            let bytes = bytes(result, generation, cache);

            let tree = tool_success(reply.clone(), has_third_party_text);
            assert_eq!(String::from_utf8(bytes).unwrap(), built(generation, tree, cache));
        }
    }
}

#[test]
fn list_and_failure_are_written_as_their_trees_would_be() {
    let entries = [json!({ "name": "a", "inputSchema": {} }), json!({ "name": "b" })];
    let error = Error::ScopeRequired(vec![Scope::WriteProjects]);
    let failure = || tool_failure(&error, tool_error(&error).unwrap(), "https://a.example");
    for (generation, cache) in GENERATIONS.into_iter().flat_map(|of| CACHES.map(|cache| (of, cache))) {
        // Entries live as long as the process.
        let raw = entries.each_ref().map(|entry| &*Box::leak(to_raw_value(entry).unwrap()));
        let list = bytes(MethodResult::ToolList(raw.to_vec()), generation, cache);
        let tree = members([("tools", json!(entries))]);
        assert_eq!(String::from_utf8(list).unwrap(), built(generation, tree, cache));

        let failed = bytes(MethodResult::Members(failure()), generation, cache);
        assert_eq!(String::from_utf8(failed).unwrap(), built(generation, failure(), cache));
    }
}

#[test]
fn reserved_bytes_suffice_for_the_response() {
    for text in ["", "\"\\\n", &"\"".repeat(5000)] {
        let reply = to_raw_value(&json!({ "text": text })).unwrap();
        let reserved = reply_capacity(reply.get());
        let result = MethodResult::ToolReply { reply, has_third_party_text: true };

        assert!(bytes(result, ProtocolGeneration::Modern, CACHES[1]).len() <= reserved, "{text:.10}");
    }
}
