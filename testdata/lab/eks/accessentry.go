package eks

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// Types of access entries that the local clusters know.
const typeStandard, typeEC2Linux, typeEC2Windows = "STANDARD", "EC2_LINUX", "EC2_WINDOWS"

// forNodes reports whether entries of a type are for node roles, whose names and groups EKS
// chooses.
func forNodes(kind string) bool { return kind == typeEC2Linux || kind == typeEC2Windows }

const clusterAdminPolicy = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"

// accessEntry maps an IAM principal to a user and groups in a cluster.
type accessEntry struct {
	principal, kind, username string
	groups                    []string
	policies                  []string
	tags                      map[string]string
	created, modified         time.Time
	deleted                   time.Time // zero for an entry that exists
	arn                       string
	// asked counts the questions of the API servers while only one of them knows the change.
	asked int
}

// remove deletes the principal's entry. API servers may know it for a while.
func (c *cluster) remove(principal string) {
	if entry := c.entries[principal]; entry != nil {
		entry.deleted = time.Now()
		c.deleted[principal] = entry
		delete(c.entries, principal)
	}
}

type accessEntryJSON struct {
	ClusterName      string            `json:"clusterName"`
	PrincipalARN     string            `json:"principalArn"`
	KubernetesGroups []string          `json:"kubernetesGroups"`
	AccessEntryARN   string            `json:"accessEntryArn"`
	CreatedAt        wire.Time         `json:"createdAt"`
	ModifiedAt       wire.Time         `json:"modifiedAt"`
	Tags             map[string]string `json:"tags"`
	Username         string            `json:"username"`
	Type             string            `json:"type"`
}

func invalidParameter(format string, args ...any) error {
	return wire.Errorf("InvalidParameterException", http.StatusBadRequest, format, args...)
}

func (s *Service) newEntry(c *cluster, principal, kind string) *accessEntry {
	now := time.Now()
	sum := sha256.Sum256([]byte(c.Name + principal))
	return &accessEntry{
		principal: principal, kind: kind, username: defaultUsername(principal, kind), tags: map[string]string{}, created: now,
		modified: now,
		arn: s.arn("access-entry/" + c.Name + "/role/" + s.config.AccountID + "/" + lastPart(principal) + "/" +
			hex.EncodeToString(sum[:16])),
	}
}

// defaultUsername is EKS's default for an entry without one.
// https://docs.aws.amazon.com/eks/latest/userguide/creating-access-entries.html
func defaultUsername(principal, kind string) string {
	if forNodes(kind) {
		return "system:node:{{EC2PrivateDNSName}}"
	}
	account, role, ok := strings.Cut(strings.TrimPrefix(principal, "arn:aws:iam::"), ":role/")
	if !ok {
		return principal // a user
	}
	return "arn:aws:sts::" + account + ":assumed-role/" + lastPart(role) + "/{{SessionName}}"
}

func lastPart(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

// entryRequest has the fields of an entry in calls and templates.
type entryRequest struct {
	PrincipalARN       string            `json:"principalArn"`
	Type               string            `json:"type"`
	Username           string            `json:"username"`
	KubernetesGroups   []string          `json:"kubernetesGroups"`
	Tags               map[string]string `json:"tags"`
	ClientRequestToken string            `json:"clientRequestToken"`
}

// check holds EKS' rules for an entry of a type.
func (r *entryRequest) check(kind string) error {
	if kind != typeStandard && !forNodes(kind) {
		return invalidParameter("The access entry type %q is not one that the local EKS holds: %s, %s and %s", kind,
			typeStandard, typeEC2Linux, typeEC2Windows)
	}
	if forNodes(kind) && (len(r.KubernetesGroups) > 0 || r.Username != "") {
		return invalidParameter("An access entry of the type %s takes neither kubernetesGroups nor username", kind)
	}
	reserved := []string{"system:", "eks:", "aws:", "amazon:", "iam:"}
	for _, group := range r.KubernetesGroups {
		for _, prefix := range reserved {
			if strings.HasPrefix(group, prefix) {
				return invalidParameter("The kubernetes group name %s is invalid, it cannot start with %s", group, prefix)
			}
		}
	}
	for _, prefix := range reserved {
		if strings.HasPrefix(r.Username, prefix) {
			return invalidParameter("The username %s is invalid, it cannot start with %s", r.Username, prefix)
		}
	}
	return nil
}

// addEntry is called with the lock held.
func (s *Service) addEntry(c *cluster, in *entryRequest) (*accessEntry, error) {
	if !strings.HasPrefix(in.PrincipalARN, "arn:aws:iam::") {
		return nil, invalidParameter("The specified principalArn %q is invalid: want the ARN of an IAM role or user",
			in.PrincipalARN)
	}
	if c.entries[in.PrincipalARN] != nil {
		return nil, wire.Errorf("ResourceInUseException", http.StatusConflict,
			"The specified access entry resource is already in use on this cluster.")
	}
	kind := in.Type
	if kind == "" {
		kind = typeStandard
	}
	if err := in.check(kind); err != nil {
		return nil, err
	}
	entry := s.newEntry(c, in.PrincipalARN, kind)
	entry.groups = slices.Clone(in.KubernetesGroups)
	if forNodes(kind) {
		entry.groups = []string{"system:nodes", "system:bootstrappers"}
		if kind == typeEC2Windows {
			entry.groups = append(entry.groups, "eks:kube-proxy-windows")
		}
	}
	if in.Username != "" {
		entry.username = in.Username
	}
	for key, value := range in.Tags {
		entry.tags[key] = value
	}
	c.entries[entry.principal] = entry
	return entry, nil
}

// associate adds a policy to an entry.
func associate(entry *accessEntry, policy, scope string) error {
	if entry.kind != typeStandard {
		return wire.Errorf("InvalidRequestException", http.StatusBadRequest,
			"An access entry of the type %s takes no access policies", entry.kind)
	}
	if policy != clusterAdminPolicy || scope != "cluster" {
		return invalidParameter("The local EKS evaluates %s with the access scope cluster alone, not %s with %q",
			clusterAdminPolicy, policy, scope)
	}
	entry.policies = append(entry.policies, policy)
	return nil
}

func (e *accessEntry) describe(clusterName string) accessEntryJSON {
	return accessEntryJSON{
		clusterName, e.principal, append([]string{}, e.groups...), e.arn, wire.Time{Time: e.created},
		wire.Time{Time: e.modified}, e.tags, e.username, e.kind,
	}
}
