//! Parses PartiQL statements, as far as DynamoDB supports them, into the trees of the tables.
//!
//! - **Invariant:** no text makes the parser recurse deeper than [`NESTING_MAX`].

use std::iter::Peekable;
use std::vec::IntoIter;

use table::{
    Actions, Comparator, Condition, Item, Number, Operand, Path, SetValue, Term, Value, ValueType,
};

use super::super::fault::Fault;
use super::tokens::{Token, tokens, unexpected};

/// Nested brackets: values may be as deep as an item, conditions need less.
const NESTING_MAX: usize = 64;
/// The length of one statement, as in DynamoDB.
const STATEMENT_BYTES_MAX: usize = 8192;

/// A statement.
#[derive(Debug, PartialEq)]
pub(in crate::door) enum Statement {
    Select(SelectStatement),
    /// Only in a transaction: an item exists for which the condition holds.
    Exists {
        table: String,
        condition: Condition,
    },
    Insert {
        table: String,
        item: Item,
    },
    Update {
        table: String,
        actions: Actions,
        condition: Condition,
        returning: Option<String>,
    },
    Delete {
        table: String,
        condition: Condition,
        returning: Option<String>,
    },
}

/// The attributes, source and order of a read.
#[derive(Debug, PartialEq)]
pub(in crate::door) struct SelectStatement {
    pub(super) table: String,
    pub(super) index: Option<String>,
    pub(super) paths: Vec<Path>,
    pub(super) condition: Option<Condition>,
    /// The sort key, and whether in descending order.
    pub(super) order: Option<(String, bool)>,
}

/// Parses a statement. Its question marks stand for `parameters`.
pub(in crate::door) fn statement(text: &str, parameters: Vec<Value>) -> Result<Statement, Fault> {
    if text.is_empty() {
        let rule = "have length greater than or equal to 1";
        return Err(Fault::constraint("''", "statement", rule));
    }
    if text.len() > STATEMENT_BYTES_MAX {
        let rule = format!("have length less than or equal to {STATEMENT_BYTES_MAX}");
        return Err(Fault::constraint_at("statement", &rule));
    }
    let parser = Parser {
        tokens: tokens(text)?.into_iter().peekable(),
        parameters: parameters.into_iter(),
        depth: 0,
    };
    parser.statement()
}

struct Parser {
    tokens: Peekable<IntoIter<Token>>,
    parameters: IntoIter<Value>,
    depth: usize,
}

impl Parser {
    fn statement(mut self) -> Result<Statement, Fault> {
        let statement = if self.take_word("SELECT") {
            Statement::Select(self.select()?)
        } else if self.take_word("EXISTS") {
            self.exists()?
        } else if self.take_word("INSERT") {
            self.expect_word("INTO")?;
            let table = self.name()?;
            self.expect_word("VALUE")?;
            match self.value()? {
                Value::M(item) => Statement::Insert { table, item },
                _ => return Err(unexpected("value: an item is a map")),
            }
        } else if self.take_word("UPDATE") {
            self.update()?
        } else if self.take_word("DELETE") {
            self.expect_word("FROM")?;
            let table = self.name()?;
            let (condition, returning) = (self.filter()?, self.returning()?);
            Statement::Delete { table, condition, returning }
        } else {
            return Err(self.stray());
        };
        if self.tokens.peek().is_some() {
            return Err(self.stray());
        }
        if self.parameters.next().is_some() {
            return Err(Fault::invalid(
                "Number of parameters in request and statement don't match.",
            ));
        }
        Ok(statement)
    }

    fn select(&mut self) -> Result<SelectStatement, Fault> {
        let mut paths = Vec::new();
        if !self.take_sign("*") {
            paths.push(self.path()?);
            while self.take_sign(",") {
                paths.push(self.path()?);
            }
        }
        self.expect_word("FROM")?;
        let table = self.name()?;
        let index = if self.take_sign(".") { Some(self.name()?) } else { None };
        let condition = if self.take_word("WHERE") { Some(self.condition()?) } else { None };
        let order = if self.take_word("ORDER") { Some(self.order()?) } else { None };
        Ok(SelectStatement { table, index, paths, condition, order })
    }

