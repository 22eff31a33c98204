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

// MaximumBatch is how many instances one request asks for. EC2 answers for an instant fleet when
// all of it is launched. An invocation should not wait for a larger one, and after a crash more
// instances would have to be found.
const MaximumBatch = 100

// SettledAfter is how long after a claim was deleted EC2 shows every instance that was launched for it,
// or for its batch. A pass that read the claim before may go on for a minute. EC2 may show an
// instance half a minute late.
const SettledAfter = 90 * time.Second

// Batch is a claim's place among the equal claims that one request is made for. It is an annotation
// on each of them, from before that request. After a crash the next pass therefore makes the same
// request, and gives the same instances to the same claims.
type Batch struct {
	ID string
	// Size is how many claims the batch had when it was written. Index is the claim's place among
	// them, from 0.
	Size, Index int
}

// String is the annotation's value: id/size/index.
func (b Batch) String() string { return fmt.Sprintf("%s/%d/%d", b.ID, b.Size, b.Index) }

// BatchOf reads the claim's annotation. A claim without one is launched by itself, and its batch is
// zero. The error names an annotation that is not id/size/index.
func BatchOf(claim *api.NodeClaim) (Batch, error) {
	text, has := claim.Annotations[api.BatchAnnotationKey]
	if !has {
		return Batch{}, nil
	}
	bad := func() (Batch, error) {
		return Batch{}, fmt.Errorf("nodeclaim %q: annotation %s is %q, want id/size/index: delete the claim",
			claim.Name, api.BatchAnnotationKey, text)
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
	// ID and Size are those of the batch. The ID of a claim by itself is empty.
	ID   string
	Size int
	// Token is the client token of the request.
	Token string
	// Waiting are the claims without an instance that are not being deleted, by index.
	Waiting []api.NodeClaim
	// Present counts the claims of the batch that exist, in any state.
	Present int
	// Answered means that one of the claims has an instance, so that the request was made.
	Answered bool
	// Deleted is when the last claim without an instance was deleted. It is zero when none was.
	Deleted time.Time
}

// Groups divides all claims into groups, and returns those that have a waiting claim, in the order
// of their first claims. A claim with an invalid annotation is a group of its own, for which Build
// returns an error.
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

// Whole returns whether the group's request may be made. Either all claims of the batch exist and
// wait, or EC2 has answered before and gives the same answer again. A batch whose writing was cut
// off was never requested. A batch that lost a claim must not be requested again.
func (g *Group) Whole() bool {
	return g.ID == "" || g.Answered || g.Present == g.Size && g.Deleted.IsZero()
}

// Claim represents the group's claims in Build. It is the first claim, with the largest request of
// each resource, so that each instance fits each claim.
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

// Assign gives instances to the waiting claims. It returns instance ids by the claims' names. A
// claim gets the id at its index among the sorted ids, so that equal answers always give the same
// result. A claim without an id there, or whose id another claim owns, gets one of the remaining
// ids.
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

// BatchKey is equal for claims that one request may launch. Such claims are equal in all that Build
// reads, except for the resources that they request of the same instance types.
func BatchKey(claim *api.NodeClaim, types []catalog.InstanceType) (string, error) {
	requirements, err := Requirements(claim)
	if err != nil {
		return "", err
	}
	ofType := OfType(requirements)
	key := struct {
		Spec          api.NodeClaimSpec
		Labels        map[string]string
		Relaxed       bool
		Gang          string
		EFA, Enclaves bool
		FittingTypes  []string
	}{
		Spec: claim.Spec, Labels: claim.Labels, Relaxed: relaxed(claim),
		Gang: claim.Annotations[api.GangAnnotationKey], EFA: wants(claim, api.ResourceEFA),
		Enclaves: wants(claim, api.ResourceNitroSandbox),
	}
	key.Spec.Resources = api.ResourceRequirements{}
	for i := range types {
		if types[i].Requirements.IsCompatible(ofType, scheduling.UndefinedIsAbsent) &&
			fits(claim.Spec.Resources.Requests, types[i].Allocatable) {
			key.FittingTypes = append(key.FittingTypes, types[i].Name)
		}
	}
	text, err := json.Marshal(key)
	if err != nil {
		return "", fmt.Errorf("nodeclaim of nodepool %q: encoding its batch key: %w", claim.Labels[api.NodePoolLabelKey], err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}
