package catalog

import "github.com/whittle-dev/whittle/shared/api"

// MaxPods returns the maximum number of pods of a node of the type, by the class's settings. An
// expression counts as no setting.
func MaxPods(settings Settings, class *api.EC2NodeClass, info *InstanceTypeInfo) int {
	m := &model{class: class, settings: settings}
	return m.pods(info)
}
