package sqs

import (
	"errors"
	"slices"
	"strings"
	"testing"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/schemas"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/traits"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
	"github.com/seriatimq/seriatim/transport/service"
)

// sdkSchemas returns the SDK's schemas of the input and output of every action. The output is nil
// if there is none.
func sdkSchemas() map[string][2]*smithy.Schema {
	return map[string][2]*smithy.Schema{
		"AddPermission":                {schemas.AddPermissionRequest, nil},
		"CancelMessageMoveTask":        {schemas.CancelMessageMoveTaskRequest, schemas.CancelMessageMoveTaskResult},
		"ChangeMessageVisibility":      {schemas.ChangeMessageVisibilityRequest, nil},
		"ChangeMessageVisibilityBatch": {schemas.ChangeMessageVisibilityBatchRequest, schemas.ChangeMessageVisibilityBatchResult},
		"CreateQueue":                  {schemas.CreateQueueRequest, schemas.CreateQueueResult},
		"DeleteMessage":                {schemas.DeleteMessageRequest, nil},
		"DeleteMessageBatch":           {schemas.DeleteMessageBatchRequest, schemas.DeleteMessageBatchResult},
		"DeleteQueue":                  {schemas.DeleteQueueRequest, nil},
		"GetQueueAttributes":           {schemas.GetQueueAttributesRequest, schemas.GetQueueAttributesResult},
		"GetQueueUrl":                  {schemas.GetQueueUrlRequest, schemas.GetQueueUrlResult},
		"ListDeadLetterSourceQueues":   {schemas.ListDeadLetterSourceQueuesRequest, schemas.ListDeadLetterSourceQueuesResult},
		"ListMessageMoveTasks":         {schemas.ListMessageMoveTasksRequest, schemas.ListMessageMoveTasksResult},
		"ListQueueTags":                {schemas.ListQueueTagsRequest, schemas.ListQueueTagsResult},
		"ListQueues":                   {schemas.ListQueuesRequest, schemas.ListQueuesResult},
		"PurgeQueue":                   {schemas.PurgeQueueRequest, nil},
		"ReceiveMessage":               {schemas.ReceiveMessageRequest, schemas.ReceiveMessageResult},
		"RemovePermission":             {schemas.RemovePermissionRequest, nil},
		"SendMessage":                  {schemas.SendMessageRequest, schemas.SendMessageResult},
		"SendMessageBatch":             {schemas.SendMessageBatchRequest, schemas.SendMessageBatchResult},
		"SetQueueAttributes":           {schemas.SetQueueAttributesRequest, nil},
		"StartMessageMoveTask":         {schemas.StartMessageMoveTaskRequest, schemas.StartMessageMoveTaskResult},
		"TagQueue":                     {schemas.TagQueueRequest, nil},
		"UntagQueue":                   {schemas.UntagQueueRequest, nil},
	}
}

// TestMembersMatchTheSDK compares the names and types of all members, at every depth, with the SDK.
func TestMembersMatchTheSDK(t *testing.T) {
	t.Parallel()
	table := map[string]*aws.Action{}
	for _, a := range (&Service{}).API().Actions {
		table[a.Name] = a
	}
	model := sdkSchemas()
	if len(table) != len(model) || len(table) != 23 {
		t.Fatalf("%d actions, want %d", len(table), len(model))
	}
	for name, want := range model {
		a := table[name]
		if a == nil {
			t.Errorf("no action %s", name)
			continue
		}
		// Batches have the permission of the single action.
		if a.Permission != "sqs:"+strings.TrimSuffix(name, "Batch") {
			t.Errorf("permission of %s is %s", name, a.Permission)
		}
		if (a.Effect == service.Reads) != (strings.HasPrefix(name, "Get") || strings.HasPrefix(name, "List")) {
			t.Errorf("%s has the effect %v", name, a.Effect)
		}
		compareMembers(t, name+" input", a.Input(), want[0])
		if want[1] == nil {
			if len(a.Output()) != 0 {
				t.Errorf("%s has no output in the model", name)
			}
			continue
		}
		compareMembers(t, name+" output", a.Output(), want[1])
	}
}

func compareMembers(t *testing.T, where string, got []awswire.MemberInfo, want *smithy.Schema) {
	t.Helper()
	for name := range want.Members() {
		if !slices.ContainsFunc(got, func(m awswire.MemberInfo) bool { return m.Name == name }) {
			t.Errorf("%s lacks %s", where, name)
		}
	}
	for _, m := range got {
		member := want.Member(m.Name)
		if member == nil {
			t.Errorf("%s has %s, which the model has not", where, m.Name)
			continue
		}
		kind, element := kindOf(t, member)
		if m.Kind != kind {
			t.Errorf("%s: kind of %s is %d, want %d", where, m.Name, m.Kind, kind)
		}
		if element != nil {
			compareMembers(t, where+"."+m.Name, m.Element, element)
		}
	}
}

