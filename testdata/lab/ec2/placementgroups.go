package ec2

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// Strategies of placement groups.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/placement-strategies.html
const strategyCluster, strategySpread, strategyPartition = "cluster", "spread", "partition"

// spreadLimit is the number of instances of a spread group in one zone. partitionLimit is the
// number of partitions of a partition group.
const spreadLimit, partitionLimit = 7, 7

type placementGroup struct {
	id, name, strategy, spreadLevel string
	partitions                      int
	tags                            map[string]string
}

func (s *Service) describeGroup(g *placementGroup) placementGroupXML {
	return placementGroupXML{
		g.name, g.strategy, "available", g.id, g.partitions, g.spreadLevel, tagSet(g.tags), s.arn("placement-group", g.name),
	}
}

func (s *Service) createPlacementGroup(_ *wire.Call, in *createPlacementGroupRequest) (any, error) {
	tags, err := tagsFor("placement-group", in.TagSpecifications)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	g := &placementGroup{name: in.GroupName, strategy: in.Strategy, tags: tags}
	setDefault(&g.strategy, strategyCluster)
	switch {
	case in.GroupName == "":
		return nil, missing("groupName")
	case s.placementGroup(in.GroupName) != nil:
		return nil, refuse("InvalidPlacementGroup.Duplicate", "The placement group '%s' already exists.", in.GroupName)
	case !slices.Contains([]string{strategyCluster, strategySpread, strategyPartition}, g.strategy):
		return nil, invalidValue(g.strategy, "strategy", "Expecting cluster, spread or partition.")
	case in.PartitionCount != nil && g.strategy != strategyPartition:
		return nil, refuse(codeInvalidParameterCombination,
			"The parameter partitionCount can be used with the strategy partition alone")
	case in.SpreadLevel != "" && (g.strategy != strategySpread || in.SpreadLevel != "rack"):
		return nil, invalidValue(in.SpreadLevel, "spreadLevel", "The local EC2 holds spread groups of the level rack.")
	}
	if g.strategy == strategySpread {
		g.spreadLevel = "rack"
	}
	if g.strategy == strategyPartition {
		g.partitions = 2 // EC2's default
		if in.PartitionCount != nil {
			g.partitions = *in.PartitionCount
		}
		if g.partitions < 1 || g.partitions > partitionLimit {
			return nil, invalidValue(g.partitions, "partitionCount", "Expecting 1 to "+strconv.Itoa(partitionLimit)+".")
		}
	}
	g.id = s.identity.next("pg")
	s.placementGroups[g.id] = g
	return &placementGroupResult{s.describeGroup(g)}, nil
}

func unknownGroup(name string) error {
	return refuse("InvalidPlacementGroup.Unknown", "The Placement Group '%s' is unknown.", name)
}

// placementGroup finds a group by its id or its name.
func (s *Service) placementGroup(idOrName string) *placementGroup {
	if g := s.placementGroups[idOrName]; g != nil {
		return g
	}
	for _, g := range s.placementGroups {
		if g.name == idOrName {
			return g
		}
	}
	return nil
}

// members are the instances of a group that are not on their way out.
func (s *Service) members(g *placementGroup) []*instance {
	return s.sorted(func(i *instance) bool {
		return i.grant.group == g && i.State != ShuttingDown && i.State != Terminated
	})
}

// grantsOf are those of the group's members, and of launches that have their room and are not
// launched yet.
func (s *Service) grantsOf(group *placementGroup) []*grant {
	var all []*grant
	for _, i := range s.members(group) {
		all = append(all, i.grant)
	}
	for g := range s.pending {
		if g.group == group {
			all = append(all, g)
		}
	}
	return all
}

