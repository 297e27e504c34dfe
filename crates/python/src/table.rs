//! Columns that leave for Python: an Arrow record batch behind the PyCapsule interface.

use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int8Type, UInt32Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Float64Array, Int8Array, PrimitiveArray, RecordBatch, RecordBatchIterator,
    StringArray, StructArray,
};
use arrow_schema::{DataType, Field, Schema};
use pyo3::exceptions::{PyKeyError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule};

/// A table: named columns of one length, each with its unit in the field's metadata.
#[pyclass(frozen, module = "ssdlab._native")]
pub struct Table {
    batch: RecordBatch,
}

/// A column with its unit, which may be empty.
pub struct Column {
    name: String,
    unit: String,
    values: ArrayRef,
    /// Whether values may be missing, of this table or another of its kind: all of them have one schema.
    optional: bool,
}

impl Column {
    fn full(name: &str, unit: &str, values: impl Array + 'static) -> Self {
        Column { name: name.to_owned(), unit: unit.to_owned(), values: Arc::new(values), optional: false }
    }

    pub fn u64(name: &str, unit: &str, values: Vec<u64>) -> Self {
        Column::full(name, unit, PrimitiveArray::<UInt64Type>::from(values))
    }

    pub fn u32(name: &str, unit: &str, values: Vec<u32>) -> Self {
        Column::full(name, unit, PrimitiveArray::<UInt32Type>::from(values))
    }

    pub fn f64(name: &str, unit: &str, values: Vec<f64>) -> Self {
        Column::full(name, unit, Float64Array::from(values))
    }

    /// Figures of which some may not be there.
    pub fn optional(name: &str, unit: &str, values: Vec<Option<f64>>) -> Self {
        Column { optional: true, ..Column::full(name, unit, Float64Array::from(values)) }
    }

    pub fn text(name: &str, values: Vec<String>) -> Self {
        Column::full(name, "", StringArray::from(values))
    }

    /// Words out of a short list, each value the number of its word.
    ///
    /// # Panics
    /// If there are more than 127 words, or a value has none.
    pub fn words(name: &str, words: &[&str], values: Vec<i8>) -> Self {
        let words: StringArray = words.iter().map(|w| Some(*w)).collect();
        let array = DictionaryArray::<Int8Type>::try_new(Int8Array::from(values), Arc::new(words));
        Column::full(name, "", array.expect("every value has a word"))
    }
}

impl Table {
    /// # Panics
    /// If the columns differ in length.
    pub fn new(columns: Vec<Column>) -> Self {
        let field = |c: &Column| {
            let field = Field::new(&c.name, c.values.data_type().clone(), c.optional);
            match c.unit.as_str() {
                "" => field,
                unit => field.with_metadata(metadata(unit)),
            }
        };
        let schema = Schema::new(columns.iter().map(field).collect::<Vec<_>>());
        let values = columns.into_iter().map(|c| c.values).collect();
        Table { batch: RecordBatch::try_new(Arc::new(schema), values).expect("columns of one length") }
    }
}

#[allow(clippy::disallowed_types, reason = "what the library takes; there is one entry, so that it has no order")]
fn metadata(unit: &str) -> std::collections::HashMap<String, String> {
    [("unit".to_owned(), unit.to_owned())].into()
}

fn refused(error: arrow_schema::ArrowError) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

/// A column apart: name, unit, NumPy dtype (none: text; [`OPTIONAL`]), little-endian bytes, and words.
type Parts = (String, String, Option<String>, Vec<u8>, Vec<String>);

/// What stands for the dtype of figures of which some may not be there, and are NaN.
const OPTIONAL: &str = "<f8?";

impl Column {
    fn of((name, unit, kind, bytes, words): Parts) -> Option<Column> {
        fn numbers<const N: usize>(bytes: &[u8]) -> Option<impl Iterator<Item = [u8; N]> + '_> {
            bytes.len().is_multiple_of(N).then(|| bytes.as_chunks().0.iter().copied())
        }
        Some(match kind.as_deref() {
            None => Column::text(&name, words),
            Some("<u8") => Column::u64(&name, &unit, numbers(&bytes)?.map(u64::from_le_bytes).collect()),
            Some("<u4") => Column::u32(&name, &unit, numbers(&bytes)?.map(u32::from_le_bytes).collect()),
            Some("<f8") => Column::f64(&name, &unit, numbers(&bytes)?.map(f64::from_le_bytes).collect()),
            Some(OPTIONAL) => {
                let value = |number: f64| (!number.is_nan()).then_some(number);
                Column::optional(&name, &unit, numbers(&bytes)?.map(f64::from_le_bytes).map(value).collect())
            }
            Some("i1") => {
                let values: Vec<i8> = numbers(&bytes)?.map(i8::from_le_bytes).collect();
                let known = |&value: &i8| usize::try_from(value).is_ok_and(|value| value < words.len());
                if words.len() > i8::MAX as usize || !values.iter().all(known) {
                    return None;
                }
                Column::words(&name, &words.iter().map(String::as_str).collect::<Vec<_>>(), values)
            }
            Some(_) => return None,
        })
    }
}