    fn order(&mut self) -> Result<(String, bool), Fault> {
        self.expect_word("BY")?;
        let name = self.name()?;
        let descending = self.take_word("DESC");
        if !descending {
            self.take_word("ASC");
        }
        Ok((name, descending))
    }

    fn exists(&mut self) -> Result<Statement, Fault> {
        self.expect_sign("(")?;
        self.expect_word("SELECT")?;
        let SelectStatement { table, index, paths, condition, order } = self.select()?;
        self.expect_sign(")")?;
        match condition {
            Some(condition) if index.is_none() && paths.is_empty() && order.is_none() => {
                Ok(Statement::Exists { table, condition })
            }
            Some(_) | None => Err(unexpected("EXISTS: it takes SELECT * with a key")),
        }
    }

    fn update(&mut self) -> Result<Statement, Fault> {
        let table = self.name()?;
        let mut actions = Actions::default();
        loop {
            if self.take_word("SET") {
                let path = self.path()?;
                self.expect_sign("=")?;
                let value = self.set_value()?;
                actions.set.push((path, value));
            } else if self.take_word("REMOVE") {
                actions.remove.push(self.path()?);
            } else {
                break;
            }
        }
        let (condition, returning) = (self.filter()?, self.returning()?);
        Ok(Statement::Update { table, actions, condition, returning })
    }

    fn set_value(&mut self) -> Result<SetValue, Fault> {
        let left = self.term()?;
        if self.take_sign("+") {
            return Ok(SetValue::Plus(left, self.term()?));
        }
        if self.take_sign("-") {
            return Ok(SetValue::Minus(left, self.term()?));
        }
        Ok(SetValue::Term(left))
    }

    fn term(&mut self) -> Result<Term, Fault> {
        if self.take_word("list_append") {
            self.expect_sign("(")?;
            let first = self.deeper(Parser::term)?;
            self.expect_sign(",")?;
            let second = self.deeper(Parser::term)?;
            self.expect_sign(")")?;
            return Ok(Term::ListAppend(Box::new(first), Box::new(second)));
        }
        match self.operand()? {
            Operand::Path(path) => Ok(Term::Path(path)),
            Operand::Value(value) => Ok(Term::Value(value)),
            Operand::Size(_) => Err(unexpected("size")),
        }
    }

    fn filter(&mut self) -> Result<Condition, Fault> {
        self.expect_word("WHERE")?;
        self.condition()
    }

    fn returning(&mut self) -> Result<Option<String>, Fault> {
        if !self.take_word("RETURNING") {
            return Ok(None);
        }
        let mut words = Vec::new();
        while let Some(Token::Word(word)) = self.tokens.next_if(|t| matches!(t, Token::Word(_))) {
            words.push(word.to_uppercase());
        }
        self.expect_sign("*")?;
        Ok(Some(words.join("_")))
    }

    fn condition(&mut self) -> Result<Condition, Fault> {
        let mut left = self.conjunction()?;
        while self.take_word("OR") {
            left = Condition::Or(Box::new(left), Box::new(self.conjunction()?));
        }
        Ok(left)
    }

    fn conjunction(&mut self) -> Result<Condition, Fault> {
        let mut left = self.negation()?;
        while self.take_word("AND") {
            left = Condition::And(Box::new(left), Box::new(self.negation()?));
        }
        Ok(left)
    }

    fn negation(&mut self) -> Result<Condition, Fault> {
        if self.take_word("NOT") {
            return Ok(Condition::Not(Box::new(self.deeper(Parser::negation)?)));
        }
        if self.take_sign("(") {
            let inner = self.deeper(Parser::condition)?;
            self.expect_sign(")")?;
            return Ok(inner);
        }
        for name in ["begins_with", "contains", "attribute_type"] {
            if self.take_word(name) {
                self.expect_sign("(")?;
                let left = self.operand()?;
                self.expect_sign(",")?;
                let right = self.operand()?;
                self.expect_sign(")")?;
                return called(name, left, right);
            }
        }
        let left = self.operand()?;
        self.compared(left)
    }