func (s *Service) describePlacementGroups(_ *wire.Call, in *describePlacementGroupsRequest) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	type T = *placementGroup
	all := slices.SortedFunc(maps.Values(s.placementGroups), func(a, b T) int { return strings.Compare(a.name, b.name) })
	for _, named := range append(slices.Clone(in.IDs), in.Names...) {
		if s.placementGroup(named) == nil {
			return nil, unknownGroup(named)
		}
	}
	if len(in.IDs)+len(in.Names) > 0 {
		all = slices.DeleteFunc(all, func(g T) bool {
			return !slices.Contains(in.IDs, g.id) && !slices.Contains(in.Names, g.name)
		})
	}
	all, err := matching(all, in.Filters, fields[T]{
		"group-name": func(g T) []string { return one(g.name) },
		"state":      func(T) []string { return one("available") },
		"strategy":   func(g T) []string { return one(g.strategy) },
	}, func(g T) map[string]string { return g.tags })
	if err != nil {
		return nil, err
	}
	out := &describePlacementGroupsResult{}
	for _, g := range all {
		out.Groups.Items = append(out.Groups.Items, s.describeGroup(g))
	}
	return out, nil
}

// resolveGroup finds the placement group of a launch and refuses what its strategy does not allow.
func (s *Service) resolveGroup(l *launch) error {
	l.group, l.partition = nil, 0
	p := l.data.Placement
	if p == nil || p.GroupID == "" && p.GroupName == "" {
		if p != nil && p.PartitionNumber != nil {
			return refuse(codeInvalidParameterCombination,
				"The parameter PartitionNumber can be used with a placement group alone")
		}
		return nil
	}
	if p.GroupID != "" && p.GroupName != "" {
		return refuse(codeInvalidParameterCombination, "The parameters GroupId and GroupName cannot be used together")
	}
	name := p.GroupID + p.GroupName
	if l.group = s.placementGroup(name); l.group == nil {
		return unknownGroup(name)
	}
	return l.joinGroup(p)
}

// joinGroup refuses what the group's strategy does not allow and sets the partition.
func (l *launch) joinGroup(p *placement) error {
	switch {
	case l.group.strategy == strategyCluster && l.facts.BurstablePerformance:
		return refuse(codeInvalidParameterCombination,
			"Instances of type '%s' may not be placed in a cluster placement group.", l.facts.Name)
	case p.PartitionNumber != nil && l.group.strategy != strategyPartition:
		return refuse(codeInvalidParameterCombination,
			"The parameter PartitionNumber can be used with a partition placement group alone")
	case p.PartitionNumber != nil && (*p.PartitionNumber < 1 || *p.PartitionNumber > l.group.partitions):
		return invalidValue(*p.PartitionNumber, "PartitionNumber",
			"The placement group has "+strconv.Itoa(l.group.partitions)+" partitions.")
	case p.PartitionNumber != nil:
		l.partition = *p.PartitionNumber
	}
	return nil
}

// place finds room in a launch's placement group, and its partition if the launch leaves it open.
func (s *Service) place(l *launch) (partition int, code, message string) {
	if l.group == nil {
		return 0, "", ""
	}
	inZone, inPartition := 0, map[int]int{}
	for _, g := range s.grantsOf(l.group) {
		if g.pool.Zone == l.subnet.zone.Name {
			inZone++
		} else if l.group.strategy == strategyCluster {
			return 0, "InvalidPlacementGroup.InUse",
				"The placement group '" + l.group.name + "' is in use in another availability zone: " + g.pool.Zone
		}
		inPartition[g.partition]++
	}
	switch l.group.strategy {
	case strategySpread:
		if inZone >= spreadLimit {
			return 0, codeInsufficientInstanceCapacity,
				"You've reached the limit of instances in this spread placement group. A spread placement group can have up to " +
					"seven instances per Availability Zone."
		}
	case strategyPartition:
		if l.partition != 0 {
			return l.partition, "", ""
		}
		partition = 1
		for candidate := 2; candidate <= l.group.partitions; candidate++ {
			if inPartition[candidate] < inPartition[partition] {
				partition = candidate
			}
		}
	}
	return partition, "", ""
}
