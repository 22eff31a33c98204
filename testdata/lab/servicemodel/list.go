package servicemodel

import (
	"fmt"
	"strings"
)

// A list of types has a line for each Go type with the shapes that it stands for, and indented
// lines with the members that it holds:
//
//	imageXML out:Image
//		ImageId OwnerAlias=ImageOwnerAlias? Tags
//
// A shape after in: is part of a request, one after out: part of an answer. A type with the word
// json is also a property of a CloudFormation resource. A member may have these marks, in this
// order:
//
//	Name=Member   the field has another name
//	*             the field is a pointer
//	?             an answer omits an empty value
//	<, >          the field is for requests only, or for answers only
//	:type         the field has another type
//
// +type embeds a type. A line that begins with # is a comment.

// listedType is a type of the list.
type listedType struct {
	name    string
	in, out []string // shapes
	json    bool
	members []listedMember
}

// listedMember is a field of a listed type.
type listedMember struct {
	field, member   string
	embedded        string // a type; the other fields are empty
	pointer, omit   bool
	onlyIn, onlyOut bool
	overridden      string // the type, if it is not the model's
}

// parseList reads a list of types.
func parseList(text string) ([]*listedType, error) {
	var list []*listedType
	for number, line := range strings.Split(text, "\n") {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || strings.HasPrefix(words[0], "#"):
		case !strings.HasPrefix(line, "\t"):
			t, err := parseType(words)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", number+1, err)
			}
			list = append(list, t)
		case len(list) == 0:
			return nil, fmt.Errorf("line %d: members before the first type", number+1)
		default:
			for _, word := range words {
				last := list[len(list)-1]
				last.members = append(last.members, parseMember(word))
			}
		}
	}
	return list, nil
}

func parseType(words []string) (*listedType, error) {
	t := &listedType{name: words[0]}
	for _, word := range words[1:] {
		direction, shape, _ := strings.Cut(word, ":")
		switch {
		case direction == "in" && shape != "":
			t.in = append(t.in, shape)
		case direction == "out" && shape != "":
			t.out = append(t.out, shape)
		case word == "json":
			t.json = true
		default:
			return nil, fmt.Errorf("type %s: %q is neither in:SHAPE, out:SHAPE nor json", t.name, word)
		}
	}
	return t, nil
}

func parseMember(word string) listedMember {
	if embedded, ok := strings.CutPrefix(word, "+"); ok {
		return listedMember{embedded: embedded}
	}
	var m listedMember
	word, m.overridden, _ = strings.Cut(word, ":")
	word, m.onlyOut = strings.CutSuffix(word, ">")
	word, m.onlyIn = strings.CutSuffix(word, "<")
	word, m.omit = strings.CutSuffix(word, "?")
	word, m.pointer = strings.CutSuffix(word, "*")
	var named bool
	if m.field, m.member, named = strings.Cut(word, "="); !named {
		m.field, m.member = fieldName(word), word
	}
	return m
}

// fieldName writes the initialisms of a member's name as Go does.
func fieldName(member string) string {
	var name strings.Builder
	for _, word := range words(member) {
		switch word {
		case "Api", "Arn", "Cpu", "Dhcp", "Dns", "Http", "Id", "Ip", "Os", "Tcp", "Udp":
			word = strings.ToUpper(word)
		case "Ids":
			word = "IDs"
		}
		name.WriteString(word)
	}
	return name.String()
}

// words splits a name before its capital letters.
func words(name string) []string {
	var list []string
	begin := 0
	for i := 1; i <= len(name); i++ {
		if i == len(name) || name[i] >= 'A' && name[i] <= 'Z' {
			list = append(list, name[begin:i])
			begin = i
		}
	}
	return list
}
