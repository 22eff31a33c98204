package release

import (
	"fmt"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
)

const (
	// DefaultBake is how long the nodes of a stage must be healthy before the next stage.
	DefaultBake = 10 * time.Minute
	// longestBake bounds a typing error. A release that bakes for longer never ends.
	longestBake = 7 * 24 * time.Hour
)

// Setting is what the owner of a pool wants of its releases.
type Setting struct {
	// Off rolls a release out as Karpenter does: within the budgets, whatever comes of it.
	Off  bool
	Bake time.Duration
	// Problem names an annotation that cannot be read, with the remedy. The default counts then.
	Problem string
}

// SettingOf reads the annotation of the pool, or else that of its class, which may be nil.
func SettingOf(pool *api.NodePool, class *api.EC2NodeClass) Setting {
	if text, has := pool.Annotations[api.ReleaseAnnotationKey]; has {
		return parse(text, fmt.Sprintf("nodepool %q", pool.Name))
	}
	if class != nil {
		if text, has := class.Annotations[api.ReleaseAnnotationKey]; has {
			return parse(text, fmt.Sprintf("ec2nodeclass %q", class.Name))
		}
	}
	return Setting{Bake: DefaultBake}
}

func parse(text, subject string) Setting {
	if text == api.ReleaseOff {
		return Setting{Off: true, Bake: DefaultBake}
	}
	bake, err := time.ParseDuration(text)
	if err != nil || bake <= 0 || bake > longestBake {
		return Setting{Bake: DefaultBake, Problem: fmt.Sprintf(
			"%s: annotation %s is %q: write %s, or a duration up to 168h such as %q",
			subject, api.ReleaseAnnotationKey, text, api.ReleaseOff, "10m")}
	}
	return Setting{Bake: bake}
}
