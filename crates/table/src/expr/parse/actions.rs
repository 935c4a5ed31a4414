//! Updates: up to four clauses in any order, each once.

use crate::error::Error;
use crate::expr::parse::reader::{Fault, Reader, needs_path, unknown_function, wrong_count};
use crate::expr::parse::tokens::TokenKind;
use crate::expr::{Actions, Path, SetValue, Term};
use crate::value::Value;

/// Reads clauses up to the end of the text.
pub(super) fn actions(reader: &mut Reader<'_>) -> Result<Actions, Error> {
    let mut actions = Actions::default();
    let mut seen = Vec::new();
    loop {
        let keyword = ["SET", "REMOVE", "ADD", "DELETE"]
            .into_iter()
            .find(|keyword| reader.at_keyword(keyword))
            .ok_or_else(|| reader.syntax_error())?;
        reader.take();
        if seen.contains(&keyword) {
            reader.note(
                Fault::Section,
                format!("The \"{keyword}\" section can only be used once in an update expression;"),
            );
        }
        seen.push(keyword);
        match keyword {
            "SET" => actions.set.extend(reader.list(assignment)?),
            "REMOVE" => actions.remove.extend(reader.list(Reader::path)?),
            "ADD" => actions.add.extend(reader.list(pair)?),
            _ => actions.delete.extend(reader.list(pair)?),
        }
        if reader.peek().kind == TokenKind::End {
            return Ok(actions);
        }
    }
}

fn assignment(reader: &mut Reader<'_>) -> Result<(Path, SetValue), Error> {
    let path = reader.path()?;
    reader.expect_sign("=")?;
    Ok((path, set_value(reader)?))
}

fn pair(reader: &mut Reader<'_>) -> Result<(Path, Value), Error> {
    Ok((reader.path()?, reader.value()?))
}

fn set_value(reader: &mut Reader<'_>) -> Result<SetValue, Error> {
    let left = bracketed_value(reader)?;
    let sum = reader.at_sign("+");
    if !sum && !reader.at_sign("-") {
        return Ok(left);
    }
    let left = as_term(reader, left)?;
    reader.take();
    reader.count_operator();
    let right = bracketed_value(reader)?;
    let right = as_term(reader, right)?;
    Ok(if sum { SetValue::Plus(left, right) } else { SetValue::Minus(left, right) })
}

fn bracketed_value(reader: &mut Reader<'_>) -> Result<SetValue, Error> {
    if !reader.take_sign("(") {
        return Ok(SetValue::Term(term(reader)?));
    }
    let value = reader.deeper(set_value)?;
    reader.expect_sign(")")?;
    Ok(value)
}

/// Sums of sums have no place in the language.
fn as_term(reader: &Reader<'_>, value: SetValue) -> Result<Term, Error> {
    match value {
        SetValue::Term(term) => Ok(term),
        SetValue::Plus(..) | SetValue::Minus(..) => Err(reader.syntax_error()),
    }
}

fn term(reader: &mut Reader<'_>) -> Result<Term, Error> {
    if reader.at_call() {
        return call(reader);
    }
    if reader.peek().kind == TokenKind::ValuePlaceholder {
        return Ok(Term::Value(reader.value()?));
    }
    Ok(Term::Path(reader.path()?))
}

fn call(reader: &mut Reader<'_>) -> Result<Term, Error> {
    let name = reader.take().text;
    reader.count_operator();
    reader.expect_sign("(")?;
    let terms = reader.deeper(|reader| reader.list(term))?;
    reader.expect_sign(")")?;
    let count = terms.len();
    let fault = match (name, <[Term; 2]>::try_from(terms)) {
        ("if_not_exists", Ok([Term::Path(path), otherwise])) => {
            return Ok(Term::IfNotExists(path, Box::new(otherwise)));
        }
        ("list_append", Ok([first, second])) => {
            return Ok(Term::ListAppend(Box::new(first), Box::new(second)));
        }
        ("if_not_exists", Ok(_)) => (Fault::Operand, needs_path(name)),
        ("if_not_exists" | "list_append", Err(_)) => (Fault::Operand, wrong_count(name, count)),
        (_, Ok(_) | Err(_)) => (Fault::Function, unknown_function(name)),
    };
    reader.note(fault.0, fault.1);
    Ok(Term::Value(Value::Null))
}
