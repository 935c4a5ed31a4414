"""DynamoDB's own library, boto3, at the DynamoDB endpoint: a tour of what programs do with it."""

import sys
from decimal import Decimal

import boto3
from boto3.dynamodb.conditions import Attr, Key
from botocore.exceptions import ClientError

endpoint, key_id, secret = sys.argv[1:]


def connect(secret):
    return dict(
        endpoint_url=endpoint,
        region_name="us-east-1",
        aws_access_key_id=key_id,
        aws_secret_access_key=secret,
    )


def refused(call, code, **parameters):
    try:
        call(**parameters)
    except ClientError as error:
        assert error.response["Error"]["Code"] == code, error
        return error.response
    raise AssertionError(f"{code} was expected")


resource = boto3.resource("dynamodb", **connect(secret))
client = resource.meta.client
refused(boto3.client("dynamodb", **connect("wrong")).list_tables, "InvalidSignatureException")

table = resource.create_table(
    TableName="scores",
    KeySchema=[
        {"AttributeName": "game", "KeyType": "HASH"},
        {"AttributeName": "user", "KeyType": "RANGE"},
    ],
    AttributeDefinitions=[
        {"AttributeName": "game", "AttributeType": "S"},
        {"AttributeName": "user", "AttributeType": "S"},
        {"AttributeName": "score", "AttributeType": "N"},
    ],
    LocalSecondaryIndexes=[
        {
            "IndexName": "by-score",
            "KeySchema": [
                {"AttributeName": "game", "KeyType": "HASH"},
                {"AttributeName": "score", "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
    BillingMode="PAY_PER_REQUEST",
    StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
)
table.wait_until_exists()
refused(client.create_table, "ResourceInUseException", TableName="scores", BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "game", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "game", "AttributeType": "S"}])

with table.batch_writer() as batch:
    for number in range(60):
        batch.put_item(Item={"game": "tetris", "user": f"u{number:02}", "score": number, "tags": {"a", "b"},
                             "shape": {"cells": [1, Decimal("2.5"), None, True, b"\x00\xff"]}})

best = table.query(IndexName="by-score", KeyConditionExpression=Key("game").eq("tetris") & Key("score").gte(50),
                   FilterExpression=Attr("tags").contains("a"), ScanIndexForward=False, Limit=3)
assert [item["score"] for item in best["Items"]] == [59, 58, 57], best
item = table.get_item(Key={"game": "tetris", "user": "u07"}, ConsistentRead=True)["Item"]
assert item["shape"]["cells"][1] == Decimal("2.5") and item["tags"] == {"a", "b"}, item
counted = table.update_item(Key={"game": "tetris", "user": "u07"}, UpdateExpression="ADD plays :one SET #s = :s",
                            ExpressionAttributeNames={"#s": "score"},
                            ExpressionAttributeValues={":one": 1, ":s": 70}, ReturnValues="UPDATED_NEW")
assert counted["Attributes"] == {"plays": 1, "score": 70}, counted
refused(table.put_item, "ConditionalCheckFailedException", Item={"game": "tetris", "user": "u07"},
        ConditionExpression=Attr("game").not_exists())
pages = client.get_paginator("scan").paginate(TableName="scores", PaginationConfig={"PageSize": 7})
assert sum(page["Count"] for page in pages) == 60
put = {"Put": {"TableName": "scores", "Item": {"game": "tetris", "user": "u07"},
               "ConditionExpression": "attribute_not_exists(game)"}}
canceled = refused(client.transact_write_items, "TransactionCanceledException", TransactItems=[put])
assert canceled["CancellationReasons"][0]["Code"] == "ConditionalCheckFailed", canceled
client.update_time_to_live(TableName="scores", TimeToLiveSpecification={"AttributeName": "ends", "Enabled": True})

client.execute_statement(Statement="INSERT INTO \"scores\" VALUE {'game': 'go', 'user': ?, 'score': ?}",
                         Parameters=["u01", 9])
refused(client.execute_statement, "DuplicateItemException",
        Statement="INSERT INTO scores VALUE {'game': 'go', 'user': 'u01'}")
updated = client.execute_statement(
    Statement="UPDATE scores SET score = score + 1 WHERE game = 'go' AND \"user\" = 'u01' RETURNING ALL NEW *")
assert updated["Items"][0]["score"] == 10, updated
best = client.execute_statement(
    Statement="SELECT \"user\" FROM \"scores\".\"by-score\" WHERE game = 'tetris' AND score >= 58 ORDER BY score DESC")
assert [item["user"] for item in best["Items"]] == ["u07", "u59", "u58"], best
pages, token = [], {}
while True:
    page = client.execute_statement(Statement="SELECT * FROM scores WHERE game = 'tetris'", Limit=25, **token)
    pages.append(len(page["Items"]))
    if "NextToken" not in page:
        break
    token = {"NextToken": page["NextToken"]}
assert pages == [25, 25, 10], pages
batch = client.batch_execute_statement(Statements=[
    {"Statement": "SELECT * FROM scores WHERE game = 'go' AND \"user\" = 'u01'"},
    {"Statement": "SELECT * FROM scores WHERE game = 'go'"}])["Responses"]
assert batch[0]["Item"]["score"] == 10 and batch[1]["Error"]["Code"] == "ValidationError", batch
client.execute_transaction(TransactStatements=[
    {"Statement": "EXISTS(SELECT * FROM scores WHERE game = 'go' AND \"user\" = 'u01' AND score = 10)"},
    {"Statement": "DELETE FROM scores WHERE game = 'tetris' AND \"user\" = 'u59'"}])
client.execute_statement(Statement="DELETE FROM scores WHERE game = 'go' AND \"user\" = 'u01'")

streams = boto3.client("dynamodbstreams", **connect(secret))
arn = streams.list_streams(TableName="scores")["Streams"][0]["StreamArn"]
shard = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"][0]["ShardId"]
iterator = streams.get_shard_iterator(StreamArn=arn, ShardId=shard, ShardIteratorType="TRIM_HORIZON")
records = streams.get_records(ShardIterator=iterator["ShardIterator"])["Records"]
names = ["INSERT"] * 60 + ["MODIFY", "INSERT", "MODIFY", "REMOVE", "REMOVE"]
assert [record["eventName"] for record in records] == names, records
described = client.describe_table(TableName="scores")["Table"]
assert described["ItemCount"] == described["LocalSecondaryIndexes"][0]["ItemCount"] == 59, described

backup = client.create_backup(TableName="scores", BackupName="evening")["BackupDetails"]["BackupArn"]
enabled = {"PointInTimeRecoveryEnabled": True}
client.update_continuous_backups(TableName="scores", PointInTimeRecoverySpecification=enabled)
told = client.describe_continuous_backups(TableName="scores")["ContinuousBackupsDescription"]
told = told["PointInTimeRecoveryDescription"]
assert told["EarliestRestorableDateTime"] <= told["LatestRestorableDateTime"], told
instant = told["LatestRestorableDateTime"]
table.delete_item(Key={"game": "tetris", "user": "u00"})
client.restore_table_from_backup(TargetTableName="from-backup", BackupArn=backup)
client.restore_table_to_point_in_time(SourceTableName="scores", TargetTableName="latest",
                                      UseLatestRestorableTime=True)
client.restore_table_to_point_in_time(SourceTableName="scores", TargetTableName="instant", RestoreDateTime=instant)
counts = {name: client.scan(TableName=name, Select="COUNT")["Count"]
          for name in ["scores", "from-backup", "latest", "instant"]}
assert counts == {"scores": 58, "from-backup": 59, "latest": 58, "instant": 59}, counts
listed = client.list_backups(TableName="scores")["BackupSummaries"]
assert [one["BackupName"] for one in listed] == ["evening"], listed
details = client.describe_backup(BackupArn=backup)["BackupDescription"]["SourceTableDetails"]
assert details["ItemCount"] == 59, details
client.delete_backup(BackupArn=backup)
refused(client.describe_backup, "BackupNotFoundException", BackupArn=backup)
print("boto3 is content")
