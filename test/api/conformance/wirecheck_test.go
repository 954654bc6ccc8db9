package conformance

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
)

// errorForm has the JSON type and status of a query code.
type errorForm struct {
	jsonType string
	status   int
	fault    string
}

const (
	sqsNamespace   = "com.amazonaws.sqs#"
	coralNamespace = "com.amazon.coral.service#"
)

// errorForms contains the error codes of the API by query code. The JSON type may have another
// name, and the status is not always 400 or 500.
var errorForms = map[string]errorForm{
	"AWS.SimpleQueueService.NonExistentQueue":     {sqsNamespace + "QueueDoesNotExist", 400, "Sender"},
	"QueueAlreadyExists":                          {sqsNamespace + "QueueNameExists", 400, "Sender"},
	"AWS.SimpleQueueService.QueueDeletedRecently": {sqsNamespace + "QueueDeletedRecently", 400, "Sender"},
	"AWS.SimpleQueueService.PurgeQueueInProgress": {sqsNamespace + "PurgeQueueInProgress", 403, "Sender"},
	"ReceiptHandleIsInvalid":                      {sqsNamespace + "ReceiptHandleIsInvalid", 404, "Sender"},
	"AWS.SimpleQueueService.MessageNotInflight":   {sqsNamespace + "MessageNotInflight", 400, "Sender"},
	"OverLimit":                                           {sqsNamespace + "OverLimit", 403, "Sender"},
	"InvalidAttributeName":                                {sqsNamespace + "InvalidAttributeName", 400, "Sender"},
	"InvalidAttributeValue":                               {sqsNamespace + "InvalidAttributeValue", 400, "Sender"},
	"InvalidMessageContents":                              {sqsNamespace + "InvalidMessageContents", 400, "Sender"},
	"AWS.SimpleQueueService.EmptyBatchRequest":            {sqsNamespace + "EmptyBatchRequest", 400, "Sender"},
	"AWS.SimpleQueueService.TooManyEntriesInBatchRequest": {sqsNamespace + "TooManyEntriesInBatchRequest", 400, "Sender"},
	"AWS.SimpleQueueService.BatchEntryIdsNotDistinct":     {sqsNamespace + "BatchEntryIdsNotDistinct", 400, "Sender"},
	"AWS.SimpleQueueService.InvalidBatchEntryId":          {sqsNamespace + "InvalidBatchEntryId", 400, "Sender"},
	"AWS.SimpleQueueService.BatchRequestTooLong":          {sqsNamespace + "BatchRequestTooLong", 400, "Sender"},
	"AWS.SimpleQueueService.UnsupportedOperation":         {sqsNamespace + "UnsupportedOperation", 400, "Sender"},
	"ResourceNotFoundException":                           {sqsNamespace + "ResourceNotFoundException", 404, "Sender"},
	"InvalidParameterValue":                               {coralNamespace + "InvalidParameterValueException", 400, "Sender"},
	"MissingParameter":                                    {coralNamespace + "MissingRequiredParameterException", 400, "Sender"},
	"InvalidAction":                                       {coralNamespace + "UnknownOperationException", 400, "Sender"},
}

// snsErrorForms contains the error codes of SNS, which has no JSON protocol.
var snsErrorForms = map[string]errorForm{
	"InvalidParameter":             {"", 400, "Sender"},
	"ParameterValueInvalid":        {"", 400, "Sender"},
	"ValidationError":              {"", 400, "Sender"},
	"InvalidAction":                {"", 400, "Sender"},
	"InvalidState":                 {"", 400, "Sender"},
	"TagLimitExceeded":             {"", 400, "Sender"},
	"NotFound":                     {"", 404, "Sender"},
	"ResourceNotFound":             {"", 404, "Sender"},
	"Throttled":                    {"", 429, "Sender"},
	"TopicLimitExceeded":           {"", 403, "Sender"},
	"SubscriptionLimitExceeded":    {"", 403, "Sender"},
	"ReplayLimitExceeded":          {"", 403, "Sender"},
	"EmptyBatchRequest":            {"", 400, "Sender"},
	"TooManyEntriesInBatchRequest": {"", 400, "Sender"},
	"BatchEntryIdsNotDistinct":     {"", 400, "Sender"},
	"InvalidBatchEntryId":          {"", 400, "Sender"},
	"BatchRequestTooLong":          {"", 400, "Sender"},
}

type observedKey struct{}

// observed is the HTTP answer of an SDK call, from its context.
type observed struct {
	refusal *refusal
	header  http.Header
}

var uuidForm = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// wireCheck checks every answer for what all answers must have. A violation fails the request, so
// that the test reports it.
type wireCheck struct{ next http.RoundTripper }

