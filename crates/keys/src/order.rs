//! The order in which keys are declared. A schema lists them by name, so the reader of the file is asked.

use serde::de::DeserializeOwned;

/// Every dotted path that a file of this kind may have, in the order of declaration, as its reader says when it meets
/// a key that it does not know.
pub(crate) fn declared<T: DeserializeOwned>() -> Vec<String> {
    let mut paths = Vec::new();
    below::<T>("", &mut paths);
    paths
}

fn below<T: DeserializeOwned>(path: &str, into: &mut Vec<String>) {
    const STRANGER: &str = "no such key";
    let section = if path.is_empty() { String::new() } else { format!("[{path}]\n") };
    let fields: Vec<String> = match toml::from_str::<T>(&format!("{section}\"{STRANGER}\" = 0")) {
        Err(e) if e.message().starts_with("unknown field") => {
            let quoted = e.message().split('`').skip(1).step_by(2);
            quoted.filter(|word| *word != STRANGER).map(str::to_owned).collect()
        }
        _ => {
            into.push(path.to_owned());
            return;
        }
    };
    for field in fields {
        below::<T>(&if path.is_empty() { field } else { format!("{path}.{field}") }, into);
    }
}
