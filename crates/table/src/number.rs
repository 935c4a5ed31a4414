//! Decimal numbers of up to 38 digits, as DynamoDB keeps them.

/// A number: exact, canonical (equal numbers are equal bytes), from 1E-130 to 9.99…E+125.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Number;
