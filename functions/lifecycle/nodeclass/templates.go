package nodeclass

import (
	"slices"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/fleet"
)

// templateRest is the least age at which an unused launch template is deleted.
const templateRest = time.Hour

// IdleTemplates returns the launch templates to delete. They are old, no instance was launched from
// them, and no claim of their class waits for its instance. A template that is deleted too early
// costs one call: a launch that needs it makes it again.
func IdleTemplates(
	templates []fleet.Template, instances []map[string]string, claims []api.NodeClaim, now time.Time,
) []fleet.Template {
	used := map[string]bool{}
	for _, tags := range instances {
		used[tags[fleet.LaunchTemplateTagKey]] = true
	}
	return slices.DeleteFunc(slices.Clone(templates), func(template fleet.Template) bool {
		waits := func(claim api.NodeClaim) bool {
			return isOf(&claim, template.Class) && claim.Status.ProviderID == ""
		}
		return used[template.ID] || now.Sub(template.Created) < templateRest || slices.ContainsFunc(claims, waits)
	})
}

// TemplatesOf returns the launch templates that were made for the class.
func TemplatesOf(class *api.EC2NodeClass, templates []fleet.Template) []fleet.Template {
	return slices.DeleteFunc(slices.Clone(templates), func(template fleet.Template) bool {
		return template.Class != class.Name
	})
}
