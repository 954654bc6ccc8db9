import boto3

from case import CERTIFICATE, ENDPOINTS, RUN, bodies, case, ids, message, same, true


def both(t):
    """Creates a queue, and returns its path and a client of SQS for it."""
    path = t.queue(f"sqs-{t.api}-{RUN}-{next(ids)}", requires_session=True, requires_duplicate_detection=True)
    endpoint = ENDPOINTS[t.number % len(ENDPOINTS)]
    client = boto3.client("sqs", endpoint_url=f"{'https' if CERTIFICATE else 'http'}://{endpoint}", verify=CERTIFICATE)
    return path, client, client.get_queue_url(QueueName=path + ".fifo")["QueueUrl"]


@case
async def from_service_bus_to_sqs(t):
    path, sqs, url = both(t)
    for id in "a", "b", "a":
        await t.send(path, message(f"body {id}", message_id=id, session_id="s", application_properties={"n": 7, "t": "text"}))
    again = sqs.send_message(QueueUrl=url, MessageBody="again", MessageGroupId="s", MessageDeduplicationId="b")
    got = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, AttributeNames=["All"], MessageAttributeNames=["All"])["Messages"]
    same([(m["Body"], m["Attributes"]["MessageDeduplicationId"], m["Attributes"]["MessageGroupId"]) for m in got],
         [("body a", "a", "s"), ("body b", "b", "s")], "messages")
    same(again["MessageId"], got[1]["MessageId"], "the id of the duplicate")
    same({n: (a["DataType"].partition(".")[0], a["StringValue"]) for n, a in got[0]["MessageAttributes"].items()},
         {"n": ("Number", "7"), "t": ("String", "text")}, "attributes")
    for m in got:
        sqs.delete_message(QueueUrl=url, ReceiptHandle=m["ReceiptHandle"])
    same(await t.drain(path, 0, session_id="s"), [], "messages left")


@case
async def from_sqs_to_service_bus(t):
    path, sqs, url = both(t)
    for id in "a", "b", "a":
        sqs.send_message(QueueUrl=url, MessageBody=f"body {id}", MessageGroupId="s", MessageDeduplicationId=id, MessageAttributes={
            "n": {"DataType": "Number", "StringValue": "7"}, "t": {"DataType": "String", "StringValue": "text"}})
    await t.send(path, message("again", message_id="b", session_id="s"))
    got = await t.drain(path, 2, session_id="s")
    same(bodies(got), ["body a", "body b"], "bodies")
    same([(m.message_id, m.session_id) for m in got], [("a", "s"), ("b", "s")], "ids")
    same({(n.decode(), v if isinstance(v, int) else v.decode()) for n, v in got[0].application_properties.items()},
         {("n", 7), ("t", "text")}, "properties")
    true("Messages" not in sqs.receive_message(QueueUrl=url), "a completed message is received")


@case
async def bytes_to_sqs(t):
    path, sqs, url = both(t)
    await t.send(path, message(b"\x00\xff", session_id="s"))
    (got,) = sqs.receive_message(QueueUrl=url, MessageAttributeNames=["seriatim.BodyEncoding"])["Messages"]
    same((got["Body"], got["MessageAttributes"]["seriatim.BodyEncoding"]["StringValue"]), ("AP8=", "base64"), "the message")
