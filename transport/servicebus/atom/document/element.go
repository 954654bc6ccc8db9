package document

import (
	"encoding/xml"
	"strings"
)

// Name spaces.
const (
	ConnectSpace       = "http://schemas.microsoft.com/netservices/2010/10/servicebus/connect"
	InstanceSpace      = "http://www.w3.org/2001/XMLSchema-instance"
	schemaSpace        = "http://www.w3.org/2001/XMLSchema"
	serializationSpace = "http://schemas.microsoft.com/2003/10/Serialization/"
)

// Element is an element of a description, with a text or with elements.
type Element struct {
	XMLName  xml.Name
	Attrs    []xml.Attr `xml:",any,attr"`
	Text     string     `xml:",chardata"`
	Children []Element  `xml:",any"`
}

// Text returns an element with a text.
func Text(name, value string) Element { return Element{XMLName: xml.Name{Local: name}, Text: value} }

// Description returns an element of the schema of Service Bus.
func Description(name string, children []Element) Element {
	return Element{XMLName: xml.Name{Local: name}, Children: children, Attrs: []xml.Attr{
		{Name: xml.Name{Local: "xmlns"}, Value: ConnectSpace}, {Name: xml.Name{Local: "xmlns:i"}, Value: InstanceSpace},
	}}
}

// typed returns an element of a type by the schema of XML. Its description declares the prefix i.
func typed(name, of string, children ...Element) Element {
	return Element{XMLName: xml.Name{Local: name}, Attrs: []xml.Attr{{Name: xml.Name{Local: "i:type"}, Value: of}}, Children: children}
}

// Value returns the text of an element, which is not empty if it has elements.
func (e *Element) Value() string {
	if len(e.Children) > 0 {
		return "a list"
	}
	return strings.TrimSpace(e.Text)
}

// instance returns an attribute of the schema of XML.
func (e *Element) instance(name string) string {
	for _, a := range e.Attrs {
		if a.Name == (xml.Name{Space: InstanceSpace, Local: name}) {
			return a.Value
		}
	}
	return ""
}

// typeName returns the type of an element without its prefix.
func (e *Element) typeName() string {
	of := e.instance("type")
	return of[strings.LastIndexByte(of, ':')+1:]
}

// isNil reports whether an element stands for no value.
func (e *Element) isNil() bool { return e.instance("nil") == "true" }
