//! The macro that writes one row of a table.

/// A row for a surface: `route!(Surface, GET "/pattern/{id}" as "GET /pattern/:id" => Operation)`. It may be followed by `read`
/// and the function that makes the operation, where that is not [`FromRequest::from_request`](actors::operation::FromRequest), and
/// then by `status` and the status of the reply, where that is not 200: `|_| StatusCode::CREATED`, or a function that chooses
/// between 200 and 201. Doc comments before the method become `Route::about`.
macro_rules! route {
    (@read $op:ty) => { <$op as actors::operation::FromRequest>::from_request };
    (@read $op:ty, read $read:expr) => { $read };
    (@read $op:ty, read $read:expr, status $($status:tt)+) => { $read };
    (@read $op:ty, status $($status:tt)+) => { <$op as actors::operation::FromRequest>::from_request };
    (@status) => { |_| actix_web::http::StatusCode::OK };
    (@status read $read:expr) => { |_| actix_web::http::StatusCode::OK };
    (@status read $read:expr, status $status:expr) => { $status };
    (@status status $status:expr) => { $status };
    (@statuses) => { &[actix_web::http::StatusCode::OK] };
    (@statuses read $read:expr) => { &[actix_web::http::StatusCode::OK] };
    (@statuses read $read:expr, status $($status:tt)+) => { $crate::routing::route!(@statuses status $($status)+) };
    (@statuses status |_| StatusCode::$status:ident) => { &[actix_web::http::StatusCode::$status] };
    // A function that chooses the status chooses between these two.
    (@statuses status $status:expr) => {
        &[actix_web::http::StatusCode::OK, actix_web::http::StatusCode::CREATED]
    };
    (
        $surface:ty,
        $(#[doc = $about:literal])* $method:ident $pattern:literal as $name:literal => $op:ty $(, $($how:tt)+)?
    ) => {
        $crate::routing::Route {
            method: actix_web::http::Method::$method,
            pattern: $pattern,
            name: $name,
            about: concat!($($about),*),
            request: $crate::routing::RequestType::of($crate::routing::route!(@read $op $(, $($how)+)?)),
            scopes: <$op as actors::operation::Operation>::SCOPES,
            operation: || std::any::type_name::<$op>(),
            statuses: $crate::routing::route!(@statuses $($($how)+)?),
            reply: |generator| generator.subschema_for::<<$op as actors::operation::Operation>::Reply>(),
            // The types of the operation end here: a table holds plain function pointers.
            answer: |route, request, payload| {
                Box::pin(<$surface as $crate::routing::RouteSurface>::answer::<$op, _>(
                    route,
                    request,
                    payload,
                    $crate::routing::route!(@read $op $(, $($how)+)?),
                    $crate::routing::route!(@status $($($how)+)?),
                ))
            },
        }
    };
}

pub(crate) use route;
