package description

import "errors"

// Entity is a queue with the properties that are not left to their defaults.
type Entity struct {
	Path       string
	Properties []Property
}

// Queue returns the properties of the queue. Refused properties have their defaults.
func (e *Entity) Queue() (q Queue, refused []*Refused) {
	q = Default()
	for _, p := range e.Properties {
		if err, ok := errors.AsType[*Refused](q.Set(p.Name, p.Value)); ok {
			refused = append(refused, err)
		}
	}
	return q, refused
}
