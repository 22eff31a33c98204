package document

import (
	"slices"
	"strconv"
	"strings"
)

// Path is a field's place in a document: keys of objects (string) and indexes of list entries
// (int).
type Path []any

// With returns the path of a field below p.
func (p Path) With(steps ...any) Path { return append(slices.Clone(p), steps...) }

// String formats the path like Kubernetes: spec.containers[0].resources. A key with dots or slashes
// is in brackets: nodeSelector[kubernetes.io/arch].
func (p Path) String() string {
	var text strings.Builder
	for _, step := range p {
		switch step := step.(type) {
		case int:
			text.WriteString("[" + strconv.Itoa(step) + "]")
		case string:
			switch {
			case strings.ContainsAny(step, "./[] "):
				text.WriteString("[" + step + "]")
			case text.Len() > 0:
				text.WriteString("." + step)
			default:
				text.WriteString(step)
			}
		}
	}
	return text.String()
}

// ParsePath reads String's format.
func ParsePath(text string) Path {
	var path Path
	for text != "" {
		if inner, ok := strings.CutPrefix(text, "["); ok {
			key, rest, _ := strings.Cut(inner, "]")
			if n, err := strconv.Atoi(key); err == nil {
				path = append(path, n)
			} else {
				path = append(path, key)
			}
			text = strings.TrimPrefix(rest, ".")
			continue
		}
		end := strings.IndexAny(text, ".[")
		if end < 0 {
			return append(path, text)
		}
		path = append(path, text[:end])
		text = strings.TrimPrefix(text[end:], ".")
	}
	return path
}
