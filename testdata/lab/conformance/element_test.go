package conformance

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// element is one of an XML answer.
type element struct {
	name     string
	text     string
	children []*element
}

// parseXML reads an answer's outermost element.
func parseXML(body []byte) (*element, error) {
	decoder := xml.NewDecoder(bytes.NewReader(body))
	var open []*element
	for {
		token, err := decoder.Token()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = errors.New("it ends before its outermost element does")
			}
			return nil, fmt.Errorf("the answer is not XML: %w", err)
		}
		switch t := token.(type) {
		case xml.StartElement:
			e := &element{name: t.Name.Local}
			if len(open) > 0 {
				parent := open[len(open)-1]
				parent.children = append(parent.children, e)
			}
			open = append(open, e)
		case xml.CharData:
			if len(open) > 0 {
				open[len(open)-1].text += string(t)
			}
		case xml.EndElement:
			last := open[len(open)-1]
			last.text = strings.TrimSpace(last.text)
			if open = open[:len(open)-1]; len(open) == 0 {
				return last, nil
			}
		}
	}
}

// child is the first of a name, nil for none.
func (e *element) child(name string) *element {
	at := slices.IndexFunc(e.children, func(c *element) bool { return c.name == name })
	if at < 0 {
		return nil
	}
	return e.children[at]
}

// paths collects the paths of all elements that say something: an empty one without children is as
// good as absent.
func (e *element) paths(prefix string, into map[string]bool) {
	for _, c := range e.children {
		path := prefix + "/" + c.name
		if c.text != "" || len(c.children) > 0 {
			into[path] = true
		}
		c.paths(path, into)
	}
}
