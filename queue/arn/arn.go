package arn

import "strings"

// Queue is the name of the queue in arn:<partition>:sqs:<region>:<account>:<name>.
// Region and account are not compared: a cluster has one of each.
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
