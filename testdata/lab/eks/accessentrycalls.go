package eks

import (
	"net/http"
	"slices"

	"github.com/whittle-dev/whittle/testdata/lab/wire"
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

func (s *Service) deleteAccessEntry(_ *wire.Call, path []string) (any, error) {
	c, entry, err := s.entry(path[0], path[1])
	if err != nil {
		return nil, err
	}
	c.remove(entry.principal)
	return map[string]any{}, nil
}

func (s *Service) associateAccessPolicy(call *wire.Call, path []string) (any, error) {
	c, entry, err := s.entry(path[0], path[1])
	if err != nil {
		return nil, err
	}
	var in struct {
		PolicyArn   string `json:"policyArn"`
		AccessScope struct {
			Type string `json:"type"`
		} `json:"accessScope"`
	}
	if err := call.DecodeJSON(&in); err != nil {
		return nil, err
	}
	if !slices.Contains(entry.policies, in.PolicyArn) {
		if err := associate(entry, in.PolicyArn, in.AccessScope.Type); err != nil {
			return nil, err
		}
	}
	return map[string]any{
		"clusterName": c.Name, "principalArn": entry.principal, "associatedAccessPolicy": s.associated(entry)[0],
	}, nil
}

func (s *Service) listAccessPolicies(_ *wire.Call, path []string) (any, error) {
	c, entry, err := s.entry(path[0], path[1])
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"clusterName": c.Name, "principalArn": entry.principal, "associatedAccessPolicies": s.associated(entry),
	}, nil
}

func (s *Service) disassociateAccessPolicy(_ *wire.Call, path []string) (any, error) {
	_, entry, err := s.entry(path[0], path[1])
	if err != nil {
		return nil, err
	}
	if !slices.Contains(entry.policies, path[2]) {
		return nil, wire.Errorf("ResourceNotFoundException", http.StatusNotFound,
			"The specified policyArn could not be found: %s", path[2])
	}
	entry.policies = slices.DeleteFunc(entry.policies, func(policy string) bool { return policy == path[2] })
	return map[string]any{}, nil
}

// associated are the entry's policies, in EKS's form.
func (s *Service) associated(entry *accessEntry) []any {
	shown := []any{}
	for _, policy := range entry.policies {
		shown = append(shown, map[string]any{
			"policyArn": policy, "accessScope": map[string]any{"type": "cluster", "namespaces": []string{}},
			"associatedAt": wire.Time{Time: entry.modified}, "modifiedAt": wire.Time{Time: entry.modified},
		})
	}
	return shown
}
