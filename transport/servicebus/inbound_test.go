package servicebus

import (
	"reflect"
	"slices"
	"testing"

	client "github.com/Azure/go-amqp"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/transport/amqp/wire"
)

// Messages are read with delivery annotations behind the body, where the SDK for Python puts them, and with
// the footer before the body, where the SDK for JavaScript puts it.
func TestSectionsInAnotherOrder(t *testing.T) {
	section := func(code uint64) []byte {
		b, mark := wire.BeginMap(wire.AppendDescriptor(nil, code))
		return mark.End(wire.AppendString(wire.AppendSymbol(b, "x-way"), "w"))
	}
	one := newMessage("1", "one")
	encoded, err := one.MarshalBinary()
	clustertest.Must(t, err)
	late, footer := section(wire.CodeDeliveryAnnotations), section(wire.CodeFooter)
	var c content
	for name, example := range map[string]struct{ given, want []byte }{
		"delivery annotations": {slices.Concat(encoded, late), encoded},
		"footer":               {slices.Concat(footer, encoded), slices.Concat(encoded, footer)},
		"both":                 {slices.Concat(late, footer, encoded), slices.Concat(encoded, footer)},
	} {
		want, err := c.readEntries(example.want, 0, 0)
		clustertest.Must(t, err)
		batch, err := (&client.Message{Data: [][]byte{example.given}}).MarshalBinary()
		clustertest.Must(t, err)
		for format, payload := range map[uint32][]byte{0: example.given, formatBatch: slices.Concat(footer, batch, late)} {
			got, err := c.readEntries(payload, format, 0)
			clustertest.Must(t, err)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s, format %x: got %+v, want %+v", name, format, got, want)
			}
		}
	}
	for name, wrong := range map[string][]byte{
		"two messages": slices.Concat(encoded, encoded, late), "two footers": slices.Concat(footer, footer, encoded),
		"unknown section": slices.Concat(section(wire.CodeFooter+1), encoded), "no section": slices.Concat(footer, encoded, []byte{0x40}),
	} {
		if _, err := c.readEntries(wrong, 0, 0); err == nil {
			t.Errorf("%s: read as one message", name)
		}
	}
}
