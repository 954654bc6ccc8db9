"""Sends, receives, publishes, schedules, and works in a session with stubs that were generated from the published proto
files, against the node at the address in the first argument."""
import sys
import time

import grpc
from transport.grpc import inspection_pb2, inspection_pb2_grpc, messages_pb2, messages_pb2_grpc, queues_pb2, queues_pb2_grpc
from transport.grpc import sessions_pb2, sessions_pb2_grpc, topics_pb2, topics_pb2_grpc


def receive(queues, queue):
    got = queues.Receive(queues_pb2.ReceiveRequest(queue=queue, max_messages=10, wait_seconds=5)).messages
    queues.Delete(queues_pb2.DeleteRequest(queue=queue, receipt_handles=[m.receipt_handle for m in got]))
    return got


def refused(code, call, request):
    try:
        call(request)
        sys.exit(f"{request} was not refused")
    except grpc.RpcError as refusal:
        assert refusal.code() == code, refusal


def scheduled(messages, inspection, queue):
    """Schedules a message for tomorrow, peeks at it and cancels it."""
    result = messages.ScheduleMessages(messages_pb2.ScheduleMessagesRequest(queue=queue, messages=[queues_pb2.OutgoingMessage(
        body="tomorrow", group_id="s", deduplication_id="s1", enqueue_at_ms=int(time.time() * 1000) + 86_400_000)])).results[0]
    peeked = messages.Peek(messages_pb2.PeekRequest(queue=queue)).messages
    assert [(m.message.body, m.state, m.message.sequence_number) for m in peeked] == [
        ("tomorrow", messages_pb2.MESSAGE_STATE_SCHEDULED, result.sequence_number)], peeked
    known = inspection.LookUpDeduplication(inspection_pb2.LookUpDeduplicationRequest(queue=queue, deduplication_id="s1"))
    assert known.known and known.message_id == result.message_id, known
    cancel = messages_pb2.CancelScheduledRequest(queue=queue, sequence_numbers=[result.sequence_number], forget_deduplication_id=True)
    cancelled, again = messages.CancelScheduled(cancel).outcomes, messages.CancelScheduled(cancel).outcomes
    assert len(cancelled) == 1 and not cancelled[0].HasField("failure"), cancelled
    assert [o.failure.reason for o in again] == ["MessageNotFound"], again


def in_session(queues, messages, sessions, inspection, queue):
    """Accepts a session, sets its state, settles its message, and loses the lock to a release."""
    queues.Send(queues_pb2.SendRequest(queue=queue, messages=[
        queues_pb2.OutgoingMessage(body="visit", group_id="patient", deduplication_id="v1")]))
    accept = sessions_pb2.AcceptSessionRequest(queue=queue, session_id="patient", lock_seconds=60)
    session = sessions.AcceptSession(accept).session
    refused(grpc.StatusCode.FAILED_PRECONDITION, sessions.AcceptSession, accept)
    sessions.SetSessionState(sessions_pb2.SetSessionStateRequest(queue=queue, session=session, state=b"waits"))
    kept = sessions.GetSessionState(sessions_pb2.GetSessionStateRequest(queue=queue, session=session))
    assert kept.state == b"waits", kept
    got = queues.Receive(queues_pb2.ReceiveRequest(queue=queue, max_messages=1, session=session)).messages
    assert [m.body for m in got] == ["visit"], got
    held = inspection.GetGroup(inspection_pb2.GetGroupRequest(queue=queue, group_id="patient"))
    assert (held.state, held.messages) == (inspection_pb2.GROUP_STATE_SESSION, 1), held
    settled = messages.Complete(messages_pb2.CompleteRequest(
        queue=queue, session=session, receipt_handles=[m.receipt_handle for m in got])).outcomes
    assert len(settled) == 1 and not settled[0].HasField("failure"), settled
    assert inspection.ReleaseGroup(inspection_pb2.ReleaseGroupRequest(queue=queue, group_id="patient")).session
    refused(grpc.StatusCode.ABORTED, sessions.RenewSession, sessions_pb2.RenewSessionRequest(queue=queue, session=session))


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
        published = [topics_pb2.TopicMessage(message=f"m{i}", group_id="g", deduplication_id=f"p{i}") for i in range(3)]
        answers = topics.PublishStream(iter([opened, topics_pb2.PublishStreamRequest(first_number=1, messages=published)]))
        results = [r for answer in answers for r in answer.results]
        assert len(results) == 3 and not any(r.HasField("failure") or r.duplicate for r in results), results
        got = [m.body for m in receive(queues, queue)]
        assert got == ["m0", "m1", "m2"], got
        refused(grpc.StatusCode.NOT_FOUND, topics.Publish, topics_pb2.PublishRequest(topic="none.fifo", messages=published[:1]))

        messages, sessions = messages_pb2_grpc.MessagesStub(channel), sessions_pb2_grpc.SessionsStub(channel)
        inspection = inspection_pb2_grpc.InspectionStub(channel)
        scheduled(messages, inspection, queue)
        in_session(queues, messages, sessions, inspection, queue)
    print("python stubs: sent, received, published over a stream, scheduled, worked in a session")


main()
