package awswire

// Query requests that accept JSON get a JSON answer in the shape of the XML: maps are lists of names and
// values, and absent members are null (sqs.md 1.3).

// AppendQueryJSON appends a complete answer of the Query protocol in JSON.
func (c *Shape) AppendQueryJSON(dst []byte, action, requestID string, v any) []byte {
	dst = append(append(append(dst, `{"`...), action...), `Response":{`...)
	if !c.Empty() {
		dst = append(append(append(dst, '"'), action...), `Result":`...)
		dst = append(c.appendNegotiated(dst, v), ',')
	}
	dst = append(dst, `"ResponseMetadata":{"RequestId":`...)
	return append(appendJSONString(dst, requestID), `}}}`...)
}

// AppendQueryJSONError appends the body of an error answer.
func AppendQueryJSONError(dst []byte, requestID string, e *Error) []byte {
	dst = appendJSONString(append(dst, `{"Error":{"Code":`...), e.Code)
	dst = appendJSONString(append(dst, `,"Message":`...), Shorten(e.Message))
	dst = appendJSONString(append(dst, `,"Type":`...), e.Fault())
	dst = appendJSONString(append(dst, `},"RequestId":`...), requestID)
	return append(dst, '}')
}

// negotiatedNames has the members with another name in this form (AWS).
var negotiatedNames = map[string]string{"Messages": "messages", "QueueUrls": "queueUrls"}

func (c *Shape) appendNegotiated(dst []byte, v any) []byte {
	dst = append(dst, '{')
	for i, m := range c.members {
		if i > 0 {
			dst = append(dst, ',')
		}
		name := c.names[i]
		if other, renamed := negotiatedNames[name]; renamed {
			name = other
		}
		dst = append(append(append(dst, '"'), name...), '"', ':')
		if m.present(v) {
			dst = m.appendNegotiated(dst, v)
		} else {
			dst = append(dst, "null"...)
		}
	}
	return append(dst, '}')
}

// appendList appends n values as a list.
func appendList(dst []byte, n int, value func(dst []byte, i int) []byte) []byte {
	dst = append(dst, '[')
	for i := range n {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = value(dst, i)
	}
	return append(dst, ']')
}

func (m stringMember) appendNegotiated(dst []byte, v any) []byte { return m.appendJSON(dst, v) }
func (m textMember) appendNegotiated(dst []byte, v any) []byte   { return m.appendJSON(dst, v) }
func (m intMember) appendNegotiated(dst []byte, v any) []byte    { return m.appendJSON(dst, v) }
func (m boolMember) appendNegotiated(dst []byte, v any) []byte   { return m.appendJSON(dst, v) }
func (m blobMember) appendNegotiated(dst []byte, v any) []byte   { return m.appendJSON(dst, v) }
func (m listMember) appendNegotiated(dst []byte, v any) []byte   { return m.appendJSON(dst, v) }

func (m mapMember) appendNegotiated(dst []byte, v any) []byte {
	pairs := *m.at(v)
	return appendList(dst, len(pairs), func(dst []byte, i int) []byte {
		dst = append(append(append(dst, `{"`...), m.key...), `":`...)
		dst = appendJSONString(dst, pairs[i].Key)
		dst = append(append(append(dst, `,"`...), m.value...), `":`...)
		return append(appendJSONString(dst, pairs[i].Value), '}')
	})
}
