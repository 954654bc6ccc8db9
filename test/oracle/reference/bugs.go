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

	// Of what is not in SQS.
	TopicDuplicateExtends  Bug = "a duplicate publish extends the window of the topic"
	TopicHashesAttributes  Bug = "the id that a topic makes depends on the attributes"
	TopicScopeForgets      Bug = "a change of the scope of a topic forgets its ids"
	TopicScopeGoesBack     Bug = "the scope of a topic may go back"
	UndeliveredForgotten   Bug = "a topic forgets what it delivered to nobody"
	FilterIgnored          Bug = "filters are ignored"
	ManyAttributesPass     Bug = "raw delivery takes any number of attributes"
	SubscriptionDLQUnused  Bug = "the dead-letter queue of a subscription is not used"
	QueueTrustsTopic       Bug = "a queue accepts what a topic delivers though it knows the id"
	QueueForgetsDelivery   Bug = "a queue does not remember what topics delivered"
	AcceptSteals           Bug = "a session is accepted though somebody receives from it"
	SessionOpenToAll       Bug = "a plain receive takes messages of a locked session"
	SessionExpiryUncounted Bug = "receives under a lock that ran out do not count"
	ReleaseCounts          Bug = "receives under a lock that was released count"
	RenewIgnored           Bug = "a renewed lock ends when it would have"
	SessionOneInFlight     Bug = "the holder of a session has one message at a time"
	AcceptedTwice          Bug = "an acceptance made again under its attempt id takes another session"
	SessionForgetsAttempt  Bug = "a receive in a session made again under its attempt id takes further messages"
	GroupReleaseLeavesLock Bug = "the release of a group leaves the lock of its session"
	DeferredBlocksGroup    Bug = "a deferred message keeps its place in its group"
	DeferResetsCount       Bug = "deferral resets the receive count"
	AnyNumberFetches       Bug = "a message that is not deferred is fetched by its number"
	ReceiveAndDeleteKeeps  Bug = "receive-and-delete leaves the message"
	LostLockSettles        Bug = "a lock that is over settles"
	ReasonLost             Bug = "the reason of a dead-lettered message is lost"
	ActivationKeepsNumber  Bug = "a scheduled message keeps its number"
	ActivationBackwards    Bug = "messages of one instant are activated in reverse"
	CancelForgetsOtherwise Bug = "cancelling forgets ids exactly when it must not"
	ForgetOneScope         Bug = "forgetting an id leaves it under earlier scopes"

	// Of archives and replays.
	UndeliveredUnarchived Bug = "what was delivered to nobody is not archived"
	DuplicateArchived     Bug = "a duplicate publish is archived"
	ArchiveKeepsAll       Bug = "an archive keeps what is older than its retention"
	ArchiveBringsBack     Bug = "a longer retention brings back what had expired"
	ReplayOutlivesArchive Bug = "a replay goes on when the archive is turned off"
	ReplayDeduplicates    Bug = "a replayed delivery takes part in the deduplication of its queue"
	ReplayUnfiltered      Bug = "a replay ignores the filter"
	ReplayUnmarked        Bug = "a replayed message is not marked"
	ReplayStartExcluded   Bug = "a replay begins behind its starting point"
	ReplayEndExcluded     Bug = "a replay ends before its ending point"
	ReplayEndIgnored      Bug = "a replay goes on behind its ending point"
	ReplayOvertaken       Bug = "what is published during a replay is delivered at once"
	NoPauseBehindReplay   Bug = "what is published behind the end of a replay is delivered"

	// Of accounts.
	QuotaOneMore           Bug = "a quota lets one more in than it says"
	QuotaRefusesDuplicates Bug = "a full account has duplicates refused"
	UsageOfAll             Bug = "what other accounts have counts"
	ImplicitQueueFree      Bug = "the built-in dead-letter queue does not count"
	ArchivesFree           Bug = "archives of topics do not count"
	DeliveriesLimited      Bug = "a full account gets nothing of topics"
	PublishUnlimited       Bug = "a full account publishes"
	ForeignTarget          Bug = "a dead-letter queue may be of another account"
	ForeignDestination     Bug = "a move task may lead to another account"
)

// AccountBugs lists those of accounts, which histories without accounts do not meet.
func AccountBugs() []Bug {
	return []Bug{
		QuotaOneMore, QuotaRefusesDuplicates, UsageOfAll, ImplicitQueueFree, ArchivesFree, DeliveriesLimited, PublishUnlimited, ForeignTarget, ForeignDestination,
	}
}

// Bugs lists all others.
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
		TopicDuplicateExtends, TopicHashesAttributes, TopicScopeForgets, TopicScopeGoesBack, UndeliveredForgotten,
		FilterIgnored, ManyAttributesPass, SubscriptionDLQUnused, QueueTrustsTopic, QueueForgetsDelivery,
		AcceptSteals, SessionOpenToAll, SessionExpiryUncounted, ReleaseCounts, RenewIgnored,
		AcceptedTwice, SessionForgetsAttempt,
		SessionOneInFlight, GroupReleaseLeavesLock, DeferredBlocksGroup, DeferResetsCount, AnyNumberFetches,
		ReceiveAndDeleteKeeps, LostLockSettles, ReasonLost, ActivationKeepsNumber, ActivationBackwards,
		CancelForgetsOtherwise, ForgetOneScope,
		UndeliveredUnarchived, DuplicateArchived, ArchiveKeepsAll, ArchiveBringsBack, ReplayOutlivesArchive,
		ReplayDeduplicates, ReplayUnfiltered, ReplayUnmarked, ReplayStartExcluded, ReplayEndExcluded, ReplayEndIgnored,
		ReplayOvertaken, NoPauseBehindReplay,
	}
}
