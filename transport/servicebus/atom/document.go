package atom

import (
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/seriatimq/seriatim/transport/budget"
	"github.com/seriatimq/seriatim/transport/servicebus/atom/document"
)

const (
	documentType = "application/atom+xml;type=entry;charset=utf-8"
	countsSpace  = "http://schemas.microsoft.com/netservices/2011/06/servicebus"

	// bodyBytesMax bounds descriptions, which have some 2 KiB.
	bodyBytesMax = 256 << 10
)

// text is a text construct of Atom.
type text struct {
	Type  string `xml:"type,attr"`
	Value string `xml:",chardata"`
}

type link struct {
	Rel  string `xml:"rel,attr"`
	HREF string `xml:"href,attr"`
}

// entry describes one entity.
type entry struct {
	XMLName   xml.Name `xml:"http://www.w3.org/2005/Atom entry"`
	ID        string   `xml:"id"`
	Title     text     `xml:"title"`
	Published string   `xml:"published,omitempty"`
	Updated   string   `xml:"updated"`
	Author    string   `xml:"author>name"`
	Link      link     `xml:"link"`
	Content   struct {
		Type        string `xml:"type,attr"`
		Description document.Element
	} `xml:"content"`
}

// feed lists entities.
type feed struct {
	XMLName xml.Name `xml:"http://www.w3.org/2005/Atom feed"`
	Title   text     `xml:"title"`
	ID      string   `xml:"id"`
	Updated string   `xml:"updated"`
	Links   []link   `xml:"link"`
	Entries []entry
}

type errorBody struct {
	XMLName xml.Name `xml:"Error"`
	Code    string   `xml:"Code"`
	Detail  string   `xml:"Detail"`
}

// appendXML appends a document. The documents of this package have no value that XML cannot hold.
func appendXML(dst []byte, all any) []byte {
	body, err := xml.Marshal(all)
	if err != nil {
		panic("atom: " + err.Error())
	}
	return append(dst, plainly.Replace(string(body))...)
}

// plainly undoes the numeric references of the encoder, which the SDK for JavaScript does not read. The
// documents have none of these characters in an attribute.
var plainly = strings.NewReplacer("&#39;", "'", "&#34;", "&quot;", "&#xA;", "\n", "&#x9;", "\t")

// readDescription reads the description in the body of a request.
func (c *call) readDescription() (document.Element, error) {
	body, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, bodyBytesMax))
	if err != nil {
		return document.Element{}, readError(err)
	}
	var given struct {
		XMLName xml.Name `xml:"http://www.w3.org/2005/Atom entry"`
		Content struct {
			Descriptions []document.Element `xml:",any"`
		} `xml:"http://www.w3.org/2005/Atom content"`
	}
	if err := xml.Unmarshal(body, &given); err != nil || len(given.Content.Descriptions) != 1 {
		return document.Element{}, badRequest("Bad Request. The body must be an Atom entry whose content is one description.")
	}
	return given.Content.Descriptions[0], nil
}

func readError(err error) error {
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return &fault{http.StatusRequestEntityTooLarge, "RequestEntityTooLarge", "The request body is too long."}
	case errors.Is(err, budget.ErrExhausted):
		return &fault{http.StatusServiceUnavailable, "ServiceUnavailable", "Too many large requests are being read at the moment. " +
			"Nothing was written, retry."}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errGone
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &fault{http.StatusRequestTimeout, "RequestTimeout", "The request body did not arrive in time. Nothing was done."}
	}
	return badRequest("The request body could not be read.")
}
