// Package arn reads and writes Amazon Resource Names, which clients use to name queues, topics
// and subscriptions.
package arn

import "strings"

// Queue returns the name in arn:<partition>:sqs:<region>:<account>:<name>. It does not check region
// and account.
func Queue(text string) (name string, ok bool) {
	parts := strings.Split(text, ":")
	if len(parts) != 6 || parts[0] != "arn" || parts[2] != "sqs" || parts[5] == "" {
		return "", false
	}
	return parts[5], true
}

// OfQueue returns the ARN of a queue.
func OfQueue(region, account, name string) string {
	return "arn:aws:sqs:" + region + ":" + account + ":" + name
}

// Topic returns the name in arn:<partition>:sns:<region>:<account>:<name>.
func Topic(text string) (name string, ok bool) {
	parts := strings.Split(text, ":")
	if len(parts) != topicElements || parts[0] != "arn" || parts[2] != "sns" || parts[5] == "" {
		return "", false
	}
	return parts[5], true
}

// OfTopic returns the ARN of a topic.
func OfTopic(region, account, name string) string {
	return "arn:aws:sns:" + region + ":" + account + ":" + name
}

// RegionOf returns the region of an ARN, empty if it has none.
func RegionOf(text string) string {
	parts := strings.SplitN(text, ":", topicElements)
	if len(parts) < topicElements {
		return ""
	}
	return parts[3]
}

// AccountOf returns the account of an ARN, empty if it has none.
func AccountOf(text string) string {
	parts := strings.SplitN(text, ":", topicElements)
	if len(parts) < topicElements {
		return ""
	}
	return parts[4]
}

// topicElements is the number of parts of a topic's ARN. That of a subscription has one more.
const topicElements = 6

// Subscription splits the ARN of a subscription: a topic's ARN and an id. elements is the number of
// parts of the text, 7 if it is valid.
func Subscription(text string) (topic, id string, elements int) {
	parts := strings.Split(text, ":")
	if len(parts) != topicElements+1 {
		return "", "", len(parts)
	}
	return parts[5], parts[6], len(parts)
}
