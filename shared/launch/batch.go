package launch

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// MaximumBatch is how many instances one request asks for. EC2 answers an instant
// fleet when all of it is launched, so that a larger one takes longer than an
// invocation should wait for, and a crash in it costs more looking.
const MaximumBatch = 100

// SettledAfter is how long after a claim of a batch was deleted everything is seen
// that was launched for it: a pass that read the claim before may go on for its
// function's minute, and EC2 may show an instance half a minute late.
const SettledAfter = 90 * time.Second

// Batch is a claim's place among equal ones that one request is made for. It is
// written on each of them, as an annotation, before that request: who comes after
// a crash makes the same request and gives the same instances to the same claims.
type Batch struct {
	ID string
	// Size is how many claims the batch had when it was written, Index the claim's place
	// among them, from 0.
	Size, Index int
}

// String is the annotation's value: id/size/index.
func (b Batch) String() string { return fmt.Sprintf("%s/%d/%d", b.ID, b.Size, b.Index) }

// BatchOf reads the claim's annotation; without one the claim is launched by itself
// and the batch is zero.
func BatchOf(claim *api.NodeClaim) (Batch, error) {
	text, has := claim.Annotations[api.BatchAnnotationKey]
	if !has {
		return Batch{}, nil
	}
	bad := func() (Batch, error) {
		return Batch{}, fmt.Errorf("nodeclaim %q: annotation %s is %q, want id/size/index: delete the claim", claim.Name, api.BatchAnnotationKey, text)
	}
	parts := strings.Split(text, "/")
	if len(parts) != 3 || parts[0] == "" || len(parts[0]) > maximumBatchID {
		return bad()
	}
	size, err := strconv.Atoi(parts[1])
	if err != nil || size < 1 || size > MaximumBatch {
		return bad()
	}
	index, err := strconv.Atoi(parts[2])
	if err != nil || index < 0 || index >= size {
		return bad()
	}
	return Batch{ID: parts[0], Size: size, Index: index}, nil
}

// maximumBatchID leaves room for the attempt's number in EC2's 64 characters.
const maximumBatchID = 48

// Group is the claims that one request is made for: a batch, or one claim by itself.
type Group struct {
	// ID and Size are the batch's; ID is empty for a claim by itself.
	ID   string
	Size int
	// Token is that of the request.
	Token string
	// Waiting are the claims without an instance that are not being deleted, by index.
	Waiting []api.NodeClaim
	// Present counts the batch's claims that exist, whatever has become of them.
	Present int
	// Answered tells that one of them has an instance: the request was made.
	Answered bool
	// Deleted is when the latest claim without an instance was deleted; zero without one.
	Deleted time.Time
}

// Groups gives the groups that have a claim waiting, by the time of their first claim,
// out of all claims. A claim whose annotation cannot be read is a group of its own:
// Build tells what is wrong with it.
func Groups(claims []api.NodeClaim) []Group {
	byToken := map[string]*Group{}
	var order []string
	for i := range claims {
		claim := &claims[i]
		batch, err := BatchOf(claim)
		if err != nil {
			batch = Batch{}
		}
		token := Token(claim)
		group := byToken[token]
		if group == nil {
			group = &Group{ID: batch.ID, Size: max(batch.Size, 1), Token: token}
			byToken[token] = group
			order = append(order, token)
		}
		group.Present++
		switch {
		case claim.Status.ProviderID != "":
			group.Answered = true
		case claim.DeletionTimestamp != nil:
			if claim.DeletionTimestamp.After(group.Deleted) {
				group.Deleted = claim.DeletionTimestamp.Time
			}
		default:
			group.Waiting = append(group.Waiting, *claim)
		}
	}
	var groups []Group
	for _, token := range order {
		group := byToken[token]
		if len(group.Waiting) == 0 {
			continue
		}
		slices.SortStableFunc(group.Waiting, func(a, b api.NodeClaim) int { return cmp.Compare(index(&a), index(&b)) })
		groups = append(groups, *group)
	}
	return groups
}

func index(claim *api.NodeClaim) int {
	batch, _ := BatchOf(claim)
	return batch.Index
}

// Whole tells that the group's request may be made: all of a batch's claims are there
// and wait, or an answer was had before, which the same request gives again. A batch
// whose writing was cut off was never asked for, and one that lost a claim must not be
// asked for anew.
func (g *Group) Whole() bool {
	return g.ID == "" || g.Answered || g.Present == g.Size && g.Deleted.IsZero()
}

// Claim stands for the group's claims in Build: the first of them, with the most of
// each resource that one of them asks for, so that each instance fits each claim.
func (g *Group) Claim() *api.NodeClaim {
	claim := g.Waiting[0].DeepCopy()
	for i := range g.Waiting[1:] {
		for name, requested := range g.Waiting[i+1].Spec.Resources.Requests {
			if known, has := claim.Spec.Resources.Requests[name]; !has || requested.Cmp(known) > 0 {
				if claim.Spec.Resources.Requests == nil {
					claim.Spec.Resources.Requests = corev1.ResourceList{}
				}
				claim.Spec.Resources.Requests[name] = requested
			}
		}
	}
	return claim
}

// Assign gives instances, by their ids, to the waiting claims, by their names. A claim
// gets the instance of its own place in the sorted ids, so that the same answer gives
// the same places however often and by whomever it is read; who has none there, or one
// that is another claim's by now (owned), gets one that is left.
func (g *Group) Assign(ids []string, owned map[string]bool) map[string]string {
	ids = slices.Sorted(slices.Values(ids))
	given := map[string]string{}
	taken := map[string]bool{}
	for i := range g.Waiting {
		claim := &g.Waiting[i]
		if place := index(claim); place < len(ids) && !owned[ids[place]] {
			given[claim.Name] = ids[place]
			taken[ids[place]] = true
		}
	}
	left := slices.DeleteFunc(ids, func(id string) bool { return owned[id] || taken[id] })
	for i := range g.Waiting {
		if claim := &g.Waiting[i]; given[claim.Name] == "" && len(left) > 0 {
			given[claim.Name], left = left[0], left[1:]
		}
	}
	return given
}

// Shape tells claims apart that must not be launched by one request: equal shapes are
// equal in all that Build reads but for how much of the same instance types' room they
// ask for.
func Shape(claim *api.NodeClaim, types []catalog.InstanceType) (string, error) {
	requirements, err := Requirements(claim)
	if err != nil {
		return "", err
	}
	ofType := OfType(requirements)
	shape := struct {
		Spec          api.NodeClaimSpec
		Labels        map[string]string
		Relaxed       bool
		EFA, Enclaves bool
		FittingTypes  []string
	}{
		Spec: claim.Spec, Labels: claim.Labels, Relaxed: relaxed(claim), EFA: wants(claim, api.ResourceEFA), Enclaves: wants(claim, api.ResourceNitroSandbox),
	}
	shape.Spec.Resources = api.ResourceRequirements{}
	for i := range types {
		if types[i].Requirements.IsCompatible(ofType, scheduling.UndefinedIsAbsent) && fits(claim.Spec.Resources.Requests, types[i].Allocatable) {
			shape.FittingTypes = append(shape.FittingTypes, types[i].Name)
		}
	}
	text, err := json.Marshal(shape)
	if err != nil {
		return "", fmt.Errorf("nodeclaim of nodepool %q: encoding its shape: %w", claim.Labels[api.NodePoolLabelKey], err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}