func (w *wireCheck) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := w.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(response.Body)
	response.Body.Close()
	if err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	forms := wireForms{isJSON: request.Header.Get("X-Amz-Target") != "",
		isSNS: strings.Contains(request.Header.Get("Authorization"), "/sns/aws4_request")}
	refusal, err := forms.checkAnswer(response.StatusCode, response.Header, body)
	if err != nil {
		return nil, fmt.Errorf("wire form: %w: HTTP %d %v %s", err, response.StatusCode, response.Header, body)
	}
	if seen, ok := request.Context().Value(observedKey{}).(*observed); ok {
		seen.refusal, seen.header = refusal, response.Header
	}
	return response, nil
}

// wireForms selects the form of an answer: the protocol and the service.
type wireForms struct{ isJSON, isSNS bool }

// checkAnswer returns the refusal in an answer, nil for a success, and an error if the answer is
// malformed.
func (f wireForms) checkAnswer(status int, header http.Header, body []byte) (*refusal, error) {
	requestID := header.Get("x-amzn-RequestId")
	if !uuidForm.MatchString(requestID) {
		return nil, fmt.Errorf("x-amzn-RequestId %q is no UUID", requestID)
	}
	var got *refusal
	var err error
	if f.isJSON {
		got, err = checkJSON(status, header, body)
	} else {
		got, err = f.checkXML(status, header, body, requestID)
	}
	if err != nil || got == nil {
		return got, err
	}
	form, known := errorForms[got.Code]
	if f.isSNS {
		form, known = snsErrorForms[got.Code]
	}
	if status >= 500 {
		if got.Fault != "Receiver" {
			return nil, fmt.Errorf("fault %q of a server error", got.Fault)
		}
		return got, nil
	}
	if !known {
		return nil, fmt.Errorf("error code %q is not in the catalogue", got.Code)
	}
	if form.status != status || form.fault != got.Fault {
		return nil, fmt.Errorf("%s has status %d and fault %s, want %d and %s", got.Code, status, got.Fault, form.status, form.fault)
	}
	return got, nil
}

func checkJSON(status int, header http.Header, body []byte) (*refusal, error) {
	if got := header.Get("Content-Type"); got != "application/x-amz-json-1.0" {
		return nil, fmt.Errorf("content type %q", got)
	}
	if status == http.StatusOK {
		if len(body) > 0 && !json.Valid(body) {
			return nil, fmt.Errorf("the body is not JSON")
		}
		return nil, nil
	}
	var e struct {
		Type    string `json:"__type"`
		Message string `json:"message"`
	}
	if err := json.Unmarshal(body, &e); err != nil {
		return nil, fmt.Errorf("error body: %w", err)
	}
	code, fault, ok := strings.Cut(header.Get("x-amzn-query-error"), ";")
	if !ok {
		return nil, fmt.Errorf("x-amzn-query-error is %q", header.Get("x-amzn-query-error"))
	}
	if form, known := errorForms[code]; known && form.jsonType != e.Type {
		return nil, fmt.Errorf("%s has type %q, want %q", code, e.Type, form.jsonType)
	}
	return &refusal{Status: status, Code: code, Fault: fault, Message: e.Message}, nil
}

func (f wireForms) checkXML(status int, header http.Header, body []byte, requestID string) (*refusal, error) {
	if got := header.Get("Content-Type"); !strings.HasPrefix(got, "text/xml") {
		return nil, fmt.Errorf("content type %q", got)
	}
	namespace := "http://queue.amazonaws.com/doc/2012-11-05/"
	if f.isSNS {
		namespace = "http://sns.amazonaws.com/doc/2010-03-31/"
	}
	var root struct {
		XMLName   xml.Name
		Metadata  *struct{ RequestId string } `xml:"ResponseMetadata"` //nolint:revive // the element's name
		RequestID string                      `xml:"RequestId"`
		Error     *struct {
			Type, Code, Message string
			Detail              *struct{} `xml:"Detail"`
		} `xml:"Error"`
	}
	if err := xml.Unmarshal(body, &root); err != nil {
		return nil, fmt.Errorf("body: %w", err)
	}
	if root.XMLName.Space != namespace {
		return nil, fmt.Errorf("namespace %q", root.XMLName.Space)
	}
	if status == http.StatusOK {
		if root.Metadata == nil || root.Metadata.RequestId != requestID {
			return nil, fmt.Errorf("the RequestId element differs from the header")
		}
		return nil, nil
	}
	if root.XMLName.Local != "ErrorResponse" || root.Error == nil || (root.Error.Detail == nil) != f.isSNS || root.RequestID != requestID {
		return nil, fmt.Errorf("malformed error document")
	}
	return &refusal{Status: status, Code: root.Error.Code, Fault: root.Error.Type, Message: root.Error.Message}, nil
}
