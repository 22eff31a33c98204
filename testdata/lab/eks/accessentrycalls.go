package eks

import (
	"net/http"

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
