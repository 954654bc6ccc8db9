package servicebus

import (
	"reflect"
	"testing"

	client "github.com/Azure/go-amqp"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/transport/amqp/wire"
)

// Delivery annotations behind the body, where the SDK for Python puts them, are dropped.
func TestLateDeliveryAnnotations(t *testing.T) {
	late := func(m *client.Message) []byte {
		encoded, err := m.MarshalBinary()
		clustertest.Must(t, err)
		b, mark := wire.BeginMap(wire.AppendDescriptor(encoded, wire.CodeDeliveryAnnotations))
		return mark.End(wire.AppendString(wire.AppendSymbol(b, "x-way"), "w"))
	}
	one := newMessage("1", "one")
	plainly, err := one.MarshalBinary()
	clustertest.Must(t, err)
	envelope := &client.Message{Data: [][]byte{late(one)}}
	var c content
	want, err := c.readEntries(plainly, 0, 0)
	clustertest.Must(t, err)
	for format, payload := range map[uint32][]byte{0: late(one), formatBatch: late(envelope)} {
		got, err := c.readEntries(payload, format, 0)
		clustertest.Must(t, err)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("format %x: got %+v, want %+v", format, got, want)
		}
	}
	if _, err := c.readEntries(append(late(one), late(one)...), 0, 0); err == nil {
		t.Error("two messages were read as one")
	}
}
