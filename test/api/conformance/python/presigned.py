"""Sends requests that botocore signs in other ways than boto3's SQS client does: presigned
URLs, an unsigned payload and a session token. Also sends each request with a change, which
must be refused. Needs a cluster with auth, and its key in the environment."""

import datetime
import os
import urllib.error
import urllib.parse
import urllib.request

from botocore.auth import SigV4Auth, SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

ENDPOINT = os.environ["AWS_ENDPOINT_URL"]
KEY, SECRET = os.environ["AWS_ACCESS_KEY_ID"], os.environ["AWS_SECRET_ACCESS_KEY"]


class UnsignedPayload(SigV4Auth):
    """Signs a request without its body."""

    def payload(self, request):
        return "UNSIGNED-PAYLOAD"

    def _modify_request_before_signing(self, request):
        super()._modify_request_before_signing(request)
        request.headers["X-Amz-Content-SHA256"] = "UNSIGNED-PAYLOAD"


def send(method, url, headers, body):
    request = urllib.request.Request(url, data=body, headers=dict(headers), method=method)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode()


def want(name, got, status, word):
    if got[0] != status or word not in got[1]:
        raise SystemExit(f"{name}: {got}, want {status} {word}")


def signed(auth, action, **parameters):
    body = urllib.parse.urlencode({"Action": action, "Version": "2012-11-05", **parameters}).encode()
    request = AWSRequest("POST", ENDPOINT + "/", data=body, headers={"Content-Type": "application/x-www-form-urlencoded"})
    auth.add_auth(request)
    return request, body


def presigned(seconds, action, **parameters):
    query = urllib.parse.urlencode({"Action": action, "Version": "2012-11-05", **parameters})
    request = AWSRequest("GET", ENDPOINT + "/?" + query)
    SigV4QueryAuth(Credentials(KEY, SECRET), "sqs", "us-east-1", seconds).add_auth(request)
    return request.url


def main():
    own = Credentials(KEY, SECRET)
    request, body = signed(UnsignedPayload(own, "sqs", "us-east-1"), "CreateQueue", QueueName="presigned.fifo", **{"Attribute.1.Name": "FifoQueue", "Attribute.1.Value": "true"})
    want("unsigned payload", send("POST", ENDPOINT + "/", request.headers, body), 200, "presigned.fifo")
    del request.headers["X-Amz-Content-SHA256"]
    want("payload said to be signed", send("POST", ENDPOINT + "/", request.headers, body), 403, "SignatureDoesNotMatch")

    request, body = signed(SigV4Auth(Credentials(KEY, SECRET, "a/session+token=="), "sqs", "us-east-1"), "ListQueues")
    want("session token", send("POST", ENDPOINT + "/", request.headers, body), 200, "presigned.fifo")
    want("another body", send("POST", ENDPOINT + "/", request.headers, body + b"&MaxResults=1"), 403, "SignatureDoesNotMatch")

    url = presigned(60, "ListQueues", QueueNamePrefix="pre signed+~/")
    want("presigned", send("GET", url, {}, None), 200, "ListQueuesResult")
    want("another prefix", send("GET", url.replace("pre%20signed", "post%20signed"), {}, None), 403, "SignatureDoesNotMatch")
    want("longer", send("GET", url.replace("X-Amz-Expires=60", "X-Amz-Expires=600"), {}, None), 403, "SignatureDoesNotMatch")
    want("another scope", send("GET", url.replace("us-east-1", "eu-west-1"), {}, None), 403, "SignatureDoesNotMatch")
    want("another key", send("GET", url.replace(KEY, "AKIANOBODYKNOWSTHIS0"), {}, None), 403, "InvalidClientTokenId")

    early = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(minutes=20)
    old = AWSRequest("GET", ENDPOINT + "/?Action=ListQueues")
    auth = SigV4QueryAuth(own, "sqs", "us-east-1", 60)
    old.context["timestamp"] = early.strftime("%Y%m%dT%H%M%SZ")
    auth._modify_request_before_signing(old)
    auth._inject_signature_to_request(old, auth.signature(auth.string_to_sign(old, auth.canonical_request(old)), old))
    want("expired", send("GET", old.url, {}, None), 403, "RequestExpired")

    queue = ENDPOINT + "/000000000000/presigned.fifo"
    want("delete", send("GET", presigned(60, "DeleteQueue", QueueUrl=queue), {}, None), 200, "DeleteQueueResponse")
    print("presigned: links, unsigned payloads and session tokens pass; what was changed is refused")


if __name__ == "__main__":
    main()
