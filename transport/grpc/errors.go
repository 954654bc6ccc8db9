package grpc

import (
	"context"
	"errors"
	"net/http"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/auth"
	"github.com/seriatimq/seriatim/transport/budget"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
	"github.com/seriatimq/seriatim/transport/service"
)

// domain is the domain of the reasons in google.rpc.ErrorInfo.
const domain = "seriatim"

// Reasons of the server itself. After all but the first, nothing was executed.
const (
	reasonOutcomeUnknown = "OutcomeUnknown"
	reasonUnderPressure  = "UnderPressure"
	reasonOverloaded     = "Overloaded"
	reasonNoLeader       = "NoLeader"
	reasonUpgradeNeeded  = "UpgradeNeeded"
	reasonDraining       = "Draining"
	reasonNotReached     = "NotReached"         // an earlier message of the stream failed
	reasonNoSession      = "NoSessionAvailable" // of AcceptSession
	reasonInternal       = "InternalFailure"
)

// failure is one line of the table of errors.
type failure struct {
	code   codes.Code
	reason string // as SQS and SNS call it
}

// failures is the error table: one line per code of package queue.
var failures = map[refusal.Code]failure{
	refusal.QueueDoesNotExist:            {codes.NotFound, "QueueDoesNotExist"},
	refusal.QueueNameExists:              {codes.AlreadyExists, "QueueNameExists"},
	refusal.QueueDeletedRecently:         {codes.FailedPrecondition, "QueueDeletedRecently"},
	refusal.PurgeQueueInProgress:         {codes.FailedPrecondition, "PurgeQueueInProgress"},
	refusal.ReceiptHandleIsInvalid:       {codes.InvalidArgument, "ReceiptHandleIsInvalid"},
	refusal.MessageNotInflight:           {codes.FailedPrecondition, "MessageNotInflight"},
	refusal.OverLimit:                    {codes.ResourceExhausted, "OverLimit"},
	refusal.InvalidAttributeName:         {codes.InvalidArgument, "InvalidAttributeName"},
	refusal.InvalidAttributeValue:        {codes.InvalidArgument, "InvalidAttributeValue"},
	refusal.InvalidMessageContents:       {codes.InvalidArgument, "InvalidMessageContents"},
	refusal.EmptyBatchRequest:            {codes.InvalidArgument, "EmptyBatchRequest"},
	refusal.TooManyEntriesInBatchRequest: {codes.InvalidArgument, "TooManyEntriesInBatchRequest"},
	refusal.BatchEntryIDsNotDistinct:     {codes.InvalidArgument, "BatchEntryIdsNotDistinct"},
	refusal.InvalidBatchEntryID:          {codes.InvalidArgument, "InvalidBatchEntryId"},
	refusal.BatchRequestTooLong:          {codes.InvalidArgument, "BatchRequestTooLong"},
	refusal.UnsupportedOperation:         {codes.FailedPrecondition, "UnsupportedOperation"},
	refusal.ResourceNotFound:             {codes.NotFound, "ResourceNotFoundException"},
	refusal.InvalidParameterValue:        {codes.InvalidArgument, "InvalidParameterValue"},
	refusal.MissingRequiredParameter:     {codes.InvalidArgument, "MissingParameter"},
	refusal.RequestThrottled:             {codes.ResourceExhausted, "RequestThrottled"},
	refusal.SNSInvalidParameter:          {codes.InvalidArgument, "InvalidParameter"},
	refusal.TagLimitExceeded:             {codes.ResourceExhausted, "TagLimitExceeded"},
	refusal.NotFound:                     {codes.NotFound, "NotFound"},
	refusal.SNSResourceNotFound:          {codes.NotFound, "ResourceNotFound"},
	refusal.InvalidState:                 {codes.FailedPrecondition, "InvalidState"},
	refusal.TopicLimitExceeded:           {codes.ResourceExhausted, "TopicLimitExceeded"},
	refusal.SubscriptionLimitExceeded:    {codes.ResourceExhausted, "SubscriptionLimitExceeded"},
	refusal.RuleAlreadyExists:            {codes.AlreadyExists, "RuleAlreadyExists"},
	refusal.RuleNotFound:                 {codes.NotFound, "RuleNotFound"},
	refusal.RuleLimitExceeded:            {codes.ResourceExhausted, "RuleLimitExceeded"},
	refusal.ReplayLimitExceeded:          {codes.ResourceExhausted, "ReplayLimitExceeded"},
	refusal.Throttled:                    {codes.ResourceExhausted, "Throttled"},
	refusal.AuthorizationError:           {codes.PermissionDenied, "AuthorizationError"},
	refusal.ParameterValueInvalid:        {codes.InvalidArgument, "ParameterValueInvalid"},
	refusal.MessageNotFound:              {codes.NotFound, "MessageNotFound"},
	refusal.MessageLockLost:              {codes.Aborted, "MessageLockLost"},
	refusal.SessionCannotBeLocked:        {codes.FailedPrecondition, "SessionCannotBeLocked"},
	refusal.SessionLockLost:              {codes.Aborted, "SessionLockLost"},
	refusal.DeduplicationIDUnknown:       {codes.NotFound, "DeduplicationIdUnknown"},
	refusal.MessageInFlight:              {codes.FailedPrecondition, "MessageInFlight"},
	refusal.EntityDisabled:               {codes.FailedPrecondition, "EntityDisabled"},
	refusal.QuotaExceeded:                {codes.ResourceExhausted, "QuotaExceeded"},
	// No method of this API can cause these two.
	refusal.InvalidFormatVersion:  {codes.Internal, reasonInternal},
	refusal.InvalidClusterSetting: {codes.Internal, reasonInternal},
}

