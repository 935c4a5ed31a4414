//! PartiQL statements.

use serde_json::{Value as Json, json};

use super::Trial;

async fn run(trial: &Trial, statement: &str, parameters: Json) -> Result<Json, (String, String)> {
    let mut request = json!({"Statement": statement});
    if !parameters.is_null() {
        request["Parameters"] = parameters;
    }
    trial.ask("ExecuteStatement", request).await
}

#[tokio::test]
async fn statements_write_and_read_items() {
    let trial = Trial::with_things().await;
    for number in 0..4 {
        let insert = "INSERT INTO things VALUE {'pk': 'a', 'sk': ?, 'tags': <<'x', 'y'>>, \
                      'deep': {'list': [1, -2.5, true, null, 'it''s']}}";
        run(&trial, insert, json!([{"N": number.to_string()}])).await.unwrap();
    }
    let twice = run(&trial, "INSERT INTO things VALUE {'pk': 'a', 'sk': 1}", Json::Null).await;
    assert_eq!(twice.unwrap_err().0, "DuplicateItemException");
    let one = run(&trial, "SELECT * FROM \"things\" WHERE pk = 'a' AND sk = 2", Json::Null).await;
    let item = &one.unwrap()["Items"][0];
    assert_eq!(item["deep"]["M"]["list"]["L"][1], json!({"N": "-2.5"}));
    assert_eq!(item["deep"]["M"]["list"]["L"][4], json!({"S": "it's"}));
    assert_eq!(item["tags"], json!({"SS": ["x", "y"]}));
    let some = "SELECT sk, deep.list[0] FROM things WHERE pk = ? AND sk BETWEEN 1 AND 2 AND \
                contains(tags, 'x')";
    let some = run(&trial, some, json!([{"S": "a"}])).await.unwrap();
    assert_eq!(some["Items"].as_array().unwrap().len(), 2);
    let all = run(&trial, "SELECT * FROM things WHERE sk > 0 OR note IS NOT MISSING", Json::Null);
    assert_eq!(all.await.unwrap()["Items"].as_array().unwrap().len(), 3);

    let update = "UPDATE things SET note = 'new' SET sum = 1 REMOVE tags WHERE pk = 'a' AND sk = 3 \
                  AND note IS MISSING RETURNING ALL NEW *";
    let updated = run(&trial, update, Json::Null).await.unwrap();
    assert_eq!(updated["Items"][0]["note"], json!({"S": "new"}));
    let again = run(&trial, update, Json::Null).await.unwrap_err();
    assert_eq!(again.0, "ConditionalCheckFailedException");
    let nobody = "UPDATE things SET note = 'x' WHERE pk = 'nobody' AND sk = 1";
    assert_eq!(
        run(&trial, nobody, Json::Null).await.unwrap_err().0,
        "ConditionalCheckFailedException"
    );
    let delete = "DELETE FROM things WHERE pk = 'a' AND sk = 3 RETURNING ALL OLD *";
    let deleted = run(&trial, delete, Json::Null).await.unwrap();
    assert_eq!(deleted["Items"][0]["sum"], json!({"N": "1"}));
}

#[tokio::test]
async fn a_value_is_selected_under_the_last_name_of_its_path() {
    let trial = Trial::with_things().await;
    let item = json!({
        "pk": {"S": "a"}, "sk": {"N": "1"}, "a.b": {"M": {"c.d": {"N": "4"}}},
        "m": {"M": {"k": {"S": "v"}, "l": {"L": [{"N": "1"}, {"N": "2"}]}, "j": {"S": "w"}}},
    });
    trial.put(item).await;
    for place in ["pk = 'a' AND sk = 1", "pk = 'a'", "sk = 1"] {
        for (paths, expected) in [
            ("m.k", json!({"k": {"S": "v"}})),
            ("sk, m.k, m.l[1]", json!({"sk": {"N": "1"}, "k": {"S": "v"}, "l[1]": {"N": "2"}})),
            (
                "m",
                json!({"m": {"M": {"k": {"S": "v"}, "j": {"S": "w"},
                "l": {"L": [{"N": "1"}, {"N": "2"}]}}}}),
            ),
            ("\"a.b\".\"c.d\"", json!({"c.d": {"N": "4"}})),
            ("m.gone, m.k.deeper", json!({})),
        ] {
            let text = format!("SELECT {paths} FROM things WHERE {place}");
            let answer = run(&trial, &text, Json::Null).await.unwrap();
            assert_eq!(answer["Items"], json!([expected]), "{text}");
        }
    }
    let one = json!({"Statement": "SELECT m.k FROM things WHERE pk = 'a' AND sk = 1"});
    let batch = trial.ask("BatchExecuteStatement", json!({"Statements": [one]})).await.unwrap();
    assert_eq!(batch["Responses"][0]["Item"], json!({"k": {"S": "v"}}));
    let several = json!({"TransactStatements": [one]});
    let several = trial.ask("ExecuteTransaction", several).await.unwrap();
    assert_eq!(several["Responses"][0]["Item"], json!({"k": {"S": "v"}}));
    let inside = run(&trial, "SELECT m.k, m FROM things WHERE pk = 'a'", Json::Null).await;
    assert!(inside.unwrap_err().1.starts_with("Two document paths overlap"));
}

