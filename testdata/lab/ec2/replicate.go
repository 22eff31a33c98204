package ec2

import (
	"fmt"
	"maps"
)

// Replicate launches an instance like the named one, in the same subnet, for each of the maps. Its
// tags are the named one's with those of the map. It is for worlds that begin with a large fleet.
func (s *Service) Replicate(id string, tags []map[string]string) ([]Instance, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	like := s.instances[id]
	if like == nil {
		return nil, fmt.Errorf("there is no instance %s to replicate", id)
	}
	image := like.Image
	made := make([]Instance, 0, len(tags))
	for _, own := range tags {
		l := &launch{
			facts: &like.Facts, capacityType: like.CapacityType, subnet: like.grant.subnet, image: &image, data: like.data,
			interfaces: like.interfaces, profileARN: like.InstanceProfileARN, profileID: like.profileID,
			roleARN: like.RoleARN, securityGroups: like.securityGroups, instanceTags: maps.Clone(like.Tags),
			templateID: like.templateID,
		}
		maps.Copy(l.instanceTags, own)
		given, code, message := s.reserve(l)
		if code != "" {
			return made, fmt.Errorf("replicating instance %s: %s: %s", id, code, message)
		}
		made = append(made, s.start(l, given, s.identity.next("r"), 0).copied())
	}
	return made, nil
}