var clusterFailures = map[service.Failure]failure{
	service.OutcomeUnknown: {codes.Unavailable, reasonOutcomeUnknown},
	service.UnderPressure:  {codes.Unavailable, reasonUnderPressure},
	service.Overloaded:     {codes.Unavailable, reasonOverloaded},
	service.UpgradeNeeded:  {codes.FailedPrecondition, reasonUpgradeNeeded},
	service.NoLeader:       {codes.Unavailable, reasonNoLeader},
}

// newError returns a status error with a reason.
func newError(code codes.Code, reason, message string) error {
	plain := status.New(code, message)
	detailed, err := plain.WithDetails(&errdetails.ErrorInfo{Reason: reason, Domain: domain})
	if err != nil {
		return plain.Err() // a message that cannot be encoded
	}
	return detailed.Err()
}

// reasonOf returns the reason of a status of this API, or else the name of its code.
func reasonOf(s *status.Status) string {
	for _, detail := range s.Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok && info.GetDomain() == domain {
			return info.GetReason()
		}
	}
	return s.Code().String()
}

var (
	errDraining = newError(codes.Unavailable, reasonDraining,
		"This node is stopping. Requests without an answer were not executed, continue on another node.")
	errBudget = newError(codes.Unavailable, reasonOverloaded,
		"Too many large requests are being read at the moment. Nothing was written, retry.")
	errAnswer = newError(codes.Unavailable, reasonOutcomeUnknown, "Too many large answers wait for their clients at the moment. "+
		"The request was served, but its answer is lost. Retry it with the same deduplication id or attempt id.")
)

// refusalFailure converts a refusal for the results of a batch.
func refusalFailure(e *queue.Error) *seriatimpb.Failure {
	f, known := failures[e.Code]
	if !known {
		f = failure{codes.Internal, reasonInternal}
	}
	return &seriatimpb.Failure{Code: int32(f.code), Reason: f.reason, Message: e.Message}
}

// errorFailure converts any error for the results of a stream.
func errorFailure(err error) *seriatimpb.Failure {
	s := status.Convert(err)
	return &seriatimpb.Failure{Code: int32(s.Code()), Reason: reasonOf(s), Message: s.Message()}
}

// statusOf converts any error of a method into a status error.
func (c *call) statusOf(err error) error {
	if err == nil {
		return nil
	}
	var refused *queue.Error
	var denied *auth.Error
	switch {
	case errors.As(err, &refused):
		f := refusalFailure(refused)
		return newError(codes.Code(f.GetCode()), f.GetReason(), f.GetMessage())
	case errors.As(err, &denied):
		code := codes.Unauthenticated
		if denied.Code == "AccessDenied" {
			code = codes.PermissionDenied
		} else if denied.Status == http.StatusServiceUnavailable {
			code = codes.Unavailable
		}
		return newError(code, denied.Code, denied.Message)
	case errors.Is(err, budget.ErrExhausted):
		return errBudget
	}
	if failure, text := service.FailureOf(err); failure != service.Unexpected {
		f := clusterFailures[failure]
		return newError(f.code, f.reason, text)
	}
	if s, ok := status.FromError(err); ok {
		return s.Err()
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return status.FromContextError(err).Err()
	}
	c.server.Logger.Error("a request failed with an unexpected error", "request_id", c.Record.ID, "action", c.Record.Action, "error", err)
	return newError(codes.Internal, reasonInternal, "An internal error occurred. See the log of the node for request "+c.Record.ID+".")
}
