package nodeclaim

import (
	"testing"

	"github.com/whittle-dev/whittle/shared/api"
)

// TestTagsThatEC2ShowsAreWrittenDown tags an instance that lacks a tag, and writes down that one has all.
func TestTagsThatEC2ShowsAreWrittenDown(t *testing.T) {
	for _, test := range []struct {
		name            string
		instance        Instance
		tags, writtenOn bool
	}{
		{"without the node's name", instance("running"), true, false},
		{"with all", named(instance("running")), false, true},
		{"that ends", instance(stateShuttingDown), false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			tags, written := false, false
			for _, step := range Next(listed(view(claim(initialized), node(joined)), test.instance), now).Steps {
				switch step := step.(type) {
				case Tag:
					tags = tags || len(step.Tags) > 0
				case PatchClaim:
					metadata, _ := step.Patch["metadata"].(map[string]any)
					annotations, _ := metadata["annotations"].(map[string]any)
					written = written || annotations[api.AnnotationInstanceTagged] == "true"
				}
			}
			if tags != test.tags || written != test.writtenOn {
				t.Errorf("tags %t, writes down %t", tags, written)
			}
		})
	}
}
