package servicemodel

import (
	"bytes"
	"errors"
	"fmt"
	"go/format"
	"slices"
	"strings"
)

// Generate writes the Go file with the types of a list for a service with EC2's protocol. The
// list's format is described in list.go, and it says which shapes a type stands for. Generate fails
// for a shape or a member that the model does not have.
func Generate(m *Model, packageName, list string) ([]byte, error) {
	types, err := parseList(list)
	if err != nil {
		return nil, err
	}
	g := &generator{model: m, types: types}
	var out bytes.Buffer
	for _, t := range types {
		g.write(&out, t)
	}
	if len(g.failed) > 0 {
		return nil, errors.Join(g.failed...)
	}
	header := "// Code generated from AWS's service model by servicemodel; DO NOT EDIT.\n\npackage " + packageName + "\n\n"
	if g.times {
		header += "import \"time\"\n\n"
	}
	return format.Source(fmt.Appendf(nil, "%stype (\n%s)\n", header, out.Bytes()))
}

type generator struct {
	model  *Model
	types  []*listedType
	times  bool // a type has a time.Time
	failed []error
}

func (g *generator) write(out *bytes.Buffer, t *listedType) {
	var fields []string
	for _, member := range t.members {
		if member.embedded != "" {
			fields = append(fields, member.embedded)
			continue
		}
		kind, tags, err := g.field(t, member)
		if err != nil {
			g.failed = append(g.failed, fmt.Errorf("type %s: %w", t.name, err))
			continue
		}
		fields = append(fields, fmt.Sprintf("%s %s `%s`", member.field, kind, tags))
	}
	fmt.Fprintf(out, "%s struct {\n%s\n}\n", t.name, strings.Join(fields, "\n"))
}

// field returns the Go type and the tags of a member.
func (g *generator) field(t *listedType, member listedMember) (kind, tags string, err error) {
	var list []string
	both := len(t.in) > 0 && len(t.out) > 0
	if in := g.find(t.in, member.member); in != nil && !member.onlyOut {
		kind = g.typeOf(in, t, true)
		list = append(list, fmt.Sprintf("query:%q", queryName(in, member.member)))
	} else if both {
		list = append(list, `query:"-"`)
	}
	if out := g.find(t.out, member.member); out != nil && !member.onlyIn {
		if kind == "" {
			kind = g.typeOf(out, t, false)
		}
		list = append(list, fmt.Sprintf("xml:%q", g.xmlName(out, t, member)))
	} else if both {
		list = append(list, `xml:"-"`)
	}
	if len(list) > 0 && member.overridden != "" {
		kind = member.overridden
	}
	if kind == "" {
		return "", "", fmt.Errorf("no shape of it has the member %s with a known type", member.member)
	}
	if t.json {
		list = append(list, fmt.Sprintf("json:%q", member.member))
	}
	if member.pointer {
		kind = "*" + kind
	}
	return kind, strings.Join(list, " "), nil
}

// find returns the first member of that name in the shapes, nil for none.
func (g *generator) find(shapes []string, member string) *Ref {
	for _, name := range shapes {
		shape := g.model.Shapes[name]
		if shape == nil {
			g.failed = append(g.failed, fmt.Errorf("the model has no shape %s", name))
			continue
		}
		if ref := shape.Members[member]; ref != nil {
			return ref
		}
	}
	return nil
}

// queryName is the name of a request's parameter in EC2's protocol.
func queryName(ref *Ref, member string) string {
	switch {
	case ref.QueryName != "":
		return ref.QueryName
	case ref.LocationName != "":
		return strings.ToUpper(ref.LocationName[:1]) + ref.LocationName[1:]
	default:
		return member
	}
}

// xmlName is the name of an answer's element. A type that is also part of requests has plain lists,
// so that their elements are part of the name.
func (g *generator) xmlName(ref *Ref, t *listedType, member listedMember) string {
	name := ref.LocationName
	if name == "" {
		name = member.member
	}
	if shape := g.model.Shapes[ref.Shape]; shape.Type == "list" && len(t.in) > 0 {
		item := shape.Member.LocationName
		if item == "" {
			item = "item"
		}
		name += ">" + item
	}
	if member.omit {
		name += ",omitempty"
	}
	return name
}

// typeOf is the Go type of a shape; empty for a structure that the list does not have.
func (g *generator) typeOf(ref *Ref, t *listedType, in bool) string {
	shape := g.model.Shapes[ref.Shape]
	switch shape.Type {
	case "list":
		element := g.typeOf(shape.Member, t, in)
		if element == "" {
			return ""
		}
		if len(t.in) > 0 {
			return "[]" + element
		}
		return "set[" + element + "]"
	case "structure":
		return g.structure(ref.Shape, in)
	case "timestamp":
		if in && len(t.out) == 0 {
			g.times = true
			return "time.Time"
		}
		return "string"
	default:
		return map[string]string{
			"string": "string", "boolean": "bool", "integer": "int", "long": "int64", "double": "float64", "float": "float64",
		}[shape.Type]
	}
}

// structure is the listed type of a shape.
func (g *generator) structure(shape string, in bool) string {
	for _, t := range g.types {
		if in && slices.Contains(t.in, shape) || !in && slices.Contains(t.out, shape) {
			return t.name
		}
	}
	return ""
}
