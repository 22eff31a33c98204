package commitment

import (
	"maps"
	"math"
	"slices"
	"time"
)

// Use is who uses a commitment, for people. Its three parts add up to what it costs each hour.
type Use struct {
	ID string `json:"id"`
	// Kind is what AWS calls it, and Covers what it pays for.
	Kind   string `json:"kind"`
	Covers string `json:"covers"`
	// PerHour is what it costs each hour, used or not: the parts that this cluster and others of the
	// account use, and the idle one.
	PerHour       float64 `json:"perHour"`
	OwnPerHour    float64 `json:"ownPerHour"`
	OthersPerHour float64 `json:"othersPerHour"`
	IdlePerHour   float64 `json:"idlePerHour"`
	// Ends is when the first of its purchases ends.
	Ends time.Time `json:"ends,omitzero"`
}

// Use is who uses the stock.
func (s *Stock) Use() Use {
	used := Use{
		ID: s.ID, Kind: s.Kind, Covers: s.covers(), PerHour: s.PerHour, OwnPerHour: s.cost(s.Own),
		OthersPerHour: s.cost(s.Used - s.Own), Ends: s.End,
	}
	if s.Kind == KindSavingsPlan {
		used.Kind = "Compute Savings Plan"
		if s.Family != "" {
			used.Kind = "EC2 Instance Savings Plan"
		}
	}
	if s.Used < s.Total {
		used.IdlePerHour = max(s.PerHour-used.OwnPerHour-used.OthersPerHour, 0)
	}
	return used
}

// cost is what so many units of the stock cost each hour, to a millionth of a dollar.
func (s *Stock) cost(units int) float64 {
	if s.Total <= 0 {
		return 0
	}
	return math.Round(s.PerHour*micro*float64(units)/float64(s.Total)) / micro
}

// covers says what the stock pays for.
func (s *Stock) covers() string {
	where := "in the region"
	if s.Zone != "" {
		where = "in " + s.Zone
	}
	switch names := slices.Sorted(maps.Keys(s.Units)); {
	case s.Family != "":
		return s.Family + " of any size " + where
	case s.Kind == KindSavingsPlan:
		return "any family, Fargate and Lambda"
	case len(names) > 0:
		return names[0] + " " + where
	}
	return where
}
