//! Strings in Arrow's layout, for anything in Python that reads Arrow.

use arrow_array::builder::LargeStringBuilder;
use arrow_array::ffi::to_ffi;
use arrow_array::{Array as _, LargeStringArray};
use pyo3::exceptions::{PyIndexError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList};

/// Strings in memory as Arrow lays them out, some of which may be missing.
#[pyclass(frozen, sequence, module = "gamut")]
pub struct Strings(LargeStringArray);

/// Makes [`Strings`].
#[derive(Default)]
pub struct Builder(LargeStringBuilder);

impl Builder {
    pub fn add(&mut self, text: Option<&str>) {
        self.0.append_option(text);
    }

    pub fn finish(mut self) -> Strings {
        Strings(self.0.finish())
    }
}

impl Strings {
    fn at(&self, i: usize) -> Option<&str> {
        self.0.is_valid(i).then(|| self.0.value(i))
    }
}

#[pymethods]
impl Strings {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __getitem__(&self, i: isize) -> PyResult<Option<&str>> {
        let place = if i < 0 { i + self.0.len() as isize } else { i };
        match usize::try_from(place) {
            Ok(place) if place < self.0.len() => Ok(self.at(place)),
            _ => Err(PyIndexError::new_err(format!("{i} is none of the {} strings", self.0.len()))),
        }
    }

    fn __repr__(&self) -> String {
        let shown: Vec<_> = (0..self.0.len().min(3)).map(|i| format!("{:?}", self.at(i).unwrap_or_default())).collect();
        let more = if self.0.len() > 3 { ", …" } else { "" };
        format!("<{} strings: {}{more}>", self.0.len(), shown.join(", "))
    }

    /// All of them as a list; `None` for a missing one.
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, (0..self.0.len()).map(|i| self.at(i)))
    }

    /// Arrow's C data interface: a schema and an array, in capsules. The strings are not copied.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        // another type was wished for, which the caller of this may make of it
        drop(requested_schema);
        let (array, schema) = to_ffi(&self.0.to_data()).map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        let schema = PyCapsule::new_with_value(py, schema, c"arrow_schema")?;
        Ok((schema, PyCapsule::new_with_value(py, array, c"arrow_array")?))
    }
}
