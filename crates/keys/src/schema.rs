//! The JSON Schema of a kind of file, for editors and other programs.

use serde_json::{Value, json};

use crate::table::KeyTable;

impl KeyTable {
    /// JSON Schema (draft 2020-12) of a file with these keys or, on top of a `base`, with some of them. `kind` names the
    /// kind of file in a title, `base` says what its base can be.
    ///
    /// A file with a base can leave out any key, which the schema cannot say of sections within sections. So keys that
    /// a file without one needs are marked with `x-required`, and only the sections themselves are `required`.
    ///
    /// # Panics
    /// Never: the schema of a struct is an object.
    #[must_use]
    pub fn file_schema(&self, kind: &str, base: &str) -> Value {
        let mut schema = self.schema.clone();
        let required = schema.get("required").cloned().unwrap_or_else(|| json!([]));
        self.complete(&mut schema, "");
        let root = schema.as_object_mut().expect("a struct's schema is an object");
        root.insert("title".to_owned(), kind.into());
        root.insert("anyOf".to_owned(), json!([{ "required": ["base"] }, { "required": required }]));
        if let Some(properties) = root.get_mut("properties").and_then(Value::as_object_mut) {
            properties.insert("base".to_owned(), json!({ "type": "string", "description": base }));
            let without = "Keys and whole sections of the base that this file leaves out.";
            let paths = json!({ "type": "array", "items": { "type": "string" }, "description": without });
            properties.insert("without".to_owned(), paths);
        }
        schema
    }

    /// Adds what the table knows of each section and key.
    fn complete(&self, schema: &mut Value, path: &str) {
        let Some(map) = schema.as_object_mut() else { return };
        // How Rust holds a number is nobody's business.
        map.remove("format");
        map.remove("required");
        if let Some(section) = self.section_of(path) {
            if !section.doc.is_empty() {
                map.insert("description".to_owned(), section.doc.clone().into());
            }
            if section.required && !path.is_empty() {
                map.insert("x-required".to_owned(), true.into());
            }
        }
        if let Some(key) = self.key(path) {
            map.insert("description".to_owned(), key.doc.clone().into());
            map.insert("x-heading".to_owned(), key.heading.clone().into());
            if !key.unit.is_empty() {
                map.insert("x-unit".to_owned(), key.unit.clone().into());
            }
            if key.required {
                map.insert("x-required".to_owned(), true.into());
            }
        }
        for (name, field) in map.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
            self.complete(field, &if path.is_empty() { name.clone() } else { format!("{path}.{name}") });
        }
    }
}
