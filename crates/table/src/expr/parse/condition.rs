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

/// What has begun and waits for the condition behind it.
enum Open {
    /// `left OR`
    Or(Box<Condition>),
    /// `left AND`
    And(Box<Condition>),
    /// `NOT`
    Not,
    /// `(`
    Bracket,
}

/// Reads a condition up to where it can go no further.
pub(super) fn condition(reader: &mut Reader<'_>) -> Result<Condition, Error> {
    let piece = alternatives(reader)?;
    Ok(*as_condition(reader, piece)?)
}

/// What has begun is kept in a list, not on the stack: a text of 4 KB can open two thousand
/// brackets, and how many of them are too many is for the count of operators to say.
fn alternatives(reader: &mut Reader<'_>) -> Result<Piece, Error> {
    let mut open = Vec::new();
    loop {
        begin(reader, &mut open);
        let what = if reader.at_call() { call(reader)? } else { What::Operand(simple(reader)?) };
        let mut piece = Piece { what, bracketed: false };
        loop {
            let compared = comparison(reader, piece)?;
            let Some(closed) = close(reader, &mut open, compared)? else { break };
            if open.pop().is_none() {
                return Ok(closed);
            }
            reader.expect_sign(")")?;
            piece = bracketed(reader, closed);
        }
    }
}

/// Steps over what can stand before a primary.
fn begin(reader: &mut Reader<'_>, open: &mut Vec<Open>) {
    loop {
        if reader.take_keyword("NOT") {
            reader.count_operator();
            open.push(Open::Not);
        } else if reader.take_sign("(") {
            open.push(Open::Bracket);
        } else {
            return;
        }
    }
}

/// Closes all that binds tighter than what comes next. None when that is `AND` or `OR`: another
/// condition must follow. Otherwise all is closed up to the innermost bracket.
fn close(
    reader: &mut Reader<'_>,
    open: &mut Vec<Open>,
    mut piece: Piece,
) -> Result<Option<Piece>, Error> {
    while open.pop_if(|open| matches!(open, Open::Not)).is_some() {
        piece = bare(Condition::Not(as_condition(reader, piece)?));
    }
    if let Some(Open::And(left)) = open.pop_if(|open| matches!(open, Open::And(_))) {
        piece = bare(Condition::And(left, as_condition(reader, piece)?));
    }
    let begun = if reader.at_keyword("AND") {
        Open::And(as_condition(reader, piece)?)
    } else {
        if let Some(Open::Or(left)) = open.pop_if(|open| matches!(open, Open::Or(_))) {
            piece = bare(Condition::Or(left, as_condition(reader, piece)?));
        }
        if !reader.at_keyword("OR") {
            return Ok(Some(piece));
        }
        Open::Or(as_condition(reader, piece)?)
    };
    open.push(begun);
    reader.take();
    reader.count_operator();
    Ok(None)
}

/// `left` compared with what follows; `left` alone when that is no comparison.
fn comparison(reader: &mut Reader<'_>, left: Piece) -> Result<Piece, Error> {
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
    let mut brackets = 0;
    while reader.take_sign("(") {
        brackets += 1;
    }
    let what = if reader.at_call() { call(reader)? } else { What::Operand(simple(reader)?) };
    let mut piece = Piece { what, bracketed: false };
    for _ in 0..brackets {
        reader.expect_sign(")")?;
        piece = bracketed(reader, piece);
    }
    Ok(piece)
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
        ("attribute_type", [value, kind]) => type_of(kind).and_then(|kind| match value {
            Operand::Path(_) | Operand::Value(_) => Ok(Condition::Type(value.clone(), kind)),
            Operand::Size(_) => Err(needs_path(name)),
        }),
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
