//! Conditions: `OR` binds loosest, then `AND`, then `NOT`, then comparisons.

use crate::error::Error;
use crate::expr::condition::{size, wrong_operand};
use crate::expr::parse::reader::{Fault, Reader, needs_path, unknown_function, wrong_count};
use crate::expr::parse::tokens::TokenKind;
use crate::expr::{Comparator, Condition, Operand, Path};
use crate::value::{Value, ValueType};

/// What a bracket may hold: only what follows it tells a condition from an operand. Conditions
/// are boxed from the start, since every call on the way down keeps room for several pieces.
struct Piece {
    what: What,
    /// Whether brackets stand around all of it.
    bracketed: bool,
}

enum What {
    Condition(Box<Condition>),
    Operand(Box<Operand>),
    /// A function that answers true or false.
    Call(String, Box<Condition>),
}

/// Reads a condition up to where it can go no further.
pub(super) fn condition(reader: &mut Reader<'_>) -> Result<Condition, Error> {
    let piece = alternatives(reader)?;
    Ok(*as_condition(reader, piece)?)
}

fn alternatives(reader: &mut Reader<'_>) -> Result<Piece, Error> {
    let mut piece = conjunctions(reader)?;
    while reader.at_keyword("OR") {
        let left = as_condition(reader, piece)?;
        reader.take();
        reader.count_operator();
        let right = conjunctions(reader)?;
        piece = bare(Condition::Or(left, as_condition(reader, right)?));
    }
    Ok(piece)
}

fn conjunctions(reader: &mut Reader<'_>) -> Result<Piece, Error> {
    let mut piece = negation(reader)?;
    while reader.at_keyword("AND") {
        let left = as_condition(reader, piece)?;
        reader.take();
        reader.count_operator();
        let right = negation(reader)?;
        piece = bare(Condition::And(left, as_condition(reader, right)?));
    }
    Ok(piece)
}

fn negation(reader: &mut Reader<'_>) -> Result<Piece, Error> {
    if !reader.take_keyword("NOT") {
        return comparison(reader);
    }
    reader.count_operator();
    let inner = reader.deeper(negation)?;
    Ok(bare(Condition::Not(as_condition(reader, inner)?)))
}

fn comparison(reader: &mut Reader<'_>) -> Result<Piece, Error> {
    let left = primary(reader)?;
    let comparator = comparator(reader);
    if comparator.is_none() && !reader.at_keyword("BETWEEN") && !reader.at_keyword("IN") {
        return Ok(left);
    }
    let left = as_operand(reader, left)?;
    compared(reader, *left, comparator).map(bare)
}

/// What follows the first operand of a comparison.
fn compared(
    reader: &mut Reader<'_>,
    left: Operand,
    comparator: Option<Comparator>,
) -> Result<Condition, Error> {
    let keyword = reader.take();
    reader.count_operator();
    if let Some(comparator) = comparator {
        return Ok(Condition::Compare(left, comparator, operand(reader)?));
    }
    if keyword.text.eq_ignore_ascii_case("BETWEEN") {
        let low = operand(reader)?;
        if !reader.take_keyword("AND") {
            return Err(reader.syntax_error());
        }
        return Ok(Condition::Between(left, low, operand(reader)?));
    }
    reader.expect_sign("(")?;
    let choices = reader.list(operand)?;
    reader.expect_sign(")")?;
    Ok(Condition::In(left, choices))
}

fn comparator(reader: &Reader<'_>) -> Option<Comparator> {
    let token = reader.peek();
    let all = [
        Comparator::Eq,
        Comparator::Ne,
        Comparator::Lt,
        Comparator::Le,
        Comparator::Gt,
        Comparator::Ge,
    ];
    all.into_iter().find(|one| token.kind == TokenKind::Sign && token.text == one.symbol())
}

fn primary(reader: &mut Reader<'_>) -> Result<Piece, Error> {
    if reader.take_sign("(") {
        let inner = reader.deeper(alternatives)?;
        reader.expect_sign(")")?;
        return Ok(bracketed(reader, inner));
    }
    let what = if reader.at_call() { call(reader)? } else { What::Operand(simple(reader)?) };
    Ok(Piece { what, bracketed: false })
}

fn simple(reader: &mut Reader<'_>) -> Result<Box<Operand>, Error> {
    Ok(Box::new(if reader.peek().kind == TokenKind::ValuePlaceholder {
        Operand::Value(reader.value()?)
    } else {
        Operand::Path(reader.path()?)
    }))
}

/// An operand where no condition can stand.
fn operand(reader: &mut Reader<'_>) -> Result<Operand, Error> {
    let piece = operand_piece(reader)?;
    Ok(*as_operand(reader, piece)?)
}

fn operand_piece(reader: &mut Reader<'_>) -> Result<Piece, Error> {
    if reader.take_sign("(") {
        let inner = reader.deeper(operand_piece)?;
        reader.expect_sign(")")?;
        return Ok(bracketed(reader, inner));
    }
    primary(reader)
}

