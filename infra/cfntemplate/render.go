package cfntemplate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/shared/nearest"
)

// Input is what a template is rendered for.
type Input struct {
	Cluster string
	// Bucket holds the functions' zips under the keys Folder/FUNCTION.zip.
	Bucket, Folder string
	// ManifestHash is the SHA-256 of install's zip, in hexadecimal.
	ManifestHash string
	// Set are the values of settings, by their keys.
	Set map[string]string
}

// Values returns the value of each setting: the given one, or the default. It checks the given ones.
func (b *Bundle) Values(set map[string]string) (map[string]string, error) {
	known := map[string]Setting{}
	values := map[string]string{}
	for _, s := range b.Settings {
		known[s.Key] = s
		values[s.Key] = s.Default
	}
	for _, key := range slices.Sorted(maps.Keys(set)) {
		s, ok := known[key]
		if !ok {
			return nil, unknown(key, known)
		}
		if set[key] == "" {
			continue
		}
		value, err := s.check(set[key])
		if err != nil {
			return nil, err
		}
		values[key] = value
	}
	for _, s := range b.Settings {
		if err := s.together(values); err != nil {
			return nil, err
		}
	}
	return values, nil
}

func unknown(key string, known map[string]Setting) error {
	names := slices.Sorted(maps.Keys(known))
	if meant := nearest.To(key, names); meant != "" {
		return fmt.Errorf("%s: there is no such setting of a template: did you mean %s?", key, meant)
	}
	return fmt.Errorf("%s: a template has no such setting: deploy with the CDK, or use one of %s", key,
		strings.Join(names, ", "))
}

// check returns a value in the form of templates.
func (s Setting) check(value string) (string, error) {
	pattern, err := regexp.Compile(`^(?:` + s.Pattern + `)$`)
	if err != nil {
		return "", fmt.Errorf("%s: its pattern is damaged: take the release again: %w", s.Key, err)
	}
	items := []string{value}
	if s.List {
		items = strings.Split(value, ",")
	}
	for i, item := range items {
		items[i] = strings.TrimSpace(item)
		if !pattern.MatchString(items[i]) {
			return "", fmt.Errorf("%s: %q is no such value: an example is %s=%s", s.Key, items[i], s.Key, s.Example)
		}
	}
	if s.Duration {
		duration, err := time.ParseDuration(items[0])
		if err != nil {
			return "", fmt.Errorf("%s: %q is no duration: an example is %s=%s", s.Key, value, s.Key, s.Example)
		}
		return duration.String(), nil
	}
	return strings.Join(items, ","), nil
}

// together compares a setting with others.
func (s Setting) together(values map[string]string) error {
	value := values[s.Key]
	if value == "" {
		return nil
	}
	for _, other := range s.Needs {
		if values[other] == "" {
			return fmt.Errorf("%s: it needs %s too: give both, or none", s.Key, other)
		}
	}
	if s.Alone == "" {
		return nil
	}
	if strings.Contains(values[s.Alone], ",") {
		return fmt.Errorf("%s: more than one of %s needs the CDK: give one, or leave %s out and add the rules yourself",
			s.Key, s.Alone, s.Key)
	}
	if values[s.Alone] == value {
		return fmt.Errorf("%s: %s is one of %s, which needs no rule: leave %s out", s.Key, value, s.Alone, s.Key)
	}
	return nil
}

// Render returns the template for a cluster.
func (b *Bundle) Render(in Input) ([]byte, error) {
	if err := CheckCluster(in.Cluster); err != nil {
		return nil, err
	}
	values, err := b.Values(in.Set)
	if err != nil {
		return nil, err
	}
	var parts []string
	for _, s := range b.Settings {
		part := s.Shapes[values[s.Key]]
		if part == "" && values[s.Key] != "" {
			part = s.Shapes["*"]
		}
		if part != "" {
			parts = append(parts, part)
		}
	}
	text, ok := b.Templates[Shape(parts)]
	if !ok {
		return nil, fmt.Errorf("the release has no template with %s: deploy with the CDK", Shape(parts))
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var content any
	if err := decoder.Decode(&content); err != nil {
		return nil, fmt.Errorf("the templates are damaged: take the release again: %w", err)
	}
	made, _ := b.renderer(in, values).walk(content)
	var rendered bytes.Buffer
	encoder := json.NewEncoder(&rendered)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(made); err != nil {
		return nil, err
	}
	return rendered.Bytes(), nil
}

// renderer replaces placeholders.
type renderer struct {
	// whole has, for each string or number that is a placeholder as a whole, what replaces it: several
	// items in a list. None means that it is left out.
	whole map[string][]string
	// parts replaces names within strings.
	parts *strings.Replacer
}

func (b *Bundle) renderer(in Input, values map[string]string) *renderer {
	r := &renderer{whole: map[string][]string{CodeBucket: {in.Bucket}, ManifestHash: {in.ManifestHash}}}
	for _, name := range b.Functions {
		r.whole[CodeKey+name] = []string{in.Folder + "/" + name + ".zip"}
	}
	for _, s := range b.Settings {
		value := values[s.Key]
		items := []string{value}
		switch {
		case value == "":
			items = nil
		case s.List:
			items = strings.Split(value, ",")
		}
		if s.Placeholder != "" {
			r.whole[s.Placeholder] = items
		}
		if s.NameOf != "" && value != "" {
			r.whole[s.NameOf] = []string{value[strings.LastIndex(value, "/")+1:]}
		} else if s.NameOf != "" {
			r.whole[s.NameOf] = nil
		}
	}
	// A longer id comes first: it may begin with a shorter one.
	ids := slices.SortedFunc(maps.Keys(b.Paths), func(a, c string) int {
		if len(a) != len(c) {
			return len(c) - len(a)
		}
		return strings.Compare(a, c)
	})
	var pairs []string
	for _, id := range ids {
		pairs = append(pairs, id, LogicalID(append([]string{in.Cluster}, strings.Split(b.Paths[id], "/")...)))
	}
	names := NamesOf(in.Cluster)
	pairs = append(pairs, reservedPrefix, names.Prefix, reservedRolePrefix, names.RolePrefix, ReservedCluster, in.Cluster)
	r.parts = strings.NewReplacer(pairs...)
	return r
}

// walk returns a value with its placeholders replaced. It is not kept if it is a placeholder without a
// value, or holds nothing else.
func (r *renderer) walk(value any) (made any, kept bool) {
	switch v := value.(type) {
	case string:
		if items, ok := r.whole[v]; ok {
			return strings.Join(items, ","), len(items) > 0
		}
		return r.parts.Replace(v), true
	case json.Number:
		if items, ok := r.whole[v.String()]; ok {
			return json.Number(strings.Join(items, ",")), len(items) > 0
		}
	case []any:
		return r.walkList(v)
	case map[string]any:
		items := map[string]any{}
		for key, item := range v {
			if item, kept := r.walk(item); kept {
				items[r.parts.Replace(key)] = item
			}
		}
		return items, len(items) > 0 || len(v) == 0
	}
	return value, true
}

func (r *renderer) walkList(list []any) (made any, kept bool) {
	items := []any{}
	for _, item := range list {
		if text, ok := item.(string); ok && r.whole[text] != nil {
			for _, one := range r.whole[text] {
				items = append(items, one)
			}
			continue
		}
		if item, kept := r.walk(item); kept {
			items = append(items, item)
		}
	}
	return items, len(items) > 0 || len(list) == 0
}
