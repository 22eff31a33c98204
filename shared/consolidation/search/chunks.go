package search

import (
	"math/rand/v2"
	"slices"

	"github.com/whittle-dev/whittle/shared/consolidation/state"
)

// variants returns the number of ways to form chunks of the size. In a large fleet there is one:
// nodes keep their order, so that high and low savings per disturbance stay in different chunks.
func (s *searcher) variants(size int) int {
	if size == 1 || s.large {
		return 1
	}
	return 4
}

// chunks forms chunks of at most size nodes, each of one NodePool. The variant and the round decide
// which nodes share a chunk: nodes far apart in the order, neighbours, or random nodes. A chunk
// has no more nodes than one move may delete.
func (s *searcher) chunks(nodes []*state.Node, size int, round uint64, variant int) [][]*state.Node {
	var chunks [][]*state.Node
	random := rand.New(rand.NewPCG(round, uint64(variant)))
	for start := 0; start < len(nodes); {
		end := start
		for end < len(nodes) && nodes[end].Pool == nodes[start].Pool {
			end++
		}
		of := slices.Clone(nodes[start:end])
		switch {
		case variant > 1 || variant > 0 && round >= uint64(len(sizes)):
			random.Shuffle(len(of), func(i, j int) { of[i], of[j] = of[j], of[i] })
		case variant == 0 && !s.large:
			of = interleaved(of, (len(of)+size-1)/size)
		}
		chunks = append(chunks, s.fittingChunks(of, size)...)
		start = end
	}
	return chunks
}

// interleaved returns every stride-th node from the first, then every stride-th node from the
// second, and so on.
func interleaved(nodes []*state.Node, stride int) []*state.Node {
	made := make([]*state.Node, 0, len(nodes))
	for first := range stride {
		for at := first; at < len(nodes); at += stride {
			made = append(made, nodes[at])
		}
	}
	return made
}

// openChunks is the number of incomplete chunks that fittingChunks offers to a node.
const openChunks = 8

// fittingChunks adds each node to the first incomplete chunk that one move can delete together with
// the node.
func (s *searcher) fittingChunks(nodes []*state.Node, size int) [][]*state.Node {
	var chunks [][]*state.Node
	var open []int
	for _, n := range nodes {
		at := slices.IndexFunc(open, func(i int) bool {
			return s.fits(&state.Change{Delete: append(slices.Clip(chunks[i]), n)})
		})
		if at < 0 {
			if !s.fits(&state.Change{Delete: []*state.Node{n}}) {
				continue
			}
			if len(open) == openChunks {
				open = open[1:]
			}
			at = len(open)
			open = append(open, len(chunks))
			chunks = append(chunks, nil)
		}
		chunk := open[at]
		if chunks[chunk] = append(chunks[chunk], n); len(chunks[chunk]) == size {
			open = slices.Delete(open, at, at+1)
		}
	}
	return chunks
}
