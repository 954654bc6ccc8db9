//go:build !invariants

package queue

const checkEveryCommand = false

func (b *Broker) dueForCheck() bool { return false }
