//! Wire types, the endpoint table, OpenAPI and a typed client.