    fn compared(&mut self, left: Operand) -> Result<Condition, Fault> {
        if self.take_word("BETWEEN") {
            let low = self.operand()?;
            self.expect_word("AND")?;
            return Ok(Condition::Between(left, low, self.operand()?));
        }
        if self.take_word("IN") {
            let end = if self.take_sign("[") { "]" } else { ")" };
            if end == ")" {
                self.expect_sign("(")?;
            }
            let mut choices = vec![self.operand()?];
            while self.take_sign(",") {
                choices.push(self.operand()?);
            }
            self.expect_sign(end)?;
            return Ok(Condition::In(left, choices));
        }
        if self.take_word("IS") {
            let negated = self.take_word("NOT");
            let Operand::Path(path) = left else { return Err(unexpected("IS")) };
            let null = self.take_word("NULL");
            if !null {
                self.expect_word("MISSING")?;
            }
            return Ok(match (null, negated) {
                (false, false) => Condition::NotExists(path),
                (false, true) => Condition::Exists(path),
                (true, false) => path.is_type(ValueType::Null),
                (true, true) => !path.is_type(ValueType::Null),
            });
        }
        let comparator = match self.tokens.next() {
            Some(Token::Sign("=")) => Comparator::Eq,
            Some(Token::Sign("<>" | "!=")) => Comparator::Ne,
            Some(Token::Sign("<")) => Comparator::Lt,
            Some(Token::Sign("<=")) => Comparator::Le,
            Some(Token::Sign(">")) => Comparator::Gt,
            Some(Token::Sign(">=")) => Comparator::Ge,
            Some(_) | None => return Err(unexpected("what is no comparison")),
        };
        Ok(Condition::Compare(left, comparator, self.operand()?))
    }

    fn operand(&mut self) -> Result<Operand, Fault> {
        if self.take_word("size") {
            self.expect_sign("(")?;
            let path = self.path()?;
            self.expect_sign(")")?;
            return Ok(Operand::Size(path));
        }
        match self.tokens.peek() {
            Some(Token::Name(_)) => Ok(Operand::Path(self.path()?)),
            Some(Token::Word(word)) if !is_literal(word) => Ok(Operand::Path(self.path()?)),
            Some(_) | None => Ok(Operand::Value(self.value()?)),
        }
    }

    fn path(&mut self) -> Result<Path, Fault> {
        let mut path = Path::from(self.name()?);
        loop {
            if self.take_sign(".") {
                path = path.field(self.name()?);
            } else if self.take_sign("[") {
                let Some(Token::Number(index)) = self.tokens.next() else {
                    return Err(unexpected("what is no position"));
                };
                path = path.at(index.parse().map_err(|_| unexpected(&index))?);
                self.expect_sign("]")?;
            } else {
                return Ok(path);
            }
        }
    }

    fn value(&mut self) -> Result<Value, Fault> {
        match self.tokens.next() {
            Some(Token::Text(text)) => Ok(Value::from(text)),
            Some(Token::Number(number)) => Ok(Value::N(Number::parse(&number)?)),
            Some(Token::Sign("-")) => match self.tokens.next() {
                Some(Token::Number(number)) => Ok(Value::N(Number::parse(&format!("-{number}"))?)),
                Some(_) | None => Err(unexpected("-")),
            },
            Some(Token::Sign("?")) => self.parameters.next().ok_or_else(|| {
                Fault::invalid("Number of parameters in request and statement don't match.")
            }),
            Some(Token::Sign("[")) => Ok(Value::L(self.values("]")?)),
            Some(Token::Sign("<<")) => set(self.values(">>")?),
            Some(Token::Sign("{")) => self.map().map(Value::M),
            Some(Token::Word(word)) => match word.to_ascii_lowercase().as_str() {
                "true" => Ok(Value::Bool(true)),
                "false" => Ok(Value::Bool(false)),
                "null" => Ok(Value::Null),
                other => Err(unexpected(other)),
            },
            Some(Token::Name(name)) => Err(unexpected(&name)),
            Some(Token::Sign(sign)) => Err(unexpected(sign)),
            None => Err(unexpected("the end of the statement")),
        }
    }

    fn values(&mut self, end: &'static str) -> Result<Vec<Value>, Fault> {
        let mut values = Vec::new();
        while !self.take_sign(end) {
            if !values.is_empty() {
                self.expect_sign(",")?;
            }
            values.push(self.deeper(Parser::value)?);
        }
        Ok(values)
    }

