package check

import (
	"strings"

	"github.com/whittle-dev/whittle/functions/console/faults"
	"github.com/whittle-dev/whittle/shared/api"
)

// objects tells all faults of the NodePools and the EC2NodeClasses at once.
func objects(f *Facts) []Finding {
	var all []Finding
	pools, classes := f.Kube.Value.NodePools, f.Kube.Value.NodeClasses
	for i := range pools {
		if ref := pools[i].Spec.Template.Spec.NodeClassRef; ref != nil && ref.Group != api.AWSGroup {
			continue // of EKS Auto Mode, or of another provider
		}
		all = append(all, refused(faults.Of(pools[i].ValidateAll()))...)
		if name, near, without := faults.Classless(&pools[i], classes); without {
			all = append(all, line(subject(api.NodePoolKind, pools[i].Name), Problem,
				"create the class, or correct spec.template.spec.nodeClassRef.name"+near,
				"there is no EC2NodeClass %q: no node is launched", name)...)
		}
		for _, text := range pools[i].Warnings() {
			all = append(all, line(subject(api.NodePoolKind, pools[i].Name), Warning, "correct the value", "%s",
				strings.TrimPrefix(text, subject(api.NodePoolKind, pools[i].Name)+": "))...)
		}
	}
	for i := range classes {
		all = append(all, refused(faults.Of(classes[i].Validate()))...)
		all = append(all, refused(faults.Of(classes[i].Placeholders()))...)
		if fault := faults.Alias(&classes[i]); fault != nil {
			all = append(all, refused([]*api.FieldError{fault})...)
		}
	}
	return all
}

// subject names an object as errors do.
func subject(kind, name string) string { return kind + ` "` + name + `"` }

// refused are findings about fields. Whittle launches no node for such an object.
func refused(fields []*api.FieldError) []Finding {
	var all []Finding
	for _, field := range fields {
		all = append(all, line(subject(field.Kind, field.Name), Problem, "correct the field: no node is launched", "%s: %s",
			field.Path, field.Text())...)
	}
	return all
}
