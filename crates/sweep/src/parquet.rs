//! The table as a Parquet file: one row group, text as UTF-8, numbers as optional doubles, units in the metadata.

use std::sync::Arc;

use parquet::basic::{ConvertedType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use crate::table::{Column, Table};

/// The file. Columns have the keys as names; `unit:KEY` in the file's metadata is the unit of `KEY`.
pub(crate) fn bytes(table: &Table) -> Result<Vec<u8>, ParquetError> {
    let fields = table
        .columns
        .iter()
        .map(|(key, _, column)| {
            let field = match column {
                Column::Text(_) => Type::primitive_type_builder(key, Physical::BYTE_ARRAY)
                    .with_converted_type(ConvertedType::UTF8)
                    .with_repetition(Repetition::REQUIRED),
                Column::Number(_) => {
                    Type::primitive_type_builder(key, Physical::DOUBLE).with_repetition(Repetition::OPTIONAL)
                }
            };
            field.build().map(Arc::new)
        })
        .collect::<Result<Vec<_>, _>>()?;
    let schema = Arc::new(Type::group_type_builder("sweep").with_fields(fields).build()?);
    let units = table
        .columns
        .iter()
        .filter(|(_, unit, _)| !unit.is_empty())
        .map(|(key, unit, _)| KeyValue::new(format!("unit:{key}"), unit.clone()))
        .collect();
    // The library's own name and version, which it writes by itself, would move bytes with every update.
    let properties =
        WriterProperties::builder().set_key_value_metadata(Some(units)).set_created_by("ssdlab".to_owned()).build();
    let mut out = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut out, schema, Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    for (_, _, column) in &table.columns {
        let Some(mut to) = group.next_column()? else {
            return Err(ParquetError::General("fewer columns than the schema has".to_owned()));
        };
        match column {
            Column::Text(values) => {
                let values: Vec<ByteArray> = values.iter().map(|v| v.as_str().into()).collect();
                to.typed::<ByteArrayType>().write_batch(&values, None, None)?;
            }
            Column::Number(values) => {
                let there: Vec<i16> = values.iter().map(|v| i16::from(v.is_some())).collect();
                let values: Vec<f64> = values.iter().flatten().copied().collect();
                to.typed::<DoubleType>().write_batch(&values, Some(&there), None)?;
            }
        }
        to.close()?;
    }
    group.close()?;
    writer.close()?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader as _, SerializedFileReader};
    use parquet::record::RowAccessor as _;

    use super::*;

    #[test]
    fn a_table_comes_back_as_it_went_in() {
        let table = Table {
            columns: vec![
                ("gc.policy".into(), String::new(), Column::Text(vec!["greedy".into(), "ä,b".into(), String::new()])),
                ("waf".into(), "ratio".into(), Column::Number(vec![Some(7.0 / 3.0), None, Some(-0.0)])),
            ],
            rows: 3,
        };
        let written = bytes(&table).unwrap();
        assert_eq!(written, bytes(&table).unwrap(), "the same bytes every time");
        let path = std::env::temp_dir().join(format!("ssdlab-sweep-{}.parquet", std::process::id()));
        std::fs::write(&path, written).unwrap();
        let reader = SerializedFileReader::new(std::fs::File::open(&path).unwrap()).unwrap();
        let units = reader.metadata().file_metadata().key_value_metadata().unwrap();
        assert!(units.contains(&KeyValue::new("unit:waf".to_owned(), "ratio".to_owned())));
        let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        assert_eq!(rows.iter().map(|r| r.get_string(0).unwrap().as_str()).collect::<Vec<_>>(), ["greedy", "ä,b", ""]);
        assert_eq!(rows[0].get_double(1).unwrap().to_bits(), (7.0f64 / 3.0).to_bits());
        assert!(rows[1].get_double(1).is_err(), "nothing there");
        assert_eq!(rows[2].get_double(1).unwrap().to_bits(), (-0.0f64).to_bits());
        std::fs::remove_file(path).unwrap();
    }
}
