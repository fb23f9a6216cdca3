//! One route as an operation of the description.

use actix_web::http::Method;
use schemars::SchemaGenerator;
use serde_json::{Map, Value, json};

use super::example;
use super::responses::{self, ErrorResponses};
use crate::http::methods::takes_body;
use crate::routing::{DescribedRoute, Route};
use crate::schema;

/// Returns the tag of a route: the first segment of its path.
pub fn group(route: &Route) -> String {
    route.pattern.split('/').nth(1).unwrap_or_default().to_owned()
}

/// Describes a route as an operation.
pub fn describe(
    described: &'static DescribedRoute,
    generator: &mut SchemaGenerator,
    errors: &mut ErrorResponses,
) -> Value {
    let DescribedRoute { route, operation_id, summary, about } = described;
    let (request, reply) = ((route.request.schema)(), (route.reply)(generator).to_value());
    let reply_description = responses::reply_description(&reply, generator);
    let scopes: Vec<&str> = route.scopes.iter().map(|scope| scope.name()).collect();
    let needs = needs(&scopes);
    let description = [*about, &needs].into_iter().filter(|part| !part.is_empty());
    let mut operation = json!({
        "operationId": operation_id,
        "summary": summary,
        "description": description.collect::<Vec<_>>().join("\n\n"),
        "tags": [group(route)],
        "security": [{ "bearer": scopes }, { "header": scopes }],
        "parameters": parameters(route, &request),
        "responses": responses::describe(route, &reply, &reply_description, errors),
    });
    if let (Some(members), true) = (operation.as_object_mut(), takes_body(&route.method)) {
        members.insert("requestBody".to_owned(), body(request));
    }
    operation
}

fn needs(scopes: &[&str]) -> String {
    match scopes {
        [] => "Requires no scope.".to_owned(),
        [one] => format!("Requires the scope `{one}`."),
        many => format!("Requires the scopes `{}`.", many.join("`, `")),
    }
}

fn parameters(route: &Route, request: &Value) -> Vec<Value> {
    let variables = route.pattern.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let mut all: Vec<Value> = variables.map(variable).collect();
    if !takes_body(&route.method) {
        let required = request["required"].as_array();
        let properties = request["properties"].as_object().into_iter().flatten();
        all.extend(properties.map(|(name, property)| {
            let (schema, description) = schema::for_query(property.clone());
            json!({
                "name": name,
                "in": "query",
                "required": required.is_some_and(|names| names.iter().any(|required| required == name)),
                "description": description,
                "schema": schema,
            })
        }));
    }
    if route.method == Method::POST {
        all.push(json!({
            "name": "Idempotency-Key",
            "in": "header",
            "required": false,
            "description": "Makes the request safe to repeat: the same key with the same body returns the stored response for 24 hours.",
            "schema": { "type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$" },
        }));
    }
    all
}

/// Describes a variable of the path: a name, or else an id.
fn variable(name: &str) -> Value {
    let schema = match name {
        "name" => json!({ "type": "string", "minLength": 1 }),
        _ => json!({ "type": "string", "format": "uuid" }),
    };
    json!({ "name": name, "in": "path", "required": true, "schema": schema })
}

fn body(schema: Value) -> Value {
    json!({
        // A body whose fields are all optional may be left out.
        "required": schema.get("required").is_some_and(Value::is_array),
        "content": { "application/json": { "schema": schema } },
    })
}

/// Adds an example to every parameter, body and success response. Error responses already have one.
pub fn add_examples(paths: &mut Map<String, Value>, schemas: &Map<String, Value>) {
    for (path, methods) in paths {
        let Some(methods) = methods.as_object_mut() else { continue };
        for (method, operation) in methods {
            for parameter in operation["parameters"].as_array_mut().into_iter().flatten() {
                let name = parameter["name"].as_str().unwrap_or_default().to_owned();
                let shown = example::build_example(&parameter["schema"], &name, schemas);
                set_example(parameter, shown);
            }
            if let Some(content) = operation.pointer_mut("/requestBody/content/application~1json") {
                let shown = example::request(&content["schema"], schemas);
                set_example(content, shown);
            }
            for (status, response) in operation["responses"].as_object_mut().into_iter().flatten() {
                let Some(content) = response.pointer_mut("/content/application~1json") else { continue };
                let request = example::Request { path, method, status };
                let shown = example::success(&content["schema"], request, schemas);
                set_example(content, shown);
            }
        }
    }
}

fn set_example(to: &mut Value, example: Value) {
    if let Some(members) = to.as_object_mut() {
        members.insert("example".to_owned(), example);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn description_names_the_required_scopes() {
        assert_eq!(needs(&["read:library"]), "Requires the scope `read:library`.");
    }
}
