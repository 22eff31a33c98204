package eks

import (
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/whittle-dev/whittle/infra/local/wire"
)

func (s *Service) entry(clusterName, principal string) (*cluster, *accessEntry, error) {
	c, err := s.cluster(clusterName)
	if err != nil {
		return nil, nil, err
	}
	entry := c.entries[principal]
	if entry == nil {
		return nil, nil, wire.Errorf("ResourceNotFoundException", http.StatusNotFound,
			"The specified principalArn could not be found. You can view your available access entries with "+
				"'list-access-entries': %s", principal)
	}
	return c, entry, nil
}

func (s *Service) createAccessEntry(call *wire.Call, path []string) (any, error) {
	c, err := s.cluster(path[0])
	if err != nil {
		return nil, err
	}
	in := &entryRequest{}
	if err := call.DecodeJSON(in); err != nil {
		return nil, err
	}
	entry, err := s.addEntry(c, in)
	if err != nil {
		return nil, err
	}
	return map[string]any{"accessEntry": entry.describe(c.Name)}, nil
}

func (s *Service) describeAccessEntry(_ *wire.Call, path []string) (any, error) {
	c, entry, err := s.entry(path[0], path[1])
	if err != nil {
		return nil, err
	}
	return map[string]any{"accessEntry": entry.describe(c.Name)}, nil
}

func (s *Service) updateAccessEntry(call *wire.Call, path []string) (any, error) {
	c, entry, err := s.entry(path[0], path[1])
	if err != nil {
		return nil, err
	}
	in := &entryRequest{}
	if err := call.DecodeJSON(in); err != nil {
		return nil, err
	}
	if err := in.check(entry.kind); err != nil {
		return nil, err
	}
	if in.KubernetesGroups != nil {
		entry.groups = in.KubernetesGroups
	}
	if in.Username != "" {
		entry.username = in.Username
	}
	entry.modified = time.Now()
	return map[string]any{"accessEntry": entry.describe(c.Name)}, nil
}

func (s *Service) deleteAccessEntry(_ *wire.Call, path []string) (any, error) {
	c, entry, err := s.entry(path[0], path[1])
	if err != nil {
		return nil, err
	}
	c.remove(entry.principal)
	return map[string]any{}, nil
}

func (s *Service) listAccessEntries(_ *wire.Call, path []string) (any, error) {
	c, err := s.cluster(path[0])
	if err != nil {
		return nil, err
	}
	return map[string]any{"accessEntries": append([]string{}, slices.Sorted(maps.Keys(c.entries))...)}, nil
}

type associatedPolicyJSON struct {
	PolicyARN    string      `json:"policyArn"`
	AccessScope  accessScope `json:"accessScope"`
	AssociatedAt wire.Time   `json:"associatedAt"`
	ModifiedAt   wire.Time   `json:"modifiedAt"`
}

func (p policyAssociation) describe() associatedPolicyJSON {
	return associatedPolicyJSON{
		p.policy, accessScope{p.scope.Type, append([]string{}, p.scope.Namespaces...)}, wire.Time{Time: p.associated},
		wire.Time{Time: p.associated},
	}
}

func (s *Service) associateAccessPolicy(call *wire.Call, path []string) (any, error) {
	c, entry, err := s.entry(path[0], path[1])
	if err != nil {
		return nil, err
	}
	var in struct {
		PolicyARN   string      `json:"policyArn"`
		AccessScope accessScope `json:"accessScope"`
	}
	if err := call.DecodeJSON(&in); err != nil {
		return nil, err
	}
	association, err := associate(entry, in.PolicyARN, in.AccessScope)
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"clusterName": c.Name, "principalArn": entry.principal, "associatedAccessPolicy": association.describe(),
	}, nil
}

func (s *Service) listAssociatedAccessPolicies(_ *wire.Call, path []string) (any, error) {
	c, entry, err := s.entry(path[0], path[1])
	if err != nil {
		return nil, err
	}
	policies := []associatedPolicyJSON{}
	for _, p := range entry.policies {
		policies = append(policies, p.describe())
	}
	return map[string]any{"clusterName": c.Name, "principalArn": entry.principal, "associatedAccessPolicies": policies},
		nil
}

func (s *Service) disassociateAccessPolicy(_ *wire.Call, path []string) (any, error) {
	_, entry, err := s.entry(path[0], path[1])
	if err != nil {
		return nil, err
	}
	before := len(entry.policies)
	entry.policies = slices.DeleteFunc(entry.policies, func(p policyAssociation) bool { return p.policy == path[2] })
	if len(entry.policies) == before {
		return nil, wire.Errorf("ResourceNotFoundException", http.StatusNotFound, "The policy %s is not associated with %s",
			path[2], entry.principal)
	}
	return map[string]any{}, nil
}