func kindOf(t *testing.T, s *smithy.Schema) (awswire.Kind, *smithy.Schema) {
	t.Helper()
	switch s.Type() {
	case smithy.ShapeTypeString, smithy.ShapeTypeEnum:
		return awswire.KindString, nil
	case smithy.ShapeTypeInteger, smithy.ShapeTypeLong:
		return awswire.KindInteger, nil
	case smithy.ShapeTypeBoolean:
		return awswire.KindBoolean, nil
	case smithy.ShapeTypeBlob:
		return awswire.KindBlob, nil
	case smithy.ShapeTypeList:
		if s.ListMember().Type() == smithy.ShapeTypeStructure {
			return awswire.KindStructureList, s.ListMember()
		}
		return awswire.KindStringList, nil
	case smithy.ShapeTypeMap:
		if s.MapValue().Type() == smithy.ShapeTypeStructure {
			return awswire.KindStructureMap, s.MapValue()
		}
		return awswire.KindStringMap, nil
	default:
		t.Fatalf("unexpected type %d of %s", s.Type(), s.ID())
		return 0, nil
	}
}

// TestErrorTableMatchesTheSDK compares the type, query code, and status of every error with the
// SDK.
func TestErrorTableMatchesTheSDK(t *testing.T) {
	t.Parallel()
	model := map[refusal.Code]*smithy.Schema{
		refusal.QueueDoesNotExist: schemas.QueueDoesNotExist, refusal.QueueNameExists: schemas.QueueNameExists,
		refusal.QueueDeletedRecently: schemas.QueueDeletedRecently, refusal.PurgeQueueInProgress: schemas.PurgeQueueInProgress,
		refusal.ReceiptHandleIsInvalid: schemas.ReceiptHandleIsInvalid, refusal.MessageNotInflight: schemas.MessageNotInflight,
		refusal.OverLimit: schemas.OverLimit, refusal.InvalidAttributeName: schemas.InvalidAttributeName,
		refusal.InvalidAttributeValue: schemas.InvalidAttributeValue, refusal.InvalidMessageContents: schemas.InvalidMessageContents,
		refusal.EmptyBatchRequest: schemas.EmptyBatchRequest, refusal.TooManyEntriesInBatchRequest: schemas.TooManyEntriesInBatchRequest,
		refusal.BatchEntryIDsNotDistinct: schemas.BatchEntryIdsNotDistinct, refusal.InvalidBatchEntryID: schemas.InvalidBatchEntryId,
		refusal.BatchRequestTooLong: schemas.BatchRequestTooLong, refusal.UnsupportedOperation: schemas.UnsupportedOperation,
		refusal.ResourceNotFound: schemas.ResourceNotFoundException, refusal.RequestThrottled: schemas.RequestThrottled,
	}
	for code := refusal.QueueDoesNotExist; code <= refusal.InvalidClusterSetting; code++ {
		form, ok := forms[code]
		if !ok {
			t.Errorf("code %d has no line in the table", code)
			continue
		}
		s := model[code]
		if s == nil {
			if !strings.HasPrefix(form.Type, aws.Coral) {
				t.Errorf("code %d: %s is not in the model", code, form.Type)
			}
			continue
		}
		// The model omits defaults: status 400, and a query code equal to the name.
		want := aws.Form{Type: s.ID().String(), Code: s.ID().Name, Status: 400}
		if trait, ok := smithy.SchemaTrait[*traits.AWSQueryError](s); ok {
			want.Code, want.Status = trait.ErrorCode, trait.StatusCode
		}
		if form != want {
			t.Errorf("got %+v, want %+v", form, want)
		}
	}
	for _, ours := range []refusal.Code{refusal.EntityDisabled, refusal.QuotaExceeded} {
		if forms[ours].Code == "" {
			t.Errorf("code %d has no line in the table", ours)
		}
	}
	if len(forms) != int(refusal.InvalidClusterSetting)+2 {
		t.Errorf("%d lines for %d codes and 2 of ours", len(forms), refusal.InvalidClusterSetting)
	}
}

func (f *fixture) sdk(attempts int) *sdk.Client {
	return sdk.New(sdk.Options{
		BaseEndpoint: sdkaws.String(f.server.URL), Region: "us-east-1",
		Credentials: credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "secret", ""),
		Retryer:     retry.NewStandard(func(o *retry.StandardOptions) { o.MaxAttempts = attempts; o.MaxBackoff = 1 }),
	})
}

// TestSDKRetries makes sure that the SDK retries the answers that say "retry".
func TestSDKRetries(t *testing.T) {
	t.Parallel()
	for _, failure := range []error{cluster.ErrUnavailable, cluster.ErrOverloaded, cluster.ErrOutcomeUnknown} {
		t.Run(failure.Error(), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.node.fail = failure
			_, err := f.sdk(3).GetQueueUrl(t.Context(), &sdk.GetQueueUrlInput{QueueName: sdkaws.String("q")})
			var exhausted *retry.MaxAttemptsError
			if !errors.As(err, &exhausted) || exhausted.Attempt != 3 {
				t.Errorf("got %v, want three attempts", err)
			}
		})
	}
}
