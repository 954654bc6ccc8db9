package aws

import (
	"testing"

	"github.com/seriatimq/seriatim/transport/service"
)

func TestLinesMustSayAll(t *testing.T) {
	whole := Line{
		Name: "GetThing", Permission: "sqs:GetThing", Effect: service.Reads,
		Resource: func(*Call, any) (service.Resource, error) { return service.Resource{}, nil },
	}
	whole.complete()
	for name, change := range map[string]func(*Line){
		"no permission": func(l *Line) { l.Permission = "" },
		"no resource":   func(l *Line) { l.Resource = nil },
		"no effect":     func(l *Line) { l.Effect = 0 },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a line with %s was accepted", name)
				}
			}()
			line := whole
			change(&line)
			line.complete()
		}()
	}
}
