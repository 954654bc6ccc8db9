"""Makes every kind of call to the SQS and SNS APIs with boto3, and checks digests. Any
warning is an error. Works with clients of the JSON protocol and with older ones of the
Query protocol."""

import hashlib
import itertools
import json
import logging
import os
import struct
import sys
import time
import uuid
import warnings

import boto3
import botocore
from botocore.exceptions import ClientError

RUN = uuid.uuid4().hex[:8]
ACCOUNT = "000000000000"


class Complaints(logging.Handler):
    """Collects warnings and errors that the client library logs."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.lines = []

    def emit(self, record):
        self.lines.append(f"{record.name}: {record.getMessage()}")


def attribute_digest(attributes):
    """Returns the MD5 of message attributes, computed as the API documentation says."""
    buffer = b""

    def field(data):
        return struct.pack(">I", len(data)) + data

    for name in sorted(attributes):
        kind = attributes[name]["DataType"]
        buffer += field(name.encode()) + field(kind.encode())
        if kind.startswith("Binary"):
            buffer += b"\x02" + field(attributes[name]["BinaryValue"])
        else:
            buffer += b"\x01" + field(attributes[name]["StringValue"].encode())
    return hashlib.md5(buffer).hexdigest()


def body_digest(body):
    return hashlib.md5(body.encode()).hexdigest()


def same(got, want, what):
    if got != want:
        raise AssertionError(f"{what}: got {got!r}, want {want!r}")


def refused(code, call, **arguments):
    try:
        call(**arguments)
    except ClientError as error:
        same(error.response["Error"]["Code"], code, "error code")
        return
    raise AssertionError(f"accepted, want {code}")


def wait_for(what, check):
    for _ in range(300):
        result = check()
        if result:
            return result
        time.sleep(0.1)
    raise AssertionError(f"never: {what}")


class Walk:
    def __init__(self, region="us-east-1"):
        endpoints = os.environ.get("SERIATIM_ENDPOINTS", os.environ["AWS_ENDPOINT_URL"]).split()
        clients = [boto3.client("sqs", endpoint_url=e, region_name=region) for e in endpoints]
        self.turn = itertools.cycle(clients)
        self.topic_turn = itertools.cycle([boto3.client("sns", endpoint_url=e, region_name="us-east-1") for e in endpoints])

    @property
    def sqs(self):
        """The client of the next node."""
        return next(self.turn)

    @property
    def sns(self):
        """The client of the next node, for topics."""
        return next(self.topic_turn)

    def create(self, name, **attributes):
        return self.sqs.create_queue(QueueName=f"{name}-{RUN}.fifo", Attributes={"FifoQueue": "true", **attributes})["QueueUrl"]

    @staticmethod
    def arn(url):
        return f"arn:aws:sqs:us-east-1:{ACCOUNT}:{url.rsplit('/', 1)[1]}"

    def counts(self, url):
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        got = self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
        return [int(got[name]) for name in names]

    def messages(self):
        url = self.create("walk")
        same(self.sqs.get_queue_url(QueueName=url.rsplit("/", 1)[1])["QueueUrl"].rsplit("/", 2)[1:], url.rsplit("/", 2)[1:], "queue URL")
        attributes = {
            "text": {"DataType": "String", "StringValue": "é <&> \r\n"},
            "number": {"DataType": "Number.int", "StringValue": "42"},
            "bytes": {"DataType": "Binary", "BinaryValue": bytes(range(256))},
        }
        body = 'first "body" é \r\n\t \U0001f600'
        send = dict(QueueUrl=url, MessageBody=body, MessageGroupId="g", MessageDeduplicationId="1", MessageAttributes=attributes)
        sent = self.sqs.send_message(**send)
        same(sent["MD5OfMessageBody"], body_digest(body), "digest of the body")
        same(sent["MD5OfMessageAttributes"], attribute_digest(attributes), "digest of the attributes")
        again = self.sqs.send_message(**send)
        same((again["MessageId"], again["SequenceNumber"]), (sent["MessageId"], sent["SequenceNumber"]), "answer to the duplicate")

        receive = dict(QueueUrl=url, AttributeNames=["All"], MessageAttributeNames=["All"], WaitTimeSeconds=10, ReceiveRequestAttemptId="A")
        first = self.sqs.receive_message(**receive)["Messages"]
        same(self.sqs.receive_message(**receive)["Messages"], first, "receive with the same attempt id")
        message = first[0]
        same((message["Body"], message["MD5OfBody"]), (body, body_digest(body)), "body")
        same(message["MessageAttributes"], attributes, "attributes")
        same(message["MD5OfMessageAttributes"], attribute_digest(attributes), "digest of the attributes received")
        same(message["Attributes"]["SequenceNumber"], sent["SequenceNumber"], "sequence number")
        same("Messages" in self.sqs.receive_message(QueueUrl=url), False, "messages while the group is blocked")

        self.sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=0)
        message = self.sqs.receive_message(QueueUrl=url, WaitTimeSeconds=10)["Messages"][0]
        self.sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        same(self.counts(url), [0, 0], "messages after the delete")
        same(self.sqs.send_message(**send)["MessageId"], sent["MessageId"], "answer to the duplicate after the delete")
        return url

    def batches(self, url):
        entries = [
            {"Id": f"e{i}", "MessageBody": f"m{i}", "MessageGroupId": f"g{i % 2}", "MessageDeduplicationId": f"b{i}"} for i in range(10)
        ]
        sent = self.sqs.send_message_batch(QueueUrl=url, Entries=entries)
        same((len(sent["Successful"]), "Failed" in sent), (10, False), "batch send")
        for result, entry in zip(sent["Successful"], entries):
            same((result["Id"], result["MD5OfMessageBody"]), (entry["Id"], body_digest(entry["MessageBody"])), "batch entry")
        got = self.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=10)["Messages"]
        same([m["Body"] for m in got], [f"m{i}" for i in (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)], "order by group")
        handles = [{"Id": str(i), "ReceiptHandle": m["ReceiptHandle"]} for i, m in enumerate(got)]
        hidden = self.sqs.change_message_visibility_batch(QueueUrl=url, Entries=[{**h, "VisibilityTimeout": 60} for h in handles])
        same(len(hidden["Successful"]), 10, "batch change of visibility")
        handles[9]["ReceiptHandle"] = "garbage"
        removed = self.sqs.delete_message_batch(QueueUrl=url, Entries=handles)
        same((len(removed["Successful"]), [f["Code"] for f in removed["Failed"]]), (9, ["ReceiptHandleIsInvalid"]), "batch delete")
        self.sqs.purge_queue(QueueUrl=url)
        same(self.counts(url), [0, 0], "messages after the purge")

    def settings(self, url):
        self.sqs.tag_queue(QueueUrl=url, Tags={"team": "payments", "stage": "test"})
        self.sqs.untag_queue(QueueUrl=url, TagKeys=["stage"])
        same(self.sqs.list_queue_tags(QueueUrl=url)["Tags"], {"team": "payments"}, "tags")
        self.sqs.set_queue_attributes(QueueUrl=url, Attributes={"VisibilityTimeout": "41"})
        got = self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
        same((got["VisibilityTimeout"], got["QueueArn"], got["FifoQueue"]), ("41", self.arn(url), "true"), "attributes of the queue")
        self.sqs.add_permission(QueueUrl=url, Label="L", AWSAccountIds=["111122223333"], Actions=["SendMessage"])
        policy = json.loads(self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["Policy"])["Attributes"]["Policy"])
        same([s["Sid"] for s in policy["Statement"]], ["L"], "statements of the policy")
        self.sqs.remove_permission(QueueUrl=url, Label="L")
        listed = [u.rsplit("/", 1)[1] for u in self.sqs.list_queues(QueueNamePrefix=f"walk-{RUN}")["QueueUrls"]]
        same(listed, [url.rsplit("/", 1)[1]], "queues by prefix")
        pages = self.sqs.get_paginator("list_queues").paginate(QueueNamePrefix="walk-", PaginationConfig={"PageSize": 1})
        same(any(url.rsplit("/", 1)[1] in u for page in pages for u in page.get("QueueUrls", [])), True, "queue in the pages")

    def redrive(self):
        dead = self.create("dead")
        policy = json.dumps({"deadLetterTargetArn": self.arn(dead), "maxReceiveCount": 1})
        source = self.create("source", RedrivePolicy=policy, VisibilityTimeout="0", ContentBasedDeduplication="true")
        sources = self.sqs.list_dead_letter_source_queues(QueueUrl=dead)["queueUrls"]
        same([u.rsplit("/", 1)[1] for u in sources], [source.rsplit("/", 1)[1]], "sources of the dead-letter queue")
        sent = self.sqs.send_message(QueueUrl=source, MessageBody="poison", MessageGroupId="g")
        self.sqs.receive_message(QueueUrl=source, WaitTimeSeconds=10)
        same("Messages" in self.sqs.receive_message(QueueUrl=source), False, "messages after the last receive")
        moved = self.sqs.receive_message(QueueUrl=dead, VisibilityTimeout=0, WaitTimeSeconds=10)["Messages"][0]
        same((moved["Body"], moved["MessageId"]), ("poison", sent["MessageId"]), "message in the dead-letter queue")
        started = self.sqs.start_message_move_task(SourceArn=self.arn(dead))
        same(bool(started["TaskHandle"]), True, "task handle")

        def completed():
            task = self.sqs.list_message_move_tasks(SourceArn=self.arn(dead))["Results"][0]
            return task if task["Status"] == "COMPLETED" else None

        same(wait_for("the move task completes", completed)["ApproximateNumberOfMessagesMoved"], 1, "messages moved")
        same(self.counts(source), [1, 0], "messages back in the source")
        refused("ResourceNotFoundException", self.sqs.cancel_message_move_task, TaskHandle=self.handle_of_nobody(dead))
        return dead, source

    def topics(self):
        queue, dead = self.create("subscribed"), self.create("undelivered")
        topic = self.sns.create_topic(
            Name=f"walk-{RUN}.fifo",
            Attributes={"FifoTopic": "true", "ContentBasedDeduplication": "true"},
            Tags=[{"Key": "team", "Value": "payments"}, {"Key": "stage", "Value": "test"}],
        )["TopicArn"]
        same(topic, f"arn:aws:sns:us-east-1:{ACCOUNT}:walk-{RUN}.fifo", "ARN of the topic")
        self.sns.set_topic_attributes(TopicArn=topic, AttributeName="DisplayName", AttributeValue="é")
        got = self.sns.get_topic_attributes(TopicArn=topic)["Attributes"]
        same((got["DisplayName"], got["FifoTopic"], got["Owner"]), ("é", "true", ACCOUNT), "attributes of the topic")
        self.sns.untag_resource(ResourceArn=topic, TagKeys=["stage"])
        self.sns.tag_resource(ResourceArn=topic, Tags=[{"Key": "owner", "Value": "é"}])
        tags = self.sns.list_tags_for_resource(ResourceArn=topic)["Tags"]
        same({t["Key"]: t["Value"] for t in tags}, {"team": "payments", "owner": "é"}, "tags of the topic")
        same(topic in [t["TopicArn"] for p in self.sns.get_paginator("list_topics").paginate() for t in p["Topics"]], True, "topic in the pages")
        self.sns.add_permission(TopicArn=topic, Label="L", AWSAccountId=["111122223333"], ActionName=["Publish"])
        self.sns.remove_permission(TopicArn=topic, Label="L")
        self.sns.put_data_protection_policy(ResourceArn=topic, DataProtectionPolicy="{}")
        same(self.sns.get_data_protection_policy(ResourceArn=topic)["DataProtectionPolicy"], "{}", "data protection policy")

        subscription = self.sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=self.arn(queue), Attributes={"FilterPolicy": '{"k": ["v"]}'})["SubscriptionArn"]
        redrive = json.dumps({"deadLetterTargetArn": self.arn(dead)})
        self.sns.set_subscription_attributes(SubscriptionArn=subscription, AttributeName="RedrivePolicy", AttributeValue=redrive)
        got = self.sns.get_subscription_attributes(SubscriptionArn=subscription)["Attributes"]
        same((got["Endpoint"], got["PendingConfirmation"], got["FilterPolicyScope"]), (self.arn(queue), "false", "MessageAttributes"), "attributes of the subscription")
        listed = self.sns.list_subscriptions_by_topic(TopicArn=topic)["Subscriptions"]
        same([s["SubscriptionArn"] for s in listed], [subscription], "subscriptions of the topic")
        pages = self.sns.get_paginator("list_subscriptions").paginate()
        same(any(s["SubscriptionArn"] == subscription for p in pages for s in p["Subscriptions"]), True, "subscription in the pages")
        self.publishes(topic, subscription, queue)
        refused("InvalidParameter", self.sns.confirm_subscription, TopicArn=topic, Token="x")
        self.sns.unsubscribe(SubscriptionArn=subscription)
        self.sns.delete_topic(TopicArn=topic)
        try:
            self.sns.get_topic_attributes(TopicArn=topic)
        except self.sns.exceptions.NotFoundException:
            return queue, dead
        raise AssertionError("the typed exception was not raised")

    def publishes(self, topic, subscription, queue):
        attributes = {"k": {"DataType": "String", "StringValue": "v"}, "b": {"DataType": "Binary", "BinaryValue": bytes(range(256))}}
        message = dict(TopicArn=topic, Message='body "é" \r\n \U0001f600', Subject="about", MessageGroupId="g", MessageAttributes=attributes)
        first = self.sns.publish(**message)
        again = self.sns.publish(**message)
        same((again["MessageId"], again["SequenceNumber"]), (first["MessageId"], first["SequenceNumber"]), "answer to the duplicate")
        self.sns.publish(TopicArn=topic, Message="filtered out", MessageGroupId="g")
        got = self.sqs.receive_message(QueueUrl=queue, WaitTimeSeconds=10, MaxNumberOfMessages=10)["Messages"]
        same(len(got), 1, "messages that pass the filter")
        body = json.loads(got[0]["Body"])
        same((body["MessageId"], body["Message"], body["Subject"], body["TopicArn"]), (first["MessageId"], message["Message"], "about", topic), "envelope")
        self.sqs.delete_message(QueueUrl=queue, ReceiptHandle=got[0]["ReceiptHandle"])

        self.sns.set_subscription_attributes(SubscriptionArn=subscription, AttributeName="FilterPolicy", AttributeValue="{}")
        self.sns.set_subscription_attributes(SubscriptionArn=subscription, AttributeName="RawMessageDelivery", AttributeValue="true")
        entries = [{"Id": f"e{i}", "Message": f"m{i}", "MessageGroupId": "g", "MessageDeduplicationId": f"d{i}"} for i in range(10)]
        sent = self.sns.publish_batch(TopicArn=topic, PublishBatchRequestEntries=entries)
        same(([e["Id"] for e in sent["Successful"]], sent["Failed"]), ([e["Id"] for e in entries], []), "batch")
        got = self.sqs.receive_message(QueueUrl=queue, WaitTimeSeconds=10, MaxNumberOfMessages=10)["Messages"]
        same([m["Body"] for m in got], [e["Message"] for e in entries], "raw messages")
        refused("InvalidParameter", self.sns.publish, TopicArn=topic, Message="m")
        refused("BatchEntryIdsNotDistinct", self.sns.publish_batch, TopicArn=topic, PublishBatchRequestEntries=[entries[0], entries[0]])

    def handle_of_nobody(self, source):
        import base64

        text = json.dumps({"taskId": str(uuid.uuid4()), "sourceArn": self.arn(source)})
        return base64.b64encode(text.encode()).decode()

    def yandex(self):
        """Checks where Yandex Message Queue differs from AWS, and its duplicates."""
        url = self.create("yandex", CompatibilityProfile="ymq")
        got = self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
        same((got["MaxMessagesPerGroupPerReceive"], got["ReceiveCompatibility"]), ("1", "ymq"), "presets")
        send = dict(QueueUrl=url, MessageGroupId="a", MessageDeduplicationId="1")
        sent = self.sqs.send_message(MessageBody="a1", **send)
        again = self.sqs.send_message(MessageBody="other", **send)
        same((again["MessageId"], again["SequenceNumber"]), (sent["MessageId"], sent["SequenceNumber"]), "answer to the duplicate")
        same(again["MD5OfMessageBody"], body_digest("other"), "digest in the answer to the duplicate")
        for group, body in (("a", "a2"), ("b", "b1"), ("b", "b2")):
            self.sqs.send_message(QueueUrl=url, MessageBody=body, MessageGroupId=group, MessageDeduplicationId=body)

        receive = dict(QueueUrl=url, MaxNumberOfMessages=10, AttributeNames=["All"], ReceiveRequestAttemptId="A")
        first = self.sqs.receive_message(WaitTimeSeconds=10, **receive)["Messages"]
        same([m["Body"] for m in first], ["a1", "b1"], "one message of each group")
        same(self.sqs.receive_message(**receive)["Messages"], first, "receive with the same attempt id")
        self.sqs.delete_message(QueueUrl=url, ReceiptHandle=first[0]["ReceiptHandle"])
        # The delete ended the attempt. A receive with its id starts another one; AWS refuses it.
        again = self.sqs.receive_message(**receive)["Messages"]
        same([m["Body"] for m in again], ["a2"], "an ordinary receive")

        self.sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=again[0]["ReceiptHandle"], VisibilityTimeout=0)
        taken = self.sqs.receive_message(QueueUrl=url, VisibilityTimeout=0, WaitTimeSeconds=10)["Messages"]
        same([m["Body"] for m in taken], ["a2"], "message that was let go")
        self.sqs.delete_message(QueueUrl=url, ReceiptHandle=taken[0]["ReceiptHandle"])
        same(self.counts(url), [1, 1], "messages after a delete with an expired handle")
        self.sqs.purge_queue(QueueUrl=url)
        same(self.sqs.send_message(MessageBody="a1", **send)["MessageId"], sent["MessageId"], "answer to the duplicate after the purge")
        refused("InvalidParameterValue", self.sqs.send_message, QueueUrl=url, MessageBody="m", MessageGroupId="g")
        refused("InvalidParameterValue", self.sqs.send_message, **{**send, "MessageBody": "m", "MessageDeduplicationId": "1" * 129})
        return url

    def refusals(self, url):
        gone = self.create("gone")
        self.sqs.delete_queue(QueueUrl=gone)
        refused("AWS.SimpleQueueService.NonExistentQueue", self.sqs.send_message, QueueUrl=gone, MessageBody="m", MessageGroupId="g")
        refused("InvalidParameterValue", self.sqs.send_message, QueueUrl=url, MessageBody="m", MessageGroupId="g")
        refused("MissingParameter", self.sqs.send_message, QueueUrl=url, MessageBody="m", MessageDeduplicationId="x")
        refused("AWS.SimpleQueueService.EmptyBatchRequest", self.sqs.send_message_batch, QueueUrl=url, Entries=[])
        try:
            self.sqs.get_queue_url(QueueName="never-created")
        except self.sqs.exceptions.QueueDoesNotExist:
            return
        raise AssertionError("the typed exception was not raised")


def main():
    complaints = Complaints()
    logging.getLogger().addHandler(complaints)
    warnings.simplefilter("error")
    walk = Walk()
    url = walk.messages()
    walk.batches(url)
    walk.settings(url)
    dead, source = walk.redrive()
    walk.refusals(url)
    subscribed, undelivered = walk.topics()
    yandex = Walk("ru-central1").yandex()
    for queue in (url, dead, source, subscribed, undelivered, yandex):
        walk.sqs.delete_queue(QueueUrl=queue)
    same(complaints.lines, [], "warnings of the client")
    print(f"boto3 {boto3.__version__}, botocore {botocore.__version__}: all steps passed")


if __name__ == "__main__":
    sys.exit(main())
