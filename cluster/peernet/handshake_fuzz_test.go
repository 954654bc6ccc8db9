package peernet

import (
	"bytes"
	"errors"
	"testing"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

// FuzzHandshake: no input may panic or be read beyond its length. Accepted input is encoded to the
// same bytes.
func FuzzHandshake(f *testing.F) {
	var greeting bytes.Buffer
	if err := (hello{kind: KindConsensus, group: 0, cluster: "c", from: "a-1", to: "b-2"}).write(&greeting); err != nil {
		f.Fatal(err)
	}
	f.Add(greeting.Bytes())
	var answer bytes.Buffer
	if err := answerHello(&answer, errors.New("not here"), FormatRange{1, 2}); err != nil {
		f.Fatal(err)
	}
	f.Add(answer.Bytes())
	f.Fuzz(func(t *testing.T, input []byte) {
		_, _ = readAnswer(bytes.NewReader(input)) // any error is fine
		reader := bytes.NewReader(input)
		h, err := readHello(reader)
		if err != nil {
			return
		}
		var again bytes.Buffer
		clustertest.Must(t, h.write(&again))
		read, err := readHello(bytes.NewReader(again.Bytes()))
		if err != nil || read != h {
			t.Fatalf("%+v became %+v: %v", h, read, err)
		}
		if taken := len(input) - reader.Len(); taken != again.Len() {
			t.Fatalf("%d bytes read, %d written", taken, again.Len())
		}
	})
}
