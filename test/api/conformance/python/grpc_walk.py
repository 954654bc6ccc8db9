"""Sends, receives and publishes with stubs that were generated from the published proto
files, against the node at the address in the first argument."""
import sys

import grpc
from transport.grpc import queues_pb2, queues_pb2_grpc, topics_pb2, topics_pb2_grpc


def receive(queues, queue):
    got = queues.Receive(queues_pb2.ReceiveRequest(queue=queue, max_messages=10, wait_seconds=5)).messages
    queues.Delete(queues_pb2.DeleteRequest(queue=queue, receipt_handles=[m.receipt_handle for m in got]))
    return got


def main():
    with grpc.insecure_channel(sys.argv[1]) as channel:
        queues, topics = queues_pb2_grpc.QueuesStub(channel), topics_pb2_grpc.TopicsStub(channel)
        queue, topic = "stubs-python.fifo", "stubs-python.fifo"
        queues.CreateQueue(queues_pb2.CreateQueueRequest(queue=queue, attributes={"FifoQueue": "true"}))
        sent = queues.Send(queues_pb2.SendRequest(queue=queue, messages=[
            queues_pb2.OutgoingMessage(body="first", group_id="g", deduplication_id="1"),
            queues_pb2.OutgoingMessage(body="again", group_id="g", deduplication_id="1"),
        ])).results
        assert [r.duplicate for r in sent] == [False, True] and sent[0].message_id == sent[1].message_id, sent
        assert [m.body for m in receive(queues, queue)] == ["first"]

        topics.CreateTopic(topics_pb2.CreateTopicRequest(topic=topic, attributes={"FifoTopic": "true"}))
        topics.Subscribe(topics_pb2.SubscribeRequest(topic=topic, queue=queue, attributes={"RawMessageDelivery": "true"}))
        opened = topics_pb2.PublishStreamRequest(topic=topic)
        messages = [topics_pb2.TopicMessage(message=f"m{i}", group_id="g", deduplication_id=f"p{i}") for i in range(3)]
        answers = topics.PublishStream(iter([opened, topics_pb2.PublishStreamRequest(first_number=1, messages=messages)]))
        results = [r for answer in answers for r in answer.results]
        assert len(results) == 3 and not any(r.HasField("failure") or r.duplicate for r in results), results
        got = [m.body for m in receive(queues, queue)]
        assert got == ["m0", "m1", "m2"], got
        try:
            topics.Publish(topics_pb2.PublishRequest(topic="none.fifo", messages=messages[:1]))
            sys.exit("a topic that does not exist was published to")
        except grpc.RpcError as refused:
            assert refused.code() == grpc.StatusCode.NOT_FOUND, refused
    print("python stubs: sent, received, published over a stream")


main()
