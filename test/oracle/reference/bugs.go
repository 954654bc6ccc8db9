package reference

// Bug is a deliberate deviation from the rules. The comparison must find each one, because a test
// that cannot fail proves nothing (faults.md 11). There is one for each generator of histories. The
// other rules have tests in package queue, and the selftest of test/faults plants bugs in the
// product.
type Bug string

// The planted bugs.
const (
	ReplayNewHandles      Bug = "a replayed receive gives new receipt handles"
	WindowInclusive       Bug = "an id is still remembered at exactly the end of its window"
	VisibleOneLate        Bug = "a message is visible one millisecond late"
	DeadLetterOneLate     Bug = "a message is moved one receive too late"
	MoveKeepsMessageID    Bug = "a move task keeps message ids"
	TopicHashesAttributes Bug = "the id that a topic makes depends on the attributes"
	ReplayStartExcluded   Bug = "a replay begins behind its starting point"
	SessionOneInFlight    Bug = "the holder of a session has one message at a time"
	DeferResetsCount      Bug = "deferral resets the receive count"
	QuotaOneMore          Bug = "a quota lets one more in than it says"
)

// Bugs lists all except QuotaOneMore, which only histories with accounts can find.
func Bugs() []Bug {
	return []Bug{
		ReplayNewHandles, WindowInclusive, VisibleOneLate, DeadLetterOneLate, MoveKeepsMessageID,
		TopicHashesAttributes, ReplayStartExcluded, SessionOneInFlight, DeferResetsCount,
	}
}
