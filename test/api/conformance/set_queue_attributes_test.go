package conformance

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSetQueueAttributesReadOnly(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		refused(t, c.trySet(t, c.std(t, nil), attrs{"QueueArn": "x"}), "InvalidAttributeName", "Unknown Attribute QueueArn.")
	})
}

func TestSetQueueAttributesAllOrNothing(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.std(t, nil)
		got := c.trySet(t, queue, attrs{"DelaySeconds": "5", "VisibilityTimeout": "43201"})
		refused(t, got, "InvalidAttributeValue", "Invalid value for the parameter VisibilityTimeout.")
		if now := c.attributes(t, queue, "DelaySeconds")["DelaySeconds"]; now != "0" {
			t.Errorf("DelaySeconds is %s, want 0", now)
		}
	})
}

func TestSetQueueAttributesEmptyPolicyRemoves(t *testing.T) {
	const policy = `{"Version":"2012-10-17","Statement":[]}`
	each(t, func(t *testing.T, c *client) {
		queue := c.std(t, nil)
		for _, first := range []bool{false, true} {
			if first {
				c.set(t, queue, attrs{"Policy": policy})
				if got := c.attributes(t, queue, "Policy")["Policy"]; got != policy {
					t.Errorf("Policy reads %q", got)
				}
			}
			c.set(t, queue, attrs{"Policy": ""})
			if got, found := c.attributes(t, queue, "All")["Policy"]; found {
				t.Errorf("Policy still reads %q", got)
			}
		}
	})
}

func TestSetQueueAttributesEmptyRedrivePolicyRemoves(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		target := c.std(t, nil)
		queue := c.std(t, attrs{"RedrivePolicy": redrive(target, 3)})
		if got := c.attributes(t, queue, "RedrivePolicy")["RedrivePolicy"]; got != redrive(target, 3) {
			t.Errorf("RedrivePolicy reads %q, want %q", got, redrive(target, 3))
		}
		for range 2 {
			c.set(t, queue, attrs{"RedrivePolicy": ""})
			if got, found := c.attributes(t, queue, "All")["RedrivePolicy"]; found {
				t.Errorf("RedrivePolicy still reads %q", got)
			}
		}
	})
}

func TestSetQueueAttributesEncryption(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.std(t, nil)
		refused(t, c.trySet(t, queue, attrs{"KmsMasterKeyId": "k", "SqsManagedSseEnabled": "true"}), "InvalidAttributeName",
			"You can use one type of server-side encryption (SSE) at one time. You can either enable KMS SSE or SQS SSE.")
		read := func() attrs {
			return c.attributes(t, queue, "KmsMasterKeyId", "KmsDataKeyReusePeriodSeconds", "SqsManagedSseEnabled")
		}
		c.set(t, queue, attrs{"KmsMasterKeyId": "k", "KmsDataKeyReusePeriodSeconds": "6000"})
		want := attrs{"KmsMasterKeyId": "k", "KmsDataKeyReusePeriodSeconds": "6000", "SqsManagedSseEnabled": "false"}
		if diff := cmp.Diff(want, read()); diff != "" {
			t.Errorf("with a key (-want +got):\n%s", diff)
		}
		c.set(t, queue, attrs{"KmsMasterKeyId": "", "KmsDataKeyReusePeriodSeconds": "300"})
		if diff := cmp.Diff(attrs{"SqsManagedSseEnabled": "false"}, read()); diff != "" {
			t.Errorf("without a key (-want +got):\n%s", diff)
		}
	})
}

func TestSetQueueAttributesFifoQueue(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.fifo(t, nil)
		c.set(t, queue, attrs{"FifoQueue": "true"})
		refused(t, c.trySet(t, queue, attrs{"FifoQueue": "false"}), "InvalidAttributeValue",
			"Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not supported.")
		refused(t, c.trySet(t, c.std(t, nil), attrs{"FifoQueue": "true"}), "InvalidAttributeName", "Unknown Attribute FifoQueue.")
	})
}

func TestSetQueueAttributesUnknownName(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		refused(t, c.trySet(t, c.fifo(t, nil), attrs{"Foo": "1"}), "InvalidAttributeName", "Unknown Attribute Foo.")
	})
}

func TestSetQueueAttributesMerges(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.std(t, attrs{"VisibilityTimeout": "7"})
		c.set(t, queue, attrs{"DelaySeconds": "3"})
		want := attrs{"VisibilityTimeout": "7", "DelaySeconds": "3"}
		if diff := cmp.Diff(want, c.attributes(t, queue, "VisibilityTimeout", "DelaySeconds")); diff != "" {
			t.Errorf("attributes (-want +got):\n%s", diff)
		}
	})
}
