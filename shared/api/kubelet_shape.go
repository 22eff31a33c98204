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
// suits it.
func scalarProblem(shape string, value any) string {
	text, isText := value.(string)
	number, isNumber := value.(float64)
	_, isBoolean := value.(bool)
	whole := isNumber && number == math.Trunc(number)
	var suits bool
	var want string
	switch shape {
	case "any":
		suits = true
	case "string":
		suits, want = isText, "a text in quotes"
	case "boolean":
		suits, want = isBoolean, "true or false"
	case "int32":
		suits, want = whole && math.Abs(number) <= math.MaxInt32, "a whole number"
	case "int64":
		suits, want = whole, "a whole number"
	case "count":
		suits, want = whole && number >= 0, "a whole number, zero or more"
	case "number":
		suits, want = isNumber, "a number"
	case "duration":
		_, err := time.ParseDuration(text)
		suits, want = isText && err == nil, "a duration such as 30s"
	case "quantity":
		_, err := resource.ParseQuantity(text)
		suits, want = isNumber || isText && err == nil, "an amount such as 100m or 200Mi"
	case "time":
		_, err := time.Parse(time.RFC3339, text)
		suits, want = isText && err == nil, "a time such as 2026-01-02T15:04:05Z"
	}
	if suits {
		return ""
	}
	return want
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
