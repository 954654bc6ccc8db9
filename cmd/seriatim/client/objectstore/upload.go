package objectstore

import (
	"context"
	"crypto/sha256"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	// partBytes times the 10,000 parts of an upload is 156 GiB, more than a state in memory.
	partBytes   = 16 << 20
	tries       = 4
	partTimeout = 5 * time.Minute
	answerBytes = 1 << 20
)

// firstPause is the time before a request is sent again; it doubles with each try.
const firstPause = 500 * time.Millisecond

// ErrUnknown says that the store may have the object although that was not confirmed.
var ErrUnknown = errors.New("the store may have it or not")

// noSuchUpload is what stores answer about an upload that is over.
const noSuchUpload = "NoSuchUpload"

// refusedError is an answer of the store that is no success.
type refusedError struct {
	host       string
	status     int
	code, text string
}

// Error is the answer.
func (e *refusedError) Error() string {
	text := fmt.Sprintf("%s answers %d %s", e.host, e.status, e.code)
	if e.text != "" {
		text += ": " + e.text
	}
	return text
}

// Upload is an object that is being sent. It is an io.Writer for one goroutine.
type Upload struct {
	ctx    context.Context //nolint:containedctx // an io.Writer has no other
	at     location
	client *http.Client
	id     string // once it was begun
	part   []byte // not sent yet
	etags  []string
}

// New prepares an upload to a destination like s3://bucket/folder/, with the credentials and
// the endpoint of the environment. Nothing is sent yet.
func New(ctx context.Context, destination string, environment func(string) string, now func() time.Time, transport http.RoundTripper) (*Upload, error) {
	at, err := locate(destination, environment, now)
	if err != nil {
		return nil, err
	}
	return &Upload{ctx: ctx, at: at, client: &http.Client{Transport: transport, Timeout: partTimeout}}, nil
}

// Name is where the object will be.
func (u *Upload) Name() string { return u.at.name }

// Exists reports whether the store has an object of this name, which Finish would replace. One
// whose name has the time is not looked for: that takes a right which a writer may not have.
func (u *Upload) Exists() (bool, error) {
	if !u.at.given {
		return false, nil
	}
	_, err := u.call(u.ctx, http.MethodHead, nil, nil, nil)
	if refused, answered := errors.AsType[*refusedError](err); answered && refused.status == http.StatusNotFound {
		return false, nil
	}
	return err == nil, err
}

// Write takes what comes next, and sends it when there is enough of it.
func (u *Upload) Write(p []byte) (int, error) {
	for taken := 0; taken < len(p); {
		n := min(partBytes-len(u.part), len(p)-taken)
		u.part = append(u.part, p[taken:taken+n]...)
		taken += n
		if len(u.part) == partBytes {
			if err := u.flush(); err != nil {
				return taken, err
			}
		}
	}
	return len(p), nil
}

// begin asks the store for an upload.
func (u *Upload) begin() error {
	if u.id != "" {
		return nil
	}
	var begun struct {
		UploadID string `xml:"UploadId"`
	}
	if _, err := u.call(u.ctx, http.MethodPost, url.Values{"uploads": {""}}, nil, &begun); err != nil {
		return err
	}
	if begun.UploadID == "" {
		return errors.New("the store began no upload: it may not speak the S3 protocol")
	}
	u.id = begun.UploadID
	return nil
}

// flush sends the next part.
func (u *Upload) flush() error {
	if err := u.begin(); err != nil {
		return err
	}
	query := url.Values{"partNumber": {strconv.Itoa(len(u.etags) + 1)}, "uploadId": {u.id}}
	header, err := u.call(u.ctx, http.MethodPut, query, u.part, nil)
	if err != nil {
		return err
	}
	u.etags = append(u.etags, header.Get("ETag"))
	u.part = u.part[:0]
	return nil
}

// Finish sends the rest and makes the object appear.
func (u *Upload) Finish() error {
	if len(u.part) > 0 || len(u.etags) == 0 {
		if err := u.flush(); err != nil {
			return err
		}
	}
	type part struct {
		PartNumber int
		ETag       string
	}
	list := struct {
		XMLName xml.Name `xml:"CompleteMultipartUpload"`
		Part    []part
	}{}
	for i, etag := range u.etags {
		list.Part = append(list.Part, part{i + 1, etag})
	}
	body, err := xml.Marshal(list)
	if err != nil {
		return err
	}
	return u.complete(body)
}

// complete makes the store put the parts together.
func (u *Upload) complete(list []byte) error {
	// The answer may be 200 and an error in the text.
	var done struct {
		XMLName xml.Name
		Message string
	}
	_, err := u.call(u.ctx, http.MethodPost, url.Values{"uploadId": {u.id}}, list, &done)
	refused, answered := errors.AsType[*refusedError](err)
	switch {
	// An upload that is unknown at another try is one that an earlier try has ended.
	case answered && refused.status/100 == 4 && refused.code != noSuchUpload:
		return err
	case err != nil:
		return fmt.Errorf("%w: %w", ErrUnknown, err)
	case done.XMLName.Local == "Error":
		return fmt.Errorf("the store could not put the parts together: %s", done.Message)
	case done.XMLName.Local != "CompleteMultipartUploadResult":
		return fmt.Errorf("%w: it answers with <%s>", ErrUnknown, done.XMLName.Local)
	}
	u.id = ""
	return nil
}

// Abort makes the store forget what was sent and not finished. It works also when the
// context of the upload has ended.
func (u *Upload) Abort() error {
	if u.id == "" {
		return nil
	}
	_, err := u.call(context.WithoutCancel(u.ctx), http.MethodDelete, url.Values{"uploadId": {u.id}}, nil, nil)
	if refused, answered := errors.AsType[*refusedError](err); answered && refused.code == noSuchUpload {
		return nil
	}
	return err
}

// call sends a request, again if the store was not reached or is busy: each of them may be
// repeated, as an upload that was begun twice is only begun.
func (u *Upload) call(ctx context.Context, method string, query url.Values, body []byte, into any) (http.Header, error) {
	pause := firstPause
	for try := 1; ; try++ {
		header, again, err := u.callOnce(ctx, method, query, body, into)
		if err == nil || !again || try == tries {
			return header, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, err
		}
		pause *= 2
	}
}

func (u *Upload) callOnce(ctx context.Context, method string, query url.Values, body []byte, into any) (header http.Header, again bool, err error) {
	text := string(body)
	target := u.at.url
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, method, target, strings.NewReader(text))
	if err != nil {
		return nil, false, err
	}
	request.Header.Set("X-Amz-Content-Sha256", fmt.Sprintf("%x", sha256.Sum256(body)))
	if u.at.token != "" {
		request.Header.Set("X-Amz-Security-Token", u.at.token)
	}
	u.at.sign.Sign(request, text)
	response, err := u.client.Do(request)
	if err != nil {
		return nil, ctx.Err() == nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, answerBytes))
	if err != nil {
		return nil, true, err
	}
	if response.StatusCode/100 != 2 {
		var refused struct{ Code, Message string }
		if xml.Unmarshal(answer, &refused) != nil || refused.Code == "" {
			refused.Code = http.StatusText(response.StatusCode)
		}
		busy := response.StatusCode >= 500 || response.StatusCode == http.StatusTooManyRequests
		return nil, busy, &refusedError{request.URL.Host, response.StatusCode, refused.Code, refused.Message}
	}
	if into == nil {
		return response.Header, false, nil
	}
	if err := xml.Unmarshal(answer, into); err != nil {
		return nil, false, fmt.Errorf("%s: unreadable answer: %w", request.URL.Host, err)
	}
	return response.Header, false, nil
}
