package api

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

// kubeletShapes lists every setting of KubeletConfiguration, kubelet.config.k8s.io/v1beta1, with the
// JSON that it takes. A test of the module testdata/peer writes it from Kubernetes' own type.
//
//go:embed kubeletfields.json
var kubeletShapes []byte

// validateShape checks settings of the kubelet against Kubernetes' own type, as Karpenter does: each
// needs a known name and a value of its type.
func (f *findings) validateShape(path string, settings map[string]json.RawMessage) {
	var shapes map[string]any
	if err := json.Unmarshal(kubeletShapes, &shapes); err != nil {
		f.addField(path, "cannot be checked: kubeletfields.json: %v", err)
		return
	}
	for _, name := range sortedKeys(settings) {
		var value any
		if err := json.Unmarshal(settings[name], &value); err != nil {
			f.addField(path+"."+name, "is not JSON: %v", err)
			continue
		}
		f.validateField(path, name, value, shapes)
	}
}

// validateField checks one field of an object against the shapes of the object's fields.
func (f *findings) validateField(path, name string, value any, shapes map[string]any) {
	shape, known := shapes[name]
	if !known {
		shape, known = shapes["*"]
	}
	if !known {
		f.addField(path+"."+name, "is no setting of the kubelet: correct its name, or remove it")
		return
	}
	f.validateValue(path+"."+name, value, shape)
}

// validateValue checks a value of JSON against its shape: the name of a scalar, a list with the shape
// of its items, or an object with the shapes of its fields. Null is no value.
func (f *findings) validateValue(path string, value, shape any) {
	if value == nil {
		return
	}
	switch shape := shape.(type) {
	case string:
		if want := scalarProblem(shape, value); want != "" {
			f.addField(path, "is %s: write %s", jsonText(value), want)
		}
	case []any:
		list, ok := value.([]any)
		if !ok {
			f.addField(path, "is %s: write a list", jsonText(value))
			return
		}
		for i, item := range list {
			f.validateValue(fmt.Sprintf("%s[%d]", path, i), item, shape[0])
		}
	case map[string]any:
		fields, ok := value.(map[string]any)
		if !ok {
			f.addField(path, "is %s: write an object", jsonText(value))
			return
		}
		for _, name := range sortedKeys(fields) {
			f.validateField(path, name, fields[name], shape)
		}
	}
}

// scalarProblem returns what the shape takes instead of the value, or an empty text where the value
// suits it. A shape without an entry takes every value.
func scalarProblem(shape string, value any) string {
	if kind, ok := scalars()[shape]; ok && !kind.suits(value) {
		return kind.want
	}
	return ""
}

// scalar is a kind of values of JSON: which of them suit, and what to write for others.
//
// +kubebuilder:object:generate=false
type scalar struct {
	want  string
	suits func(value any) bool
}

func scalars() map[string]scalar {
	text := func(parses func(string) bool) func(any) bool {
		return func(value any) bool { text, ok := value.(string); return ok && parses(text) }
	}
	number := func(suits func(float64) bool) func(any) bool {
		return func(value any) bool { number, ok := value.(float64); return ok && suits(number) }
	}
	whole := func(n float64) bool { return n == math.Trunc(n) }
	isAmount := text(func(text string) bool { _, err := resource.ParseQuantity(text); return err == nil })
	return map[string]scalar{
		"string":  {"a text in quotes", text(func(string) bool { return true })},
		"boolean": {"true or false", func(value any) bool { _, ok := value.(bool); return ok }},
		"int32": {"a whole number", number(func(n float64) bool {
			return whole(n) && math.Abs(n) <= math.MaxInt32
		})},
		"int64":  {"a whole number", number(whole)},
		"count":  {"a whole number, zero or more", number(func(n float64) bool { return whole(n) && n >= 0 })},
		"number": {"a number", number(func(float64) bool { return true })},
		"quantity": {"an amount such as 100m or 200Mi", func(value any) bool {
			_, isNumber := value.(float64)
			return isNumber || isAmount(value)
		}},
		"duration": {"a duration such as 30s", text(func(text string) bool {
			_, err := time.ParseDuration(text)
			return err == nil
		})},
		"time": {"a time such as 2026-01-02T15:04:05Z", text(func(text string) bool {
			_, err := time.Parse(time.RFC3339, text)
			return err == nil
		})},
	}
}

// jsonText is a value as a person wrote it, shortened.
func jsonText(value any) string {
	const most = 60
	text, err := json.Marshal(value)
	if err != nil {
		return "no JSON"
	}
	if len(text) > most {
		return strings.ToValidUTF8(string(text[:most]), "") + "..."
	}
	return string(text)
}