#[tokio::test]
async fn an_ordered_select_goes_through_a_partition_from_either_end() {
    let trial = Trial::with_things().await;
    for number in 0..3 {
        let item = json!({"pk": {"S": "a"}, "sk": {"N": number.to_string()}, "kind": {"S": "k"}});
        trial.put(item).await;
    }
    let sorts = |answer: Json| -> Vec<String> {
        let items = answer["Items"].as_array().unwrap().iter();
        items.map(|item| item["sk"]["N"].as_str().unwrap().to_owned()).collect()
    };
    for (order, wanted) in
        [("", ["0", "1", "2"]), ("ASC", ["0", "1", "2"]), ("DESC", ["2", "1", "0"])]
    {
        for from in ["things WHERE pk = 'a'", "\"things\".\"by-kind\" WHERE kind = 'k'"] {
            let text = format!("SELECT * FROM {from} ORDER BY sk {order}");
            assert_eq!(sorts(run(&trial, &text, Json::Null).await.unwrap()), wanted, "{text}");
        }
    }
    for wrong in ["things ORDER BY sk", "things WHERE pk = 'a' ORDER BY note"] {
        let text = format!("SELECT * FROM {wrong}");
        assert_eq!(run(&trial, &text, Json::Null).await.unwrap_err().0, "ValidationException");
    }
}

#[tokio::test]
async fn a_statement_reads_an_index_and_filters_by_attributes_that_are_no_key() {
    let trial = Trial::with_things().await;
    for (number, name) in [(1, "x"), (2, "y"), (3, "x")] {
        trial
            .put(json!({
                "pk": {"S": "a"}, "sk": {"N": number.to_string()},
                "kind": {"S": "k"}, "name": {"S": name}, "n": {"N": "5"},
            }))
            .await;
    }
    let text = "SELECT sk FROM \"things\".\"by-kind\" WHERE kind = 'k' AND sk > 1 AND name = 'x'";
    let answer = run(&trial, text, Json::Null).await.unwrap();
    assert_eq!(answer["Items"], json!([{"sk": {"N": "3"}}]));
    // A filter on a key attribute that is no key condition needs a scan, which finds the same.
    let text = "SELECT sk FROM things WHERE pk = 'a' AND (sk = 1 OR sk = 3) AND sk IN [3, 4]";
    let answer = run(&trial, text, Json::Null).await.unwrap();
    assert_eq!(answer["Items"], json!([{"sk": {"N": "3"}}]));
    let arithmetic = "UPDATE things SET n = n-1 SET m = 2.5e1 WHERE pk = 'a' AND sk = 1 \
                   RETURNING MODIFIED NEW *";
    let answer = run(&trial, arithmetic, Json::Null).await.unwrap();
    assert_eq!(answer["Items"], json!([{"n": {"N": "4"}, "m": {"N": "25"}}]));
    let none = run(&trial, "SELECT * FROM \"things\".\"by-none\"", Json::Null).await;
    assert_eq!(none.unwrap_err().0, "ValidationException");
}

