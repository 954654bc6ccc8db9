package codec

import (
	"reflect"
	"testing"

	"github.com/seriatimq/seriatim/fsm/fsmtest"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
)

// everyCommand returns one value of each command type under its number in the log.
func everyCommand() map[uint8]queue.Command {
	return map[uint8]queue.Command{
		1:  &queue.AdvanceClock{},
		2:  &queue.SetFormatVersion{},
		3:  &queue.SetClusterSetting{},
		4:  &queue.Audit{},
		10: &queue.CreateQueue{},
		11: &queue.DeleteQueue{},
		12: &queue.SetQueueAttributes{},
		13: &queue.SetQueueTags{},
		14: &queue.SetQueuePolicy{},
		15: &queue.PurgeQueue{},
		16: &queue.ReleaseGroup{},
		17: &queue.NoteUse{},
		20: &queue.SendMessages{},
		21: &queue.ReceiveMessages{},
		22: &queue.DeleteMessages{},
		23: &queue.ChangeMessageVisibility{},
		24: &queue.CancelScheduled{},
		25: &queue.Defer{},
		26: &queue.ReceiveDeferred{},
		27: &queue.DeadLetter{},
		28: &queue.ForgetDeduplication{},
		29: &queue.DeleteStored{},
		30: &queue.StartMoveTask{},
		31: &queue.CancelMoveTask{},
		32: &queue.MoveMessages{},
		33: &queue.ReplayMessages{},
		34: &queue.ReportDeliveries{},
		35: &queue.MoveStored{},
		40: &queue.CreateTopic{},
		41: &queue.DeleteTopic{},
		42: &queue.SetTopicAttributes{},
		43: &queue.SetTopicTags{},
		44: &queue.SetTopicPolicy{},
		45: &queue.Subscribe{},
		46: &queue.Unsubscribe{},
		47: &queue.SetSubscriptionAttributes{},
		48: &queue.Publish{},
		49: &queue.ConfirmSubscription{},
		50: &queue.AcceptSession{},
		51: &queue.RenewSession{},
		52: &queue.ReleaseSession{},
		53: &queue.SetSessionState{},
		54: &queue.PutRule{},
		55: &queue.RemoveRule{},
		56: &queue.CommitTransaction{},
		60: &access.CreateAccessKey{},
		61: &access.DeleteAccessKey{},
		62: &access.UpdateAccessKey{},
		63: &access.PutUserPolicy{},
		64: &access.CreateAccount{},
		65: &access.SetAccountQuota{},
		66: &access.DeleteAccount{},
		67: &access.SetSealingKey{},
	}
}

func everyResult() map[string]queue.Result {
	return map[string]queue.Result{
		"Done":                 queue.Done{},
		"QueueCreated":         queue.QueueCreated{},
		"MessagesSent":         queue.MessagesSent{},
		"MessagesReceived":     queue.MessagesReceived{},
		"EntriesDone":          queue.EntriesDone{},
		"MoveTaskStarted":      queue.MoveTaskStarted{},
		"MoveTaskCancelled":    queue.MoveTaskCancelled{},
		"MessagesMoved":        queue.MessagesMoved{},
		"TopicCreated":         queue.TopicCreated{},
		"Subscribed":           queue.Subscribed{},
		"Published":            queue.Published{},
		"MessagesReplayed":     queue.MessagesReplayed{},
		"SessionLocked":        queue.SessionLocked{},
		"GroupReleased":        queue.GroupReleased{},
		"StoredMoved":          queue.StoredMoved{},
		"TransactionCommitted": queue.TransactionCommitted{},
	}
}

// filledCommand returns a command of the type of cmd with all fields set.
func filledCommand(t testing.TB, f *fsmtest.Filler, cmd queue.Command) queue.Command {
	v := reflect.New(reflect.TypeOf(cmd).Elem())
	f.Fill(t, v.Elem())
	return v.Interface().(queue.Command)
}

// filledResult returns a result of the type of r with all fields set. A sent entry has both an error
// and a result, as it never has outside of tests.
func filledResult(t testing.TB, f *fsmtest.Filler, r queue.Result) queue.Result {
	v := reflect.New(reflect.TypeOf(r))
	f.Fill(t, v.Elem())
	return v.Elem().Interface().(queue.Result)
}

// mustFrame encodes cmd.
func mustFrame(t testing.TB, cmd queue.Command) []byte {
	t.Helper()
	frame, err := AppendCommand(nil, cmd)
	if err != nil {
		t.Fatal(err)
	}
	return frame
}
