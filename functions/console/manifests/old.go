package manifests

import (
	"fmt"

	"github.com/whittle-dev/whittle/functions/console/document"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/api/legacy"
)

// convertOld adds what the objects of old kinds become. Of an old and a new object with one name
// the new one counts, as in a cluster. Changes that lose something become warnings. Nodes of
// templates without a profile have the stack's role, whose name no plan depends on.
func (r *reader) convertOld() {
	old := r.manifests.Old
	old.Taken = func(class string) bool { return r.has(api.EC2NodeClass{}, class) }
	for _, output := range legacy.Convert(old, legacy.Settings{Role: legacy.UnknownRole}) {
		d := r.sourceOf(output)
		switch {
		case output.Pool != nil && !r.isTaken(d, output, *output.Pool, output.Pool.Name):
			output.Pool.Default()
			r.manifests.NodePools = append(r.manifests.NodePools, *output.Pool)
		case output.Class != nil && !r.isTaken(d, output, *output.Class, output.Class.Name):
			output.Class.Default()
			r.manifests.NodeClasses = append(r.manifests.NodeClasses, *output.Class)
		case output.Claim != nil && !r.isTaken(d, output, *output.Claim, output.Claim.Name):
			output.Claim.Default()
			r.manifests.NodeClaims = append(r.manifests.NodeClaims, *output.Claim)
		}
		for _, change := range output.Changes {
			r.warnChange(d, output, change)
		}
	}
}

func (r *reader) has(object any, name string) bool {
	_, there := r.seen[keyOf(object, "", name)]
	return there
}

// isTaken reports, with a warning, whether a file has a new object of the name.
func (r *reader) isTaken(d *document.Document, output legacy.Output, object any, name string) bool {
	if !r.has(object, name) {
		return false
	}
	r.warnf(d, nil, "%s %q is ignored: the files have a newer object of its name", output.Kind, output.Name)
	return true
}

// warnChange warns about a change that loses something. A change may be about another object than
// the output's.
func (r *reader) warnChange(d *document.Document, output legacy.Output, change legacy.Change) {
	if change.Level == legacy.Noted {
		return
	}
	var path document.Path
	if change.Kind == output.Kind && change.Name == output.Name {
		path = document.ParsePath(change.Field)
	}
	text := ""
	if change.Level == legacy.Blocking {
		text = "; a cluster would not use it"
	}
	r.warnf(d, path, "%s%s", change, text)
}

// sourceOf returns the document of an old object.
func (r *reader) sourceOf(output legacy.Output) *document.Document {
	for _, object := range []any{
		legacy.Provisioner{}, legacy.AWSNodeTemplate{}, legacy.NodePool{}, legacy.EC2NodeClass{}, legacy.NodeClaim{},
	} {
		key := keyOf(object, "", output.Name)
		if place, there := r.seen[key]; there && key == fmt.Sprintf("legacy.%s /%s", output.Kind, output.Name) {
			return place.d
		}
	}
	return nil // does not happen: an output has a source
}

// IsOld reports whether a kind is one before karpenter.sh/v1 that is converted.
func IsOld(apiVersion, kind string) bool {
	switch apiVersion {
	case legacy.ProvisionerAPIVersion:
		return kind == legacy.ProvisionerKind
	case legacy.AWSNodeTemplateAPIVersion:
		return kind == legacy.AWSNodeTemplateKind
	case legacy.BetaAPIVersion:
		return kind == api.NodePoolKind || kind == api.NodeClaimKind
	case legacy.AWSBetaAPIVersion:
		return kind == api.EC2NodeClassKind
	}
	return false
}
