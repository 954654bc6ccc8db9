package reference

// Bug is a deliberate deviation from the rules. The comparison must notice
// each of them: an oracle that cannot fail proves nothing (faults.md 11).
type Bug string

// The planted bugs.
const (
	DuplicateExtendsWindow     Bug = "a duplicate extends the window"
	DeleteForgetsDeduplication Bug = "deleting a message frees its deduplication id"
	AnyDeleteReleasesGroup     Bug = "any delete releases the whole group"
	RedeliveryToTail           Bug = "a redelivered message goes to the tail of its group"
	WindowInclusive            Bug = "an id is still remembered at exactly the end of its window"
	GroupIgnoredInScope        Bug = "scope messageGroup ignores the group"
	InFlightBlocksGroup        Bug = "any message in flight blocks its whole group"
	ReplayNewHandles           Bug = "a replayed receive gives new receipt handles"
	ReplayCounts               Bug = "a replayed receive counts as a receive"
	ReplayExtendsAttempt       Bug = "a replayed receive extends the life of its attempt id"
	EmptyReceiveRegisters      Bug = "an empty receive registers its attempt id"
	ExpiredHandleDeletes       Bug = "an expired handle deletes on a FIFO queue"
	OldHandleDeletes           Bug = "an older handle deletes on a FIFO queue"
	DeletedHandleFails         Bug = "deleting twice fails"
	PurgeForgetsInFlight       Bug = "purge leaves messages in flight"
	PurgeKeepsHistory          Bug = "purge never clears the deduplication history"
	WindowGrowthRevives        Bug = "a longer window revives ids that were free"
	ScopeChangeForgets         Bug = "a scope change forgets the ids of the old scope"
	ContentIgnored             Bug = "IdAndContent looks at the id only"
	DeadLetterOneLate          Bug = "a message is moved one receive too late"
	DeadLetterCountsElsewhere  Bug = "receives before a dead-letter move count against the maximum of the next queue"
	DeadLetterResetsCount      Bug = "the receive count restarts in the dead-letter queue"
	DeadLetterKeepsID          Bug = "a FIFO dead-letter copy always keeps its deduplication id"
	DeadLetterWritesHistory    Bug = "a dead-letter move writes the history of its target"
	MoveKeepsMessageID         Bug = "a move task keeps message ids"
	MoveDropsDuplicates        Bug = "a move task drops a message whose id is remembered"
	MoveLeavesNoRecord         Bug = "a message moved back leaves no deduplication record"
	MoveForgetsKeys            Bug = "a message moved back is remembered under its id alone"
	ReplayOvertakes            Bug = "a replay passes a message that somebody else took"
	RetentionIgnoresFlight     Bug = "retention spares messages in flight"
	DelayNotRetroactive        Bug = "a changed delay of a FIFO queue spares stored messages"
	ScheduledBlocksGroup       Bug = "a scheduled message blocks its group"
	PerGroupLimitIgnored       Bug = "MaxMessagesPerGroupPerReceive is ignored"
	StandardByAvailability     Bug = "what comes back to a standard queue goes behind newer messages"
	GroupsBySequenceOnly       Bug = "groups are served by sequence number only"
	VisibilityAddsUp           Bug = "a new visibility timeout is added to the old one"
	TotalVisibilityUnlimited   Bug = "visibility may exceed twelve hours"
	CapEvicts                  Bug = "a full deduplication history accepts more ids"
	RefusedSendRemembered      Bug = "a refused send leaves a deduplication record"
	VisibleOneLate             Bug = "a message is visible one millisecond late"
	CoolOffIgnored             Bug = "the cool-off after PurgeQueue is ignored"
)

// Bugs lists them all.
func Bugs() []Bug {
	return []Bug{
		DuplicateExtendsWindow, DeleteForgetsDeduplication, AnyDeleteReleasesGroup, RedeliveryToTail,
		WindowInclusive, GroupIgnoredInScope, InFlightBlocksGroup, ReplayNewHandles, ReplayCounts,
		ReplayExtendsAttempt, EmptyReceiveRegisters, ExpiredHandleDeletes, OldHandleDeletes,
		DeletedHandleFails, PurgeForgetsInFlight, PurgeKeepsHistory, WindowGrowthRevives,
		ScopeChangeForgets, ContentIgnored, DeadLetterOneLate, DeadLetterCountsElsewhere, DeadLetterResetsCount,
		DeadLetterKeepsID, DeadLetterWritesHistory, MoveKeepsMessageID, MoveDropsDuplicates, MoveLeavesNoRecord, MoveForgetsKeys, ReplayOvertakes,
		RetentionIgnoresFlight, DelayNotRetroactive, ScheduledBlocksGroup, PerGroupLimitIgnored,
		StandardByAvailability, GroupsBySequenceOnly, VisibilityAddsUp, TotalVisibilityUnlimited, CapEvicts,
		RefusedSendRemembered, VisibleOneLate, CoolOffIgnored,
	}
}
