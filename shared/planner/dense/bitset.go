package dense

import (
	"encoding/binary"
	"iter"
	"math/bits"
)

// Set is a set of small numbers. All sets of one universe have the same length.
type Set []uint64

func NewSet(universe int) Set { return make(Set, (universe+63)/64) }

func (b Set) Add(i int)      { b[i/64] |= 1 << (i % 64) }
func (b Set) Has(i int) bool { return b[i/64]&(1<<(i%64)) != 0 }

// Len is the number of members.
func (b Set) Len() int {
	n := 0
	for _, word := range b {
		n += bits.OnesCount64(word)
	}
	return n
}

func (b Set) Empty() bool {
	for _, word := range b {
		if word != 0 {
			return false
		}
	}
	return true
}

// And keeps what is also in other.
func (b Set) And(other Set) {
	for i := range b {
		b[i] &= other[i]
	}
}

// Or adds what is in other.
func (b Set) Or(other Set) {
	for i := range b {
		b[i] |= other[i]
	}
}

// Without takes out what is in other.
func (b Set) Without(other Set) {
	for i := range b {
		b[i] &^= other[i]
	}
}

func (b Set) Intersects(other Set) bool {
	for i := range b {
		if b[i]&other[i] != 0 {
			return true
		}
	}
	return false
}

func (b Set) Clone() Set { return append(Set(nil), b...) }

// All goes through the numbers in the set, ascending.
func (b Set) All() iter.Seq[int] {
	return func(yield func(int) bool) {
		for i, word := range b {
			for word != 0 {
				if !yield(i*64 + bits.TrailingZeros64(word)) {
					return
				}
				word &= word - 1
			}
		}
	}
}

func (b Set) Remove(i int) { b[i/64] &^= 1 << (i % 64) }

// First is the smallest number in the set, -1 without any.
func (b Set) First() int {
	for i, word := range b {
		if word != 0 {
			return i*64 + bits.TrailingZeros64(word)
		}
	}
	return -1
}

// FirstOf is the smallest number in both sets, -1 without any.
func (b Set) FirstOf(other Set) int {
	for i, word := range b {
		if word &= other[i]; word != 0 {
			return i*64 + bits.TrailingZeros64(word)
		}
	}
	return -1
}

// AppendKey appends the set as bytes, to look it up by.
func (b Set) AppendKey(key []byte) []byte {
	for _, word := range b {
		key = binary.LittleEndian.AppendUint64(key, word)
	}
	return key
}
