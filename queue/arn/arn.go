// Package arn reads and writes Amazon Resource Names, which clients use to name queues, topics
// and subscriptions.
package arn

import "strings"

// Queue is the name of the queue in arn:<partition>:sqs:<region>:<account>:<name>.
// Region and account are not compared here.
func Queue(text string) (name string, ok bool) {
	parts := strings.Split(text, ":")
	if len(parts) != 6 || parts[0] != "arn" || parts[2] != "sqs" || parts[5] == "" {
		return "", false
	}
	return parts[5], true
}

// OfQueue is the ARN of a queue.
func OfQueue(region, account, name string) string {
	return "arn:aws:sqs:" + region + ":" + account + ":" + name
}

// Topic is the name of the topic in arn:<partition>:sns:<region>:<account>:<name>.
func Topic(text string) (name string, ok bool) {
	parts := strings.Split(text, ":")
	if len(parts) != topicElements || parts[0] != "arn" || parts[2] != "sns" || parts[5] == "" {
		return "", false
	}
	return parts[5], true
}

// OfTopic is the ARN of a topic.
func OfTopic(region, account, name string) string {
	return "arn:aws:sns:" + region + ":" + account + ":" + name
}

// RegionOf is the region in an ARN, empty if it has none.
func RegionOf(text string) string {
	parts := strings.SplitN(text, ":", topicElements)
	if len(parts) < topicElements {
		return ""
	}
	return parts[3]
}

// AccountOf is the account in an ARN, empty if it has none.
func AccountOf(text string) string {
	parts := strings.SplitN(text, ":", topicElements)
	if len(parts) < topicElements {
		return ""
	}
	return parts[4]
}

// topicElements is how many parts the ARN of a topic has; that of a subscription has one
// more.
const topicElements = 6

// Subscription splits the ARN of a subscription, which is that of its topic and an id.
// elements is how many parts the text has, 7 if it is one.
func Subscription(text string) (topic, id string, elements int) {
	parts := strings.Split(text, ":")
	if len(parts) != topicElements+1 {
		return "", "", len(parts)
	}
	return parts[5], parts[6], len(parts)
}