#[tokio::test]
async fn a_transaction_checks_whether_an_item_exists() {
    let trial = Trial::with_things().await;
    trial.put(json!({"pk": {"S": "a"}, "sk": {"N": "1"}, "state": {"S": "open"}})).await;
    let with = |state: &str| {
        json!({"TransactStatements": [
            {"Statement": format!(
                "EXISTS(SELECT * FROM things WHERE pk = 'a' AND sk = 1 AND \"state\" = '{state}')"
            )},
            {"Statement": format!("INSERT INTO things VALUE {{'pk': '{state}', 'sk': 1}}")},
        ], "ReturnConsumedCapacity": "TOTAL"})
    };
    let answer = trial.ask("ExecuteTransaction", with("open")).await.unwrap();
    assert_eq!(answer["ConsumedCapacity"][0]["WriteCapacityUnits"], json!(4.0));
    let (kind, _) = trial.ask("ExecuteTransaction", with("shut")).await.unwrap_err();
    assert_eq!(kind, "TransactionCanceledException");
    let alone = run(&trial, "EXISTS(SELECT * FROM things WHERE pk = 'a' AND sk = 1)", Json::Null);
    assert_eq!(alone.await.unwrap_err().0, "ValidationException");
}

#[tokio::test]
async fn a_statement_reports_its_cost_and_the_item_that_failed_its_condition() {
    let trial = Trial::with_things().await;
    let item = json!({
        "pk": {"S": "a"}, "sk": {"N": "1"}, "kind": {"S": "k"}, "text": {"S": "x".repeat(5000)},
    });
    trial.put(item).await;
    let costs = |text: &str| {
        json!({"Statement": text, "ReturnConsumedCapacity": "INDEXES",
               "ReturnValuesOnConditionCheckFailure": "ALL_OLD"})
    };
    let get = "SELECT * FROM things WHERE pk = 'a' AND sk = 1";
    let answer = trial.ask("ExecuteStatement", costs(get)).await.unwrap();
    assert_eq!(answer["ConsumedCapacity"]["CapacityUnits"], json!(1.0));
    let update = "UPDATE things SET kind = 'l' WHERE pk = 'a' AND sk = 1";
    let answer = trial.ask("ExecuteStatement", costs(update)).await.unwrap();
    assert_eq!(answer["ConsumedCapacity"]["Table"]["CapacityUnits"], json!(5.0));
    let index = &answer["ConsumedCapacity"]["GlobalSecondaryIndexes"]["by-kind"];
    assert_eq!(index["CapacityUnits"], json!(2.0));
    let refused = "DELETE FROM things WHERE pk = 'a' AND sk = 1 AND kind = 'k'";
    let reply = trial.send("ExecuteStatement", &costs(refused).to_string()).await;
    let failure: Json = serde_json::from_str(&reply.body).unwrap();
    assert_eq!(failure["Item"]["kind"], json!({"S": "l"}));
    let batch = json!({"Statements": [costs(refused)]});
    let answer = trial.ask("BatchExecuteStatement", batch).await.unwrap();
    assert_eq!(answer["Responses"][0]["Error"]["Item"]["kind"], json!({"S": "l"}));
}

#[tokio::test]
async fn pages_of_a_statement_follow_each_other() {
    let trial = Trial::with_things().await;
    for number in 0..5 {
        trial.put(json!({"pk": {"S": "a"}, "sk": {"N": number.to_string()}})).await;
    }
    let mut request = json!({"Statement": "SELECT * FROM things WHERE pk = 'a'", "Limit": 2});
    let mut seen = 0;
    loop {
        let answer = trial.ask("ExecuteStatement", request.clone()).await.unwrap();
        seen += answer["Items"].as_array().unwrap().len();
        match answer.get("NextToken") {
            Some(token) => request["NextToken"] = token.clone(),
            None => break,
        }
    }
    assert_eq!(seen, 5);
}

#[tokio::test]
async fn batches_and_transactions_take_statements() {
    let trial = Trial::with_things().await;
    let insert =
        |n: u32| json!({"Statement": format!("INSERT INTO things VALUE {{'pk': 'a', 'sk': {n}}}")});
    let batch =
        json!({"Statements": [insert(1), insert(1), {"Statement": "SELECT * FROM things"}]});
    let answer = trial.ask("BatchExecuteStatement", batch).await.unwrap();
    assert_eq!(answer["Responses"][0], json!({"TableName": "things"}));
    assert_eq!(answer["Responses"][1]["Error"]["Code"], "DuplicateItem");
    assert_eq!(answer["Responses"][2]["Error"]["Code"], "ValidationError");
    let transaction = json!({"TransactStatements": [insert(2), insert(1)]});
    let (kind, _) = trial.ask("ExecuteTransaction", transaction).await.unwrap_err();
    assert_eq!(kind, "TransactionCanceledException");
    let get =
        |n: u32| json!({"Statement": format!("SELECT * FROM things WHERE pk = 'a' AND sk = {n}")});
    let read = json!({"TransactStatements": [get(1), get(2)]});
    let answer = trial.ask("ExecuteTransaction", read).await.unwrap();
    assert_eq!(answer["Responses"][1], json!({}));
    assert_eq!(answer["Responses"][0]["Item"]["sk"], json!({"N": "1"}));
}

