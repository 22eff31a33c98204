package planner

import "hash/maphash"

// numbering numbers texts from zero, each the first time it comes. It keeps them all in one piece of memory: thousands of keys cost no allocation each.
type numbering struct {
	seed maphash.Seed
	// slots is a hash table with room to spare: a number and one, or zero.
	slots  []int32
	hashes []uint64
	// text are all texts, one after the other, each up to its end.
	text []byte
	ends []int
}

// newNumbering makes room for so many texts; more may come.
func newNumbering(texts int) *numbering {
	size := 16
	for size < 2*texts {
		size *= 2
	}
	return &numbering{seed: maphash.MakeSeed(), slots: make([]int32, size), hashes: make([]uint64, 0, texts), ends: make([]int, 0, texts)}
}

// of is the text's number, and whether it is a new one.
func (n *numbering) of(text []byte) (int, bool) {
	hash := maphash.Bytes(n.seed, text)
	mask := uint64(len(n.slots) - 1)
	at := hash & mask
	for ; n.slots[at] != 0; at = (at + 1) & mask {
		if number := int(n.slots[at]) - 1; n.hashes[number] == hash && string(n.at(number)) == string(text) {
			return number, false
		}
	}
	number := len(n.ends)
	if number == 0 {
		// Others will be as long.
		n.text = make([]byte, 0, len(text)*cap(n.ends))
	}
	n.slots[at] = int32(number) + 1
	n.hashes = append(n.hashes, hash)
	n.text = append(n.text, text...)
	n.ends = append(n.ends, len(n.text))
	if 2*len(n.ends) > len(n.slots) {
		n.grow()
	}
	return number, true
}

// at is the text of a number, to be read alone.
func (n *numbering) at(number int) []byte {
	start := 0
	if number > 0 {
		start = n.ends[number-1]
	}
	return n.text[start:n.ends[number]]
}

// texts are all texts by number; they share memory.
func (n *numbering) texts() []string {
	all := string(n.text)
	texts := make([]string, len(n.ends))
	start := 0
	for i, end := range n.ends {
		texts[i], start = all[start:end], end
	}
	return texts
}

func (n *numbering) grow() {
	n.slots = make([]int32, 2*len(n.slots))
	mask := uint64(len(n.slots) - 1)
	for number, hash := range n.hashes {
		at := hash & mask
		for n.slots[at] != 0 {
			at = (at + 1) & mask
		}
		n.slots[at] = int32(number) + 1
	}
}
