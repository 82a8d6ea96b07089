//! Real documents as typed values.

use serde::de::DeserializeOwned;

use crate::laws::{ByDebug, Subject, holds_flattened};

fn read<T: DeserializeOwned>(json: &str) -> T {
    serde_json::from_str(json).unwrap()
}

#[track_caller]
fn document<T: Subject>(json: &str) {
    holds_flattened(read::<T>(json));
}

#[test]
fn geojson() {
    use geojson::{Feature, FeatureCollection, GeoJson, Geometry, Position};

    let feature = r#"{
        "type": "Feature",
        "id": 7,
        "bbox": [0.0, 1.0, 2.0, 3.5],
        "geometry": {
            "type": "GeometryCollection",
            "geometries": [
                {"type": "Point", "coordinates": [1.5, 2.5, 3.5]},
                {"type": "MultiPolygon", "coordinates": [[[[0.5, 0.5], [1.5, 0.5], [1.5, 1.5], [0.5, 0.5]]]]}
            ],
            "foreign": {"deep": [null, true]}
        },
        "properties": {"name": "a", "height": 1.5, "tags": []},
        "extra": "kept"
    }"#;
    document::<Geometry>(r#"{"type": "LineString", "coordinates": [[0.5, 1.0], [2.0, 3.0]]}"#);
    document::<Feature>(feature);
    let collection =
        format!(r#"{{"type": "FeatureCollection", "features": [{feature}, {feature}], "x": 1}}"#);
    document::<FeatureCollection>(&collection);
    document::<GeoJson>(&collection);
    crate::laws::holds(Position::from([1.0, 2.0]));
}

#[test]
fn openapiv3() {
    document::<openapiv3::OpenAPI>(
        r##"{
        "openapi": "3.0.3",
        "info": {"title": "Pets", "version": "1.0", "x-origin": {"by": ["hand", 1, 0.5]}},
        "servers": [{"url": "https://example.org/{v}", "variables": {"v": {"default": "1", "enum": ["1", "2"]}}}],
        "paths": {
            "/pets/{id}": {
                "parameters": [
                    {"name": "id", "in": "path", "required": true, "schema": {"type": "integer", "format": "int64"}}
                ],
                "get": {
                    "operationId": "pet",
                    "parameters": [{"$ref": "#/components/parameters/limit"}],
                    "responses": {
                        "200": {
                            "description": "one",
                            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Pet"}}}
                        },
                        "4XX": {"$ref": "#/components/responses/error"},
                        "default": {"description": "anything", "x-note": null}
                    }
                }
            },
            "x-paths": true
        },
        "components": {
            "schemas": {
                "Pet": {
                    "type": "object",
                    "required": ["name"],
                    "properties": {
                        "name": {"type": "string", "maxLength": 10, "example": "Rex"},
                        "weight": {"type": "number", "format": "double", "minimum": 0.5, "exclusiveMinimum": true},
                        "tags": {"type": "array", "items": {"type": "string", "enum": ["a", null]}},
                        "free": {"type": "object", "additionalProperties": {"type": "boolean"}},
                        "any": {},
                        "one": {"oneOf": [{"$ref": "#/components/schemas/Pet"}, {"type": "boolean", "nullable": true}]}
                    }
                }
            },
            "parameters": {
                "limit": {
                    "name": "limit",
                    "in": "query",
                    "style": "form",
                    "schema": {"type": "integer", "default": 10, "maximum": 100}
                }
            },
            "responses": {"error": {"description": "wrong"}},
            "securitySchemes": {
                "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
                "oauth": {
                    "type": "oauth2",
                    "flows": {
                        "implicit": {"authorizationUrl": "https://example.org/auth", "scopes": {"read": "reads"}}
                    }
                }
            }
        },
        "security": [{"key": []}],
        "tags": [{"name": "pets"}],
        "x-root": [1.5, {"a": "b"}]
    }"##,
    );
}

