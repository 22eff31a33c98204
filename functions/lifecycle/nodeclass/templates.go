package nodeclass

import (
	"slices"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
)

// Template is a launch template that Whittle has made.
type Template struct {
	ID, Name string
	Class    string // the name of the class that it was made for
	Created  time.Time
}

// templateRest is the least age at which an unused launch template is deleted.
const templateRest = time.Hour

// IdleTemplates returns the launch templates to delete. They are old, no instance was launched from
// them, and no claim of their class waits for its instance. The ids in used are those of the
// templates that instances were launched from. A template that is deleted too early costs one call:
// a launch that needs it makes it again.
func IdleTemplates(templates []Template, used []string, claims []api.NodeClaim, now time.Time) []Template {
	return slices.DeleteFunc(slices.Clone(templates), func(template Template) bool {
		waits := func(claim api.NodeClaim) bool {
			return isOf(&claim, template.Class) && claim.Status.ProviderID == ""
		}
		return slices.Contains(used, template.ID) || now.Sub(template.Created) < templateRest ||
			slices.ContainsFunc(claims, waits)
	})
}

// TemplatesOf returns the launch templates that were made for the class.
func TemplatesOf(class *api.EC2NodeClass, templates []Template) []Template {
	return slices.DeleteFunc(slices.Clone(templates), func(template Template) bool {
		return template.Class != class.Name
	})
}
