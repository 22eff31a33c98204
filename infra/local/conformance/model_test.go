package conformance

import "fmt"

// model is a service as botocore's service-2.json describes it.
type model struct {
	Metadata struct {
		Protocol string `json:"protocol"`
	} `json:"metadata"`
	Operations map[string]struct {
		Output *shapeRef `json:"output"`
	} `json:"operations"`
	Shapes map[string]*shape `json:"shapes"`
}

// shapeRef names a shape where it is used; the name of its element may be another than the member's.
type shapeRef struct {
	Shape         string `json:"shape"`
	LocationName  string `json:"locationName"`
	Flattened     bool   `json:"flattened"`
	ResultWrapper string `json:"resultWrapper"`
}

// shape is a type.
type shape struct {
	Type      string               `json:"type"`
	Members   map[string]*shapeRef `json:"members"`
	Required  []string             `json:"required"`
	Member    *shapeRef            `json:"member"`
	Key       *shapeRef            `json:"key"`
	Value     *shapeRef            `json:"value"`
	Enum      []string             `json:"enum"`
	Flattened bool                 `json:"flattened"`
}

// output is the shape of an action's answer; nil for an action without one.
func (m *model) output(action string) (*shapeRef, error) {
	operation, known := m.Operations[action]
	if !known {
		return nil, fmt.Errorf("the model has no action %s", action)
	}
	return operation.Output, nil
}
