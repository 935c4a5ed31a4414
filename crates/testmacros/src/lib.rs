//! The attribute `#[testkit::test]`. A procedural macro needs a crate of its own; the work is done
//! by `testkit::run`.

use proc_macro::{Delimiter, Group, TokenStream, TokenTree};

/// Runs an async test, and checks every world that the test opened after it has ended.
///
/// `#[testkit::test]` runs on one thread, where virtual time is exact. `#[testkit::test(4)]` runs
/// on four worker threads, for races.
#[proc_macro_attribute]
pub fn test(workers: TokenStream, function: TokenStream) -> TokenStream {
    let workers = if workers.is_empty() { tokens("0") } else { workers };
    let mut head: Vec<TokenTree> = function.into_iter().collect();
    let is_async =
        |token: &TokenTree| matches!(token, TokenTree::Ident(word) if word.to_string() == "async");
    let (Some(keyword), Some(TokenTree::Group(body))) =
        (head.iter().position(is_async), head.pop())
    else {
        return tokens(r#"compile_error!("`#[testkit::test]` stands before an `async fn`");"#);
    };
    head.remove(keyword);
    // The body keeps its own tokens, so that a failed assertion names its line.
    let mut arguments = workers;
    arguments.extend(tokens(", async"));
    arguments.extend([TokenTree::Group(body)]);
    let mut call = tokens("::testkit::run");
    call.extend([TokenTree::Group(Group::new(Delimiter::Parenthesis, arguments))]);
    let mut test = tokens("#[::core::prelude::v1::test]");
    test.extend(head);
    test.extend([TokenTree::Group(Group::new(Delimiter::Brace, call))]);
    test
}

fn tokens(code: &str) -> TokenStream {
    code.parse().expect("the code is written here and is Rust")
}
