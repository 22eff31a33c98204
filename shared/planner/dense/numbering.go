package dense

import "hash/maphash"

// Table numbers texts from zero, each the first time it comes. It keeps them all in one piece of
// memory: thousands of keys cost no allocation each.
type Table struct {
	seed maphash.Seed
	// slots is a hash table with room to spare: a number and one, or zero.
	slots  []int32
	hashes []uint64
	// text are all texts, one after the other, each up to its end.
	text []byte
	Ends []int
}

// NewTable makes room for so many texts; more may come.
func NewTable(texts int) *Table {
	size := 16
	for size < 2*texts {
		size *= 2
	}
	return &Table{
		seed:   maphash.MakeSeed(),
		slots:  make([]int32, size),
		hashes: make([]uint64, 0, texts),
		Ends:   make([]int, 0, texts),
	}
}

// Number is the text's number, and whether it is a new one.
func (n *Table) Number(text []byte) (int, bool) {
	hash := maphash.Bytes(n.seed, text)
	mask := uint64(len(n.slots) - 1)
	at := hash & mask
	for ; n.slots[at] != 0; at = (at + 1) & mask {
		if number := int(n.slots[at]) - 1; n.hashes[number] == hash && string(n.Text(number)) == string(text) {
			return number, false
		}
	}
	number := len(n.Ends)
	if number == 0 {
		// Others will be as long.
		n.text = make([]byte, 0, len(text)*cap(n.Ends))
	}
	n.slots[at] = int32(number) + 1
	n.hashes = append(n.hashes, hash)
	n.text = append(n.text, text...)
	n.Ends = append(n.Ends, len(n.text))
	if 2*len(n.Ends) > len(n.slots) {
		n.grow()
	}
	return number, true
}

// Text is the text of a number, to be read alone.
func (n *Table) Text(number int) []byte {
	start := 0
	if number > 0 {
		start = n.Ends[number-1]
	}
	return n.text[start:n.Ends[number]]
}

// Texts are all texts by number; they share memory.
func (n *Table) Texts() []string {
	all := string(n.text)
	texts := make([]string, len(n.Ends))
	start := 0
	for i, end := range n.Ends {
		texts[i], start = all[start:end], end
	}
	return texts
}

func (n *Table) grow() {
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