const METADATA: &str = r#"{
    "packages": [{
        "name": "leaf",
        "version": "0.1.0-rc.1",
        "id": "path+file:///leaf#0.1.0-rc.1",
        "license": "MIT",
        "license_file": null,
        "description": "text",
        "source": "git+https://example.org/leaf#0123abc",
        "dependencies": [{
            "name": "serde", "source": null, "req": ">=1, <2", "kind": "dev", "rename": "s", "optional": true,
            "uses_default_features": false, "features": ["derive"], "target": "cfg(unix)", "registry": null
        }],
        "targets": [{
            "kind": ["lib", "custom-kind"], "crate_types": ["lib"], "name": "leaf", "src_path": "/leaf/src/lib.rs",
            "edition": "2021", "doctest": true, "test": true, "doc": true, "required-features": ["x"]
        }],
        "features": {"default": ["x"], "x": []},
        "manifest_path": "/leaf/Cargo.toml",
        "metadata": {"docs": {"all-features": true, "levels": [1, 2.5, null]}},
        "publish": [],
        "authors": ["A <a@example.org>"],
        "categories": [], "keywords": [], "readme": "README.md", "repository": null, "homepage": null,
        "documentation": null, "edition": "2024", "links": null, "default_run": null, "rust_version": "1.88.0"
    }],
    "workspace_members": ["path+file:///leaf#0.1.0-rc.1"],
    "workspace_default_members": ["path+file:///leaf#0.1.0-rc.1"],
    "resolve": {
        "nodes": [{
            "id": "path+file:///leaf#0.1.0-rc.1",
            "dependencies": ["other#1.0.0"],
            "deps": [{"name": "other", "pkg": "other#1.0.0", "dep_kinds": [{"kind": "build", "target": null}]}],
            "features": ["default", "x"]
        }],
        "root": "path+file:///leaf#0.1.0-rc.1"
    },
    "target_directory": "/leaf/target",
    "version": 1,
    "workspace_root": "/leaf",
    "metadata": {"free": {"form": 0.5}}
}"#;

#[test]
fn cargo_metadata() {
    use cargo_metadata::{Metadata, MetadataCommand};

    holds_flattened(ByDebug(read::<Metadata>(METADATA)));
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let own = MetadataCommand::new().manifest_path(manifest).no_deps().exec().unwrap();
    holds_flattened(ByDebug(own));
}

/// What a format reads as a tree is what its own dynamic value is.
#[test]
fn trees_of_documents() {
    use treedef::{Leaf, Tree};

    let text = "title = \"a\"\n[owner]\nage = 7\nscale = 0.5\n[[part]]\nx = [1, 2]\n[[part]]\nx = [3, 4]\n";
    let tree: Tree<Leaf> = toml::from_str(text).unwrap();
    assert_eq!(tree, Tree::of(&toml::from_str::<toml::Value>(text).unwrap()).unwrap());
    assert_eq!(
        tree.treedef().to_string(),
        r#"{"owner": {"age": *, "scale": *}, "part": [{"x": [*, *]}; 2], "title": *}"#
    );

    let text = r#"{"a": [1, -2, 0.5], "b": Some(true), "c": None, 'x': ()}"#;
    let tree: Tree<Leaf> = ron::from_str(text).unwrap();
    assert_eq!(tree, Tree::of(&ron::from_str::<ron::Value>(text).unwrap()).unwrap());

    let json: serde_json::Value =
        serde_json::json!({"a": [1, -2, 0.5, null], "b": {"c": "text", "d": [[true]]}});
    let mut bytes = Vec::new();
    ciborium::into_writer(&json, &mut bytes).unwrap();
    // Its own value is serialized with the narrowest kinds of numbers, whatever was read.
    let tree: Tree<Leaf> = ciborium::from_reader(&bytes[..]).unwrap();
    assert_eq!(
        tree.to_string(),
        r#"{"a": [1u64, -2i64, 0.5, None], "b": {"c": "text", "d": [[true]]}}"#
    );
    assert_eq!(serde_json::to_value(&tree).unwrap(), json);

    let value = rmpv::ext::to_value(&json).unwrap();
    assert_eq!(
        rmpv::ext::from_value::<Tree<Leaf>>(value.clone()).unwrap(),
        Tree::of(&value).unwrap()
    );
}
