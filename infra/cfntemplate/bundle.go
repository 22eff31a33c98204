package cfntemplate

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Name is the file of a release with its templates.
const Name = "templates.json.gz"

// The placeholders of the functions' code.
const (
	// CodeBucket is that of the bucket. CodeKey and a function's name are that of the key of its zip.
	CodeBucket = "ZZwhittleZZbucketZZ"
	CodeKey    = "ZZwhittleZZcodeZZ"
	// ManifestHash is that of the SHA-256 of install's zip.
	ManifestHash = "ZZwhittleZZmanifestZZ"
)

// format changes with the meaning of a bundle's fields.
const format = 1

// maximumSize bounds what Read decompresses.
const maximumSize = 256 << 20

// Bundle are the templates of a release.
type Bundle struct {
	Format  int    `json:"format"`
	Version string `json:"version"`
	// Functions are the names of the functions, each with a zip.
	Functions []string `json:"functions"`
	// Settings are those that a template can be rendered with.
	Settings []Setting `json:"settings"`
	// Paths has, for each logical id of a template, the path of its construct below that of the cluster.
	Paths map[string]string `json:"paths"`
	// Templates has a template for each shape: the sorted names of its parts, separated by commas.
	Templates map[string]json.RawMessage `json:"templates"`
}

// Setting is a setting that a template can be rendered with.
type Setting struct {
	Key     string `json:"key"`
	Example string `json:"example"`
	// Pattern matches each correct value, and each item of a list.
	Pattern string `json:"pattern"`
	// List means that the value is a list, separated by commas.
	List bool `json:"list,omitempty"`
	// Duration means that the value is a duration, which templates have in Go's form.
	Duration bool `json:"duration,omitempty"`
	// Default is the value that a setting has otherwise. What holds a placeholder without a value is left
	// out.
	Default string `json:"default,omitempty"`
	// Placeholder is a text of templates that the value replaces: all of a string, or a number. NameOf is
	// one that the last part of an ARN replaces.
	Placeholder string `json:"placeholder,omitempty"`
	NameOf      string `json:"nameOf,omitempty"`
	// Shapes are the parts of the template's shape, by the value. * is any value.
	Shapes map[string]string `json:"shapes,omitempty"`
	// Needs are other settings that have to have a value.
	Needs []string `json:"needs,omitempty"`
	// Alone is a list that has to have one item if the setting has a value, and another than that value.
	Alone string `json:"alone,omitempty"`
	// Stack means that the setting is about the stack, and in no template.
	Stack bool `json:"stack,omitempty"`
}

// Shape writes the name of a shape from its parts.
func Shape(parts []string) string {
	sorted := slices.Clone(parts)
	slices.Sort(sorted)
	return strings.Join(sorted, ",")
}

// Write returns the content of a file. The same bundle gives the same bytes.
func (b *Bundle) Write() ([]byte, error) {
	b.Format = format
	content, err := json.Marshal(b)
	if err != nil {
		return nil, err
	}
	var packed bytes.Buffer
	writer, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := writer.Write(content); err != nil {
		return nil, err
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}

// Read reads the content of a file.
func Read(packed []byte) (*Bundle, error) {
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("the templates are damaged: take the release again: %w", err)
	}
	content, err := io.ReadAll(io.LimitReader(reader, maximumSize+1))
	if err != nil || len(content) > maximumSize {
		return nil, fmt.Errorf("the templates are damaged or too large: take the release again: %w", err)
	}
	var read Bundle
	if err := json.Unmarshal(content, &read); err != nil {
		return nil, fmt.Errorf("the templates are damaged: take the release again: %w", err)
	}
	if read.Format != format {
		return nil, fmt.Errorf("the templates have the form %d, and this command knows %d: use the command of the release",
			read.Format, format)
	}
	return &read, nil
}
