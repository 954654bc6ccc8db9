package codec

import (
	"github.com/seriatimq/seriatim/fsm/fsmpb"
	"github.com/seriatimq/seriatim/fsm/protobuf"
	"github.com/seriatimq/seriatim/queue"
)

// sessionRefMessage is the log form of a reference, nil for none.
func sessionRefMessage(s queue.SessionRef) *fsmpb.SessionRef {
	if s == (queue.SessionRef{}) {
		return nil
	}
	return &fsmpb.SessionRef{SessionId: s.SessionID, Token: s.Token}
}

// sessionRef is the inverse of sessionRefMessage.
func sessionRef(m *fsmpb.SessionRef) queue.SessionRef {
	if m == nil {
		return queue.SessionRef{}
	}
	return queue.SessionRef{SessionID: m.SessionId, Token: m.Token}
}

// acceptSessionMessage is the log form of cmd.
func acceptSessionMessage(cmd *queue.AcceptSession) *fsmpb.AcceptSession {
	return &fsmpb.AcceptSession{
		Queue: cmd.Queue, SessionId: givenText(cmd.SessionID, cmd.SessionIDGiven), LockSeconds: given(cmd.LockSeconds),
		AttemptId: givenText(cmd.AttemptID, cmd.AttemptIDGiven),
	}
}

// acceptSessionCommand is the inverse of acceptSessionMessage.
func acceptSessionCommand(m *fsmpb.AcceptSession) (*queue.AcceptSession, error) {
	cmd := &queue.AcceptSession{Queue: m.Queue, LockSeconds: integer(m.LockSeconds)}
	cmd.SessionID, cmd.SessionIDGiven = text(m.SessionId)
	cmd.AttemptID, cmd.AttemptIDGiven = text(m.AttemptId)
	return cmd, nil
}

// renewSessionMessage is the log form of cmd.
func renewSessionMessage(cmd *queue.RenewSession) *fsmpb.RenewSession {
	return &fsmpb.RenewSession{Queue: cmd.Queue, Session: sessionRefMessage(cmd.Session), LockSeconds: given(cmd.LockSeconds)}
}

// renewSessionCommand is the inverse of renewSessionMessage.
func renewSessionCommand(m *fsmpb.RenewSession) (*queue.RenewSession, error) {
	return &queue.RenewSession{Queue: m.Queue, Session: sessionRef(m.Session), LockSeconds: integer(m.LockSeconds)}, nil
}

// releaseSessionMessage is the log form of cmd.
func releaseSessionMessage(cmd *queue.ReleaseSession) *fsmpb.ReleaseSession {
	return &fsmpb.ReleaseSession{Queue: cmd.Queue, Session: sessionRefMessage(cmd.Session)}
}

// releaseSessionCommand is the inverse of releaseSessionMessage.
func releaseSessionCommand(m *fsmpb.ReleaseSession) (*queue.ReleaseSession, error) {
	return &queue.ReleaseSession{Queue: m.Queue, Session: sessionRef(m.Session)}, nil
}

// setSessionStateMessage is the log form of cmd.
func setSessionStateMessage(cmd *queue.SetSessionState) *fsmpb.SetSessionState {
	return &fsmpb.SetSessionState{Queue: cmd.Queue, Session: sessionRefMessage(cmd.Session), State: givenText(cmd.State, cmd.StateGiven)}
}

// setSessionStateCommand is the inverse of setSessionStateMessage.
func setSessionStateCommand(m *fsmpb.SetSessionState) (*queue.SetSessionState, error) {
	cmd := &queue.SetSessionState{Queue: m.Queue, Session: sessionRef(m.Session)}
	cmd.State, cmd.StateGiven = text(m.State)
	return cmd, nil
}

func sessionLocked(r queue.SessionLocked) *fsmpb.SessionLocked {
	return &fsmpb.SessionLocked{SessionId: r.SessionID, Token: r.Token[:], LockedUntil: int64(r.LockedUntil)}
}

// queueSessionLocked is the inverse of sessionLocked.
func queueSessionLocked(m *fsmpb.SessionLocked) (queue.Result, error) {
	r := queue.SessionLocked{SessionID: m.SessionId, LockedUntil: queue.Timestamp(m.LockedUntil)}
	if err := protobuf.Fill(r.Token[:], m.Token, "session token"); err != nil {
		return nil, err
	}
	return r, nil
}
