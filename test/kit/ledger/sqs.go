package ledger

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// FromSQS returns the deliveries of a receive that asked for all system attributes.
func FromSQS(messages []types.Message) []Delivery {
	out := make([]Delivery, len(messages))
	for i, m := range messages {
		count, counted := m.Attributes["ApproximateReceiveCount"]
		out[i] = Delivery{
			Body: aws.ToString(m.Body), Group: m.Attributes["MessageGroupId"], MessageID: aws.ToString(m.MessageId),
			Redelivered: counted && count != "1",
		}
	}
	return out
}
