// Package content reads and checks the parts of a message: body, message attributes, trace header
// and ids. It counts the size of a message, and splits off the reserved attributes
// seriatim.ScheduledEnqueueTime and seriatim.PartitionKey.
package content