fn call(reader: &mut Reader<'_>) -> Result<What, Error> {
    let name = reader.take().text;
    reader.count_operator();
    reader.expect_sign("(")?;
    let operands = reader.deeper(|reader| reader.list(operand))?;
    reader.expect_sign(")")?;
    Ok(called(reader, name, &operands))
}

/// What a function says with these operands; faults are noted.
fn called(reader: &mut Reader<'_>, name: &str, operands: &[Operand]) -> What {
    let found = match (name, operands) {
        ("attribute_exists", [path]) => path_of(name, path).map(Condition::Exists),
        ("attribute_not_exists", [path]) => path_of(name, path).map(Condition::NotExists),
        ("attribute_type", [path, kind]) => {
            type_of(kind).and_then(|kind| Ok(Condition::Type(path_of(name, path)?, kind)))
        }
        ("begins_with", [value, prefix]) => {
            Ok(Condition::BeginsWith(value.clone(), prefix.clone()))
        }
        ("contains", [value, part]) => Ok(Condition::Contains(value.clone(), part.clone())),
        ("size", [operand]) => {
            return What::Operand(Box::new(size_of(operand).unwrap_or_else(|message| {
                reader.note(Fault::Operand, message);
                Operand::Value(Value::Null)
            })));
        }
        (
            "attribute_exists"
            | "attribute_not_exists"
            | "attribute_type"
            | "begins_with"
            | "contains"
            | "size",
            operands,
        ) => Err(wrong_count(name, operands.len())),
        (_, _) => {
            reader.note(Fault::Function, unknown_function(name));
            Ok(*unreadable())
        }
    };
    let condition = found.unwrap_or_else(|message| {
        reader.note(Fault::Operand, message);
        *unreadable()
    });
    What::Call(name.to_owned(), Box::new(condition))
}

fn path_of(function: &str, operand: &Operand) -> Result<Path, String> {
    match operand {
        Operand::Path(path) => Ok(path.clone()),
        Operand::Value(_) | Operand::Size(_) => Err(needs_path(function)),
    }
}

fn type_of(operand: &Operand) -> Result<ValueType, String> {
    let kind = match operand {
        Operand::Value(Value::S(name)) => {
            return ValueType::from_name(name).ok_or_else(|| {
                format!(
                    "Invalid attribute type name found; type: {name}, valid types: \
                     {{B,NULL,SS,BOOL,L,BS,N,NS,S,M}}"
                )
            });
        }
        Operand::Value(value) => value.kind().name(),
        Operand::Size(_) => ValueType::N.name(),
        Operand::Path(_) => "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}",
    };
    Err(wrong_operand("operator or function", "attribute_type", kind).to_string())
}

/// The size of a value that the request itself gives is known at once.
fn size_of(operand: &Operand) -> Result<Operand, String> {
    let kind = match operand {
        Operand::Path(path) => return Ok(Operand::Size(path.clone())),
        Operand::Value(value) => match size(value) {
            Some(size) => return Ok(Operand::Value(size.into())),
            None => value.kind(),
        },
        Operand::Size(_) => ValueType::N,
    };
    Err(wrong_operand("operator or function", "size", kind.name()).to_string())
}

fn bare(condition: Condition) -> Piece {
    Piece { what: What::Condition(Box::new(condition)), bracketed: false }
}

fn bracketed(reader: &mut Reader<'_>, inner: Piece) -> Piece {
    if inner.bracketed {
        reader.note(Fault::Parentheses, "The expression has redundant parentheses;");
    }
    Piece { what: inner.what, bracketed: true }
}

fn as_condition(reader: &mut Reader<'_>, piece: Piece) -> Result<Box<Condition>, Error> {
    match piece.what {
        What::Condition(condition) | What::Call(_, condition) => Ok(condition),
        What::Operand(operand) => match *operand {
            Operand::Size(_) => {
                reader.note(Fault::Misuse, misuse("size"));
                Ok(unreadable())
            }
            Operand::Path(_) | Operand::Value(_) => Err(reader.syntax_error()),
        },
    }
}

fn as_operand(reader: &mut Reader<'_>, piece: Piece) -> Result<Box<Operand>, Error> {
    match piece.what {
        What::Operand(operand) => Ok(operand),
        What::Call(name, _) => {
            reader.note(Fault::Misuse, misuse(&name));
            Ok(Box::new(Operand::Value(Value::Null)))
        }
        What::Condition(_) => Err(reader.syntax_error()),
    }
}

fn misuse(function: &str) -> String {
    format!(
        "The function is not allowed to be used this way in an expression; function: {function}"
    )
}

/// Stands where a fault was noted; never leaves the parser.
fn unreadable() -> Box<Condition> {
    Box::new(Condition::Exists(Path::from("")))
}
