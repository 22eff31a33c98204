package ec2

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// tagged is a resource with its tags.
type tagged struct {
	id, kind string
	tags     map[string]string
	// shown are the tags that a call sees, if they differ; not nil then.
	shown map[string]string
}

// taggedResources lists everything that has tags and that a call sees, with its tags as they are.
func (s *Service) taggedResources(v view) []tagged {
	all := []tagged{{id: s.vpc.id, kind: "vpc", tags: s.vpc.tags}}
	for _, n := range s.vpc.subnets {
		all = append(all, tagged{id: n.id, kind: "subnet", tags: n.tags})
	}
	for _, g := range s.vpc.groups {
		all = append(all, tagged{id: g.id, kind: "security-group", tags: g.tags})
	}
	for _, t := range s.templates {
		all = append(all, tagged{id: t.id, kind: "launch-template", tags: t.tags})
	}
	for _, r := range s.reservations {
		all = append(all, tagged{id: r.ID, kind: "capacity-reservation", tags: r.Tags})
	}
	for _, g := range s.placementGroups {
		all = append(all, tagged{id: g.id, kind: "placement-group", tags: g.tags})
	}
	for _, i := range s.images {
		all = append(all, tagged{id: i.ID, kind: "image", tags: i.Tags})
	}
	for _, i := range s.instances {
		seen, known := i.seen(v)
		if !known {
			continue
		}
		all = append(all, tagged{i.ID, "instance", i.Tags, seen.Tags})
		if seen.ending() {
			continue
		}
		for n := range i.volumes {
			all = append(all, tagged{i.volumes[n].id, "volume", i.volumes[n].tags, i.volumes[n].seenTags(v)})
		}
	}
	slices.SortFunc(all, func(a, b tagged) int { return strings.Compare(a.id, b.id) })
	return all
}

// tagsByID finds the tags of all resources named, or names the one that is not there in EC2's way.
func (s *Service) tagsByID(ids []string) ([]tagged, error) {
	if len(ids) == 0 {
		return nil, missing("resourceIdSet")
	}
	all := s.taggedResources(s.view())
	found := make([]tagged, 0, len(ids))
	for _, id := range ids {
		at, ok := slices.BinarySearchFunc(all, id, func(r tagged, id string) int { return cmp.Compare(r.id, id) })
		if !ok {
			return nil, refuse(notFoundCode(id), "The ID '%s' does not exist", id)
		}
		found = append(found, all[at])
	}
	return found, nil
}

func notFoundCode(id string) string {
	prefix, _, _ := strings.Cut(id, "-")
	code, ok := map[string]string{
		"i": "InvalidInstanceID.NotFound", "subnet": "InvalidSubnetID.NotFound", "sg": "InvalidGroup.NotFound",
		"vpc": "InvalidVpcID.NotFound",
		"vol": "InvalidVolume.NotFound", "ami": "InvalidAMIID.NotFound", "lt": "InvalidLaunchTemplateId.NotFound",
		"cr": "InvalidCapacityReservationId.NotFound", "pg": "InvalidPlacementGroup.Unknown",
	}[prefix]
	if !ok {
		return "InvalidID"
	}
	return code
}

// ResourceTags returns the tags of the resource that an ARN names, for policies with conditions on
// them. A launch template may be named by its name.
func (s *Service) ResourceTags(arn string) (tags map[string]string, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kind, id, _ := strings.Cut(arn[strings.LastIndexByte(arn, ':')+1:], "/")
	if kind == "launch-template" {
		if t := s.templateByName(id); t != nil {
			return maps.Clone(t.tags), true
		}
	}
	for _, resource := range s.taggedResources(omniscient()) {
		if resource.id == id {
			return maps.Clone(resource.tags), true
		}
	}
	return nil, false
}

// retagged tells the replicas the tags of the instances and volumes among the resources.
func (s *Service) retagged(resources []tagged) {
	for _, i := range s.instances {
		if slices.ContainsFunc(resources, func(r tagged) bool {
			return r.id == i.ID || slices.ContainsFunc(i.volumes, func(v volume) bool { return v.id == r.id })
		}) {
			s.replicateTags(i)
		}
	}
}

func (s *Service) createTags(_ *wire.Call, in *createTagsRequest) (any, error) {
	if len(in.Tags) == 0 {
		return nil, missing("tagSet")
	}
	for _, tag := range in.Tags {
		if err := checkTag(tag); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	found, err := s.tagsByID(in.Resources)
	if err != nil {
		return nil, err
	}
	for _, resource := range found {
		after := maps.Clone(resource.tags)
		for _, tag := range in.Tags {
			after[tag.Key] = tag.Value
		}
		if len(after) > 50 {
			return nil, refuse("TagLimitExceeded", "A resource can have at most 50 tags: %s would have %d", resource.id,
				len(after))
		}
	}
	for _, resource := range found {
		for _, tag := range in.Tags {
			resource.tags[tag.Key] = tag.Value
		}
	}
	s.retagged(found)
	return &returned{true}, nil
}

func (s *Service) deleteTags(_ *wire.Call, in *deleteTagsRequest) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, err := s.tagsByID(in.Resources)
	if err != nil {
		return nil, err
	}
	for _, resource := range found {
		if len(in.Tags) == 0 { // all of the user's tags
			maps.DeleteFunc(resource.tags, func(key, _ string) bool { return !strings.HasPrefix(key, "aws:") })
		}
		for _, tag := range in.Tags {
			if value, ok := resource.tags[tag.Key]; ok && (tag.Value == nil || *tag.Value == value) {
				delete(resource.tags, tag.Key)
			}
		}
	}
	s.retagged(found)
	return &returned{true}, nil
}
