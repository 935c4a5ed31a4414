//! What all four expression languages share: moving over tokens, paths, placeholders, faults.

use std::collections::BTreeMap;

use crate::error::Error;
use crate::expr::parse::Placeholders;
use crate::expr::parse::tokens::{Token, TokenKind, tokens};
use crate::expr::reserved::is_reserved;
use crate::expr::{Path, Step};
use crate::limits::EXPRESSION_OPERATORS_MAX;
use crate::value::Value;

/// Function calls inside each other, and brackets in updates. Each call is an operator, so no
/// expression that is taken is deeper. The parser goes one call deeper for each, and the stack of
/// a worker thread must hold them all.
const NESTING_MAX: usize = EXPRESSION_OPERATORS_MAX;

/// Faults that leave the text readable, most urgent first. DynamoDB reports a syntax error
/// wherever it stands before any of these, and of these the most urgent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fault {
    /// `((…))`
    Parentheses,
    /// No such function.
    Function,
    /// A function where it cannot stand.
    Misuse,
    /// A bare name that is a keyword of SQL.
    Reserved,
    /// A clause given twice.
    Section,
    /// A placeholder without meaning.
    Undefined,
    /// An operand that the operator or function cannot take.
    Operand,
}

/// Reads one expression.
pub(super) struct Reader<'a> {
    text: &'a str,
    tokens: Vec<Token<'a>>,
    next: usize,
    placeholders: &'a Placeholders,
    faults: BTreeMap<Fault, String>,
    depth: usize,
    operators: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str, placeholders: &'a Placeholders) -> Reader<'a> {
        let tokens = tokens(text);
        let (next, faults, depth, operators) = (0, BTreeMap::new(), 0, 0);
        Reader { text, tokens, next, placeholders, faults, depth, operators }
    }

    /// The token `ahead` of the next one; the end when there is none.
    fn look(&self, ahead: usize) -> Token<'a> {
        let end = Token {
            kind: TokenKind::End,
            text: "<EOF>",
            start: self.text.len(),
            end: self.text.len(),
        };
        self.tokens.get(self.next + ahead).copied().unwrap_or(end)
    }

    pub(super) fn peek(&self) -> Token<'a> {
        self.look(0)
    }

    pub(super) fn take(&mut self) -> Token<'a> {
        let token = self.peek();
        self.next += 1;
        token
    }

    /// Whether the next token is `sign`.
    pub(super) fn at_sign(&self, sign: &str) -> bool {
        self.peek().is_sign(sign)
    }

    /// Steps over `sign` if it comes next.
    pub(super) fn take_sign(&mut self, sign: &str) -> bool {
        let found = self.at_sign(sign);
        self.next += usize::from(found);
        found
    }

    /// Steps over `sign`, which must come next.
    pub(super) fn expect_sign(&mut self, sign: &str) -> Result<(), Error> {
        if self.take_sign(sign) { Ok(()) } else { Err(self.syntax_error()) }
    }

    /// Whether the next token is `keyword`, in any case.
    pub(super) fn at_keyword(&self, keyword: &str) -> bool {
        let token = self.peek();
        token.kind == TokenKind::Word && token.text.eq_ignore_ascii_case(keyword)
    }

    /// Steps over `keyword` if it comes next.
    pub(super) fn take_keyword(&mut self, keyword: &str) -> bool {
        let found = self.at_keyword(keyword);
        self.next += usize::from(found);
        found
    }

    /// Whether a function call comes next.
    pub(super) fn at_call(&self) -> bool {
        self.peek().kind == TokenKind::Word && self.look(1).is_sign("(")
    }

    /// That the next token cannot stand there: named with its neighbours, as DynamoDB does.
    pub(super) fn syntax_error(&self) -> Error {
        let token = self.peek();
        let before = self.next.checked_sub(1).and_then(|index| self.tokens.get(index));
        let start = before.map_or(token.start, |before| before.start);
        let near = self.text.get(start..self.look(1).end).unwrap_or("").trim_ascii_end();
        Error::invalid(format!("Syntax error; token: \"{}\", near: \"{near}\"", token.text))
    }

    /// Reads what stands inside a bracket, one level deeper.
    pub(super) fn deeper<T>(
        &mut self,
        read: impl FnOnce(&mut Reader<'a>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        if self.depth == NESTING_MAX {
            return Err(Error::invalid(format!(
                "The expression is nested too deeply; levels allowed: {NESTING_MAX}"
            )));
        }
        self.depth += 1;
        let read = read(self);
        self.depth -= 1;
        read
    }

    /// One or more, with commas between.
    pub(super) fn list<T>(
        &mut self,
        mut read: impl FnMut(&mut Reader<'a>) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        let mut list = vec![read(self)?];
        while self.take_sign(",") {
            list.push(read(self)?);
        }
        Ok(list)
    }

    pub(super) fn path(&mut self) -> Result<Path, Error> {
        let mut path = Path { root: self.name()?, steps: Vec::new() };
        loop {
            if self.take_sign(".") {
                path.steps.push(Step::Field(self.name()?));
            } else if self.take_sign("[") {
                path.steps.push(Step::Index(self.index()?));
                self.expect_sign("]")?;
            } else {
                return Ok(path);
            }
        }
    }

    fn name(&mut self) -> Result<String, Error> {
        let token = self.peek();
        match token.kind {
            TokenKind::Word => {
                if is_reserved(token.text) {
                    self.note(
                        Fault::Reserved,
                        format!(
                            "Attribute name is a reserved keyword; reserved keyword: {}",
                            token.text
                        ),
                    );
                }
                self.next += 1;
                Ok(token.text.to_owned())
            }
            TokenKind::NamePlaceholder => {
                self.next += 1;
                Ok(self.placeholders.find_name(token.text)?.unwrap_or_else(|| {
                    self.note(
                        Fault::Undefined,
                        format!(
                            "An expression attribute name used in the document path is not \
                             defined; attribute name: {}",
                            token.text
                        ),
                    );
                    String::new()
                }))
            }
            TokenKind::ValuePlaceholder | TokenKind::Digits | TokenKind::Sign | TokenKind::End => {
                Err(self.syntax_error())
            }
        }
    }

    fn index(&mut self) -> Result<u32, Error> {
        let token = self.peek();
        if token.kind != TokenKind::Digits {
            return Err(self.syntax_error());
        }
        self.next += 1;
        token.text.parse().map_err(|_| {
            Error::invalid(format!(
                "List index is not within the allowable range; index: [{}]",
                token.text
            ))
        })
    }

    /// The meaning of the value placeholder that must come next.
    pub(super) fn value(&mut self) -> Result<Value, Error> {
        let token = self.peek();
        if token.kind != TokenKind::ValuePlaceholder {
            return Err(self.syntax_error());
        }
        self.next += 1;
        Ok(self.placeholders.find_value(token.text)?.unwrap_or_else(|| {
            self.note(
                Fault::Undefined,
                format!(
                    "An expression attribute value used in expression is not defined; attribute \
                     value: {}",
                    token.text
                ),
            );
            Value::Null
        }))
    }

    /// Counts an operator or function.
    pub(super) fn count_operator(&mut self) {
        self.operators += 1;
    }

    /// Keeps a fault to be told when the text proves readable; the first of its kind counts.
    pub(super) fn note(&mut self, fault: Fault, message: impl Into<String>) {
        self.faults.entry(fault).or_insert_with(|| message.into());
    }

    /// The text must end here without faults.
    pub(super) fn finish(mut self) -> Result<(), Error> {
        if self.peek().kind != TokenKind::End {
            return Err(self.syntax_error());
        }
        if let Some((_, message)) = self.faults.pop_first() {
            return Err(Error::Invalid(message));
        }
        if self.operators > EXPRESSION_OPERATORS_MAX {
            return Err(Error::invalid(format!(
                "The expression contains too many operators; operator count: {}",
                self.operators
            )));
        }
        Ok(())
    }
}

impl Token<'_> {
    fn is_sign(&self, sign: &str) -> bool {
        self.kind == TokenKind::Sign && self.text == sign
    }
}

/// DynamoDB's refusal of a function it does not know.
pub(super) fn unknown_function(name: &str) -> String {
    format!("Invalid function name; function: {name}")
}

/// DynamoDB's refusal of a call with too few or too many operands.
pub(super) fn wrong_count(name: &str, count: usize) -> String {
    format!(
        "Incorrect number of operands for operator or function; operator or function: {name}, \
         number of operands: {count}"
    )
}

/// DynamoDB's refusal of a value where only a path can stand.
pub(super) fn needs_path(name: &str) -> String {
    format!("Operator or function requires a document path; operator or function: {name}")
}
