package aws

import (
	"testing"

	"github.com/seriatimq/seriatim/transport/service"
)

func TestLinesMustSayAll(t *testing.T) {
	whole := Line{
		Name: "GetThing", Permission: "sqs:GetThing", Effect: service.Reads, Repeat: service.Repeatable,
		Resource: func(*Call, any) (service.Resource, error) { return service.Resource{}, nil },
	}
	whole.complete()
	for name, change := range map[string]func(*Line){
		"no permission":                        func(l *Line) { l.Permission = "" },
		"no resource":                          func(l *Line) { l.Resource = nil },
		"no effect":                            func(l *Line) { l.Effect = 0 },
		"nothing about its repetition":         func(l *Line) { l.Repeat = 0 },
		"no change, and may not be repeated":   func(l *Line) { l.Repeat = service.SentOnce },
		"no change, and needs an id to repeat": func(l *Line) { l.Repeat = service.RepeatableWithID },
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
