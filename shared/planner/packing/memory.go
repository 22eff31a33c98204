package packing

import (
	"slices"

	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/placement"
)

// nodeMemory provides planned nodes without an allocation for each.
type nodeMemory struct {
	// scratch is the node on which an offering is tried, best the best one tried for a seed.
	scratch, best *placement.PlannedNode
	// spare has nodes that are not needed any more.
	spare []*placement.PlannedNode
	nodes dense.Arena[placement.PlannedNode]
	fills dense.Arena[placement.Fill]
	free  dense.Arena[int64]
}

// copyOf copies the node, into the memory of a spare one if there is one.
func (m *nodeMemory) copyOf(n *placement.PlannedNode) *placement.PlannedNode {
	if len(m.spare) == 0 {
		c := &m.nodes.Take(1)[0]
		*c = *n
		c.Fills, c.Free, c.Counts = m.fills.CopyOf(n.Fills), m.free.CopyOf(n.Free), slices.Clone(n.Counts)
		return c
	}
	c := m.spare[len(m.spare)-1]
	m.spare = m.spare[:len(m.spare)-1]
	fills, free, counts := c.Fills, c.Free, c.Counts
	*c = *n
	c.Fills = append(fills[:0], n.Fills...)
	c.Free = append(free[:0], n.Free...)
	c.Counts = append(counts[:0], n.Counts...)
	return c
}