#[pymethods]
impl Table {
    /// A table of columns as [`Table::column`] gave them, with their names and units; [`Table::optional`] ones marked.
    #[staticmethod]
    fn of(columns: Vec<Parts>) -> PyResult<Table> {
        let columns: Option<Vec<Column>> = columns.into_iter().map(Column::of).collect();
        let columns = columns.filter(|all| all.windows(2).all(|two| two[0].values.len() == two[1].values.len()));
        Ok(Table::new(columns.ok_or_else(|| crate::failure::value_error("these are no columns of a table"))?))
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.batch.schema().fields().iter().map(|f| f.name().clone()).collect()
    }

    /// Unit of each column that has one.
    #[getter]
    fn units(&self) -> Vec<(String, String)> {
        let schema = self.batch.schema();
        let unit = |f: &Arc<Field>| Some((f.name().clone(), f.metadata().get("unit")?.clone()));
        schema.fields().iter().filter_map(unit).collect()
    }

    /// The columns of which values may be missing.
    #[getter]
    fn optional(&self) -> Vec<String> {
        self.batch.schema().fields().iter().filter(|f| f.is_nullable()).map(|f| f.name().clone()).collect()
    }

    /// A column as (NumPy dtype, little-endian bytes); of words, as (dtype, bytes, words); of text, as (None, list).
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let Some(array) = self.batch.column_by_name(name) else {
            let known = self.column_names().join(", ");
            return Err(PyKeyError::new_err(format!("there is no column `{name}`; there are {known}")));
        };
        fn primitive<T: arrow_array::ArrowPrimitiveType>(array: &ArrayRef) -> &[u8] {
            let array = array.as_any().downcast_ref::<PrimitiveArray<T>>().expect("of this type");
            array.values().inner().as_slice()
        }
        let tuple = |kind: &str, bytes: &[u8]| Ok((kind, PyBytes::new(py, bytes)).into_pyobject(py)?.into_any());
        match array.data_type() {
            DataType::UInt64 => tuple("<u8", primitive::<UInt64Type>(array)),
            DataType::UInt32 => tuple("<u4", primitive::<UInt32Type>(array)),
            DataType::Float64 if array.null_count() == 0 => tuple("<f8", primitive::<Float64Type>(array)),
            DataType::Float64 => {
                let array = array.as_any().downcast_ref::<Float64Array>().expect("of this type");
                let values: Vec<u8> = array.iter().flat_map(|v| v.unwrap_or(f64::NAN).to_le_bytes()).collect();
                tuple("<f8", &values)
            }
            DataType::Dictionary(..) => {
                let array = array.as_any().downcast_ref::<DictionaryArray<Int8Type>>().expect("of this type");
                let words = array.values().as_any().downcast_ref::<StringArray>().expect("words are text");
                let words: Vec<&str> = words.iter().flatten().collect();
                let bytes = PyBytes::new(py, array.keys().values().inner().as_slice());
                Ok(("i1", bytes, words).into_pyobject(py)?.into_any())
            }
            _ => {
                let array = array.as_any().downcast_ref::<StringArray>().expect("the last of the types");
                let list: Vec<&str> = array.iter().flatten().collect();
                Ok((py.None(), list).into_pyobject(py)?.into_any())
            }
        }
    }

    /// Arrow PyCapsule interface: the type of a row.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.batch.schema().as_ref()).map_err(refused)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// Arrow PyCapsule interface: the table as one array of rows. Columns are not copied.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        // The interface leaves it open whether another type is given where one is asked for.
        let _ = requested_schema;
        let rows = StructArray::from(self.batch.clone());
        let array = FFI_ArrowArray::new(&rows.to_data());
        Ok((self.__arrow_c_schema__(py)?, PyCapsule::new_with_value(py, array, c"arrow_array")?))
    }

    /// Arrow PyCapsule interface: the table as a stream of one batch. Columns are not copied.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), c"arrow_array_stream")
    }
}
