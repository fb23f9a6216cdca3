//! A row of a direct read, whichever driver read it, and the values of its statement.

use rusqlite::types::ValueRef;
use sea_orm::sea_query::{ArrayType, ValueType};
use sea_orm::{DbErr, QueryResult, TryGetable, Value};
use uuid::Uuid;

/// A row that a direct read returned. Columns are numbered from 0, in the order of the `SELECT`.
pub struct DirectRow<'a>(RowSource<'a>);

enum RowSource<'a> {
    Sqlite(&'a rusqlite::Row<'a>),
    Pool(&'a QueryResult),
}

impl<'a> DirectRow<'a> {
    pub(super) fn of_sqlite(row: &'a rusqlite::Row<'a>) -> Self {
        Self(RowSource::Sqlite(row))
    }

    pub(crate) fn of_pool(row: &'a QueryResult) -> Self {
        Self(RowSource::Pool(row))
    }

    /// Returns the value of a column: a boolean, an `i32`, an `i64`, an `f64`, a text, bytes, a UUID, a type that the columns of entities
    /// have and that is stored as one of these, or an `Option` of one.
    ///
    /// # Errors
    /// [`DbErr`] when the column does not exist, or holds another type or NULL. It names the column, never the value.
    pub fn get<T: TryGetable + ValueType>(&self, column: usize) -> Result<T, DbErr> {
        match self.0 {
            RowSource::Sqlite(row) => {
                let found = row.get_ref(column).map_err(|_| unreadable::<T>(column))?;
                let value = value_of(T::array_type(), found).ok_or_else(|| unreadable::<T>(column))?;
                <T as ValueType>::try_from(value).map_err(|_| unreadable::<T>(column))
            }
            RowSource::Pool(row) => row.try_get_by_index(column),
        }
    }
}

fn unreadable<T: ValueType>(column: usize) -> DbErr {
    DbErr::Type(format!("column {column} cannot be read as {}", T::type_name()))
}

/// Returns a value as the driver of the pool decodes a column of this type; `None` if it holds another one.
fn value_of(kind: ArrayType, found: ValueRef<'_>) -> Option<Value> {
    Some(match (kind, found) {
        (ArrayType::Bool, ValueRef::Null) => Value::Bool(None),
        (ArrayType::Bool, ValueRef::Integer(number)) => Value::Bool(Some(number != 0)),
        (ArrayType::Int, ValueRef::Null) => Value::Int(None),
        (ArrayType::Int, ValueRef::Integer(number)) => {
            Value::Int(Some(<i32 as TryFrom<i64>>::try_from(number).ok()?))
        }
        (ArrayType::BigInt, ValueRef::Null) => Value::BigInt(None),
        (ArrayType::BigInt, ValueRef::Integer(number)) => Value::BigInt(Some(number)),
        (ArrayType::Double, ValueRef::Null) => Value::Double(None),
        (ArrayType::Double, ValueRef::Real(number)) => Value::Double(Some(number)),
        (ArrayType::String, ValueRef::Null) => Value::String(None),
        (ArrayType::String, ValueRef::Text(text)) => {
            Value::String(Some(std::str::from_utf8(text).ok()?.to_owned()))
        }
        (ArrayType::Bytes, ValueRef::Null) => Value::Bytes(None),
        (ArrayType::Bytes, ValueRef::Blob(bytes)) => Value::Bytes(Some(bytes.to_vec())),
        (ArrayType::Uuid, ValueRef::Null) => Value::Uuid(None),
        (ArrayType::Uuid, ValueRef::Blob(bytes)) => Value::Uuid(Some(Uuid::from_slice(bytes).ok()?)),
        _ => return None,
    })
}

/// Returns a value as the driver of the pool binds it; `None` for a type that no column has.
pub(super) fn parameter_of(value: &Value) -> Option<ValueRef<'_>> {
    // A tuple, because the variants of `Value` depend on the features of the query builder.
    Some(match (value,) {
        (Value::Bool(Some(truth)),) => ValueRef::Integer(i64::from(*truth)),
        (Value::Int(Some(number)),) => ValueRef::Integer(i64::from(*number)),
        (Value::BigInt(Some(number)),) => ValueRef::Integer(*number),
        (Value::Unsigned(Some(number)),) => ValueRef::Integer(i64::from(*number)),
        (Value::BigUnsigned(Some(number)),) => {
            ValueRef::Integer(<i64 as TryFrom<u64>>::try_from(*number).ok()?)
        }
        (Value::Double(Some(number)),) => ValueRef::Real(*number),
        (Value::String(Some(text)),) => ValueRef::Text(text.as_bytes()),
        (Value::Bytes(Some(bytes)),) => ValueRef::Blob(bytes),
        (Value::Uuid(Some(id)),) => ValueRef::Blob(id.as_bytes()),
        (
            Value::Bool(None)
            | Value::Int(None)
            | Value::BigInt(None)
            | Value::Double(None)
            | Value::String(None)
            | Value::Bytes(None)
            | Value::Uuid(None),
        ) => ValueRef::Null,
        _ => return None,
    })
}