    fn map(&mut self) -> Result<Item, Fault> {
        let mut map = Item::new();
        while !self.take_sign("}") {
            if !map.is_empty() {
                self.expect_sign(",")?;
            }
            let name = match self.tokens.next() {
                Some(Token::Text(name) | Token::Name(name)) => name,
                Some(_) | None => return Err(unexpected("what is no name")),
            };
            self.expect_sign(":")?;
            let value = self.deeper(Parser::value)?;
            map.insert(name, value);
        }
        Ok(map)
    }

    fn name(&mut self) -> Result<String, Fault> {
        match self.tokens.next() {
            Some(Token::Name(name) | Token::Word(name)) => Ok(name),
            Some(_) | None => Err(unexpected("what is no name")),
        }
    }

    fn deeper<T>(&mut self, read: fn(&mut Parser) -> Result<T, Fault>) -> Result<T, Fault> {
        if self.depth == NESTING_MAX {
            return Err(Fault::invalid(format!(
                "the statement is nested too deeply ({NESTING_MAX} levels)"
            )));
        }
        self.depth += 1;
        let inner = read(self);
        self.depth -= 1;
        inner
    }

    fn take_word(&mut self, wanted: &str) -> bool {
        let is_it =
            |token: &Token| matches!(token, Token::Word(word) if word.eq_ignore_ascii_case(wanted));
        self.tokens.next_if(is_it).is_some()
    }

    fn expect_word(&mut self, wanted: &str) -> Result<(), Fault> {
        if self.take_word(wanted) { Ok(()) } else { Err(self.stray()) }
    }

    fn take_sign(&mut self, wanted: &str) -> bool {
        self.tokens.next_if(|token| matches!(token, Token::Sign(sign) if *sign == wanted)).is_some()
    }

    fn expect_sign(&mut self, wanted: &str) -> Result<(), Fault> {
        if self.take_sign(wanted) { Ok(()) } else { Err(self.stray()) }
    }

    fn stray(&mut self) -> Fault {
        match self.tokens.peek() {
            Some(
                Token::Word(text) | Token::Name(text) | Token::Text(text) | Token::Number(text),
            ) => unexpected(text),
            Some(Token::Sign(sign)) => unexpected(sign),
            None => unexpected("the end of the statement"),
        }
    }
}

fn is_literal(word: &str) -> bool {
    ["true", "false", "null"].iter().any(|literal| word.eq_ignore_ascii_case(literal))
}

fn called(name: &str, left: Operand, right: Operand) -> Result<Condition, Fault> {
    match (name, left, right) {
        ("begins_with", left, right) => Ok(Condition::BeginsWith(left, right)),
        ("contains", left, right) => Ok(Condition::Contains(left, right)),
        (_, left @ (Operand::Path(_) | Operand::Value(_)), Operand::Value(Value::S(kind))) => {
            let kind = ValueType::from_name(&kind).ok_or_else(|| unexpected(&kind))?;
            Ok(Condition::Type(left, kind))
        }
        (name, _, _) => Err(unexpected(name)),
    }
}

/// `<<…>>`: texts, numbers or bytes, all of one type.
fn set(values: Vec<Value>) -> Result<Value, Fault> {
    let mut values = values.into_iter();
    let mut set = match values.next() {
        Some(Value::S(text)) => Value::Ss([text.as_ref().to_owned()].into()),
        Some(Value::N(number)) => Value::Ns([number].into()),
        Some(Value::B(bytes)) => Value::Bs([bytes].into()),
        Some(_) => return Err(unexpected("element: those of a set are texts, numbers or bytes")),
        None => return Err(unexpected(">>: a set may not be empty")),
    };
    for value in values {
        match (&mut set, value) {
            (Value::Ss(texts), Value::S(text)) => texts.insert(text.as_ref().to_owned()),
            (Value::Ns(numbers), Value::N(number)) => numbers.insert(number),
            (Value::Bs(all), Value::B(bytes)) => all.insert(bytes),
            (_, _) => return Err(unexpected("element: those of a set are of one type")),
        };
    }
    Ok(set)
}