#[tokio::test]
async fn a_malformed_statement_is_refused() {
    let trial = Trial::with_things().await;
    for wrong in [
        "",
        "SELECT",
        "SELECT * FROM",
        "DROP TABLE things",
        "SELECT * FROM things WHERE pk = 'a",
        "SELECT * FROM things WHERE pk = ?",
        "INSERT INTO things VALUE 'a'",
        "UPDATE things SET a = 1 WHERE pk = 'a'",
        "SELECT * FROM things WHERE pk = 'a' GROUP BY sk",
        &format!("SELECT * FROM things WHERE {}pk = 'a'", "(".repeat(4000)),
    ] {
        let (kind, _) = run(&trial, wrong, Json::Null).await.unwrap_err();
        assert_eq!(kind, "ValidationException", "{wrong}");
    }
    let (kind, _) = run(&trial, "SELECT * FROM nothing", Json::Null).await.unwrap_err();
    assert_eq!(kind, "ResourceNotFoundException");
}

#[tokio::test]
async fn a_global_index_can_be_read_only_for_its_own_attributes() {
    let trial = Trial::with_things().await;
    let item = json!({
        "pk": {"S": "a"}, "sk": {"N": "1"}, "kind": {"S": "k"}, "name": {"S": "n"},
        "rest": {"S": "r"},
    });
    trial.put(item).await;
    let held = "SELECT name, sk FROM things.\"by-kind\" WHERE kind = 'k'";
    let held = run(&trial, held, Json::Null).await.unwrap();
    assert_eq!(held["Items"], json!([{"name": {"S": "n"}, "sk": {"N": "1"}}]));
    let missing = "SELECT name, rest FROM things.\"by-kind\" WHERE kind = 'k'";
    let (kind, message) = run(&trial, missing, Json::Null).await.unwrap_err();
    assert_eq!(kind, "ValidationException");
    assert!(message.ends_with("index by-kind does not project [rest]"), "{message}");
}

#[tokio::test]
async fn statements_of_the_wrong_number_length_or_mixture_are_refused_in_dynamodbs_words() {
    let trial = Trial::with_things().await;
    let statements =
        |all: &[&str]| -> Vec<Json> { all.iter().map(|text| json!({"Statement": text})).collect() };
    let read = "SELECT * FROM things WHERE pk = 'a' AND sk = 1";
    let write = "INSERT INTO things VALUE {'pk': 'a', 'sk': 2}";
    let long = "x".repeat(8193);
    let begin = "1 validation error detected: Value";
    let at_least =
        "failed to satisfy constraint: Member must have length greater than or equal to 1";
    for (operation, request, words) in [
        (
            "BatchExecuteStatement",
            json!({"Statements": []}),
            format!("{begin} '[]' at 'statements' {at_least}"),
        ),
        (
            "ExecuteTransaction",
            json!({"TransactStatements": []}),
            format!("{begin} '[]' at 'transactStatements' {at_least}"),
        ),
        (
            "ExecuteTransaction",
            json!({"TransactStatements": statements(&[read, write])}),
            "ExecuteTransaction API does not support both read and write operations in the same \
             request."
                .to_owned(),
        ),
        (
            "ExecuteStatement",
            json!({"Statement": ""}),
            format!("{begin} '' at 'statement' {at_least}"),
        ),
        (
            "ExecuteStatement",
            json!({"Statement": long}),
            format!(
                "{begin} at 'statement' failed to satisfy constraint: Member must have length less \
                 than or equal to 8192"
            ),
        ),
    ] {
        let refused = trial.ask(operation, request).await.unwrap_err();
        assert_eq!(refused, ("ValidationException".to_owned(), words));
    }
}
