package planner

import (
	"encoding/binary"
	"iter"
	"math/bits"
)

// bitset is a set of small numbers. All sets of one universe have the same length.
type bitset []uint64

func newBitset(universe int) bitset { return make(bitset, (universe+63)/64) }

func (b bitset) add(i int)      { b[i/64] |= 1 << (i % 64) }
func (b bitset) has(i int) bool { return b[i/64]&(1<<(i%64)) != 0 }

func (b bitset) empty() bool {
	for _, word := range b {
		if word != 0 {
			return false
		}
	}
	return true
}

// and keeps what is also in other.
func (b bitset) and(other bitset) {
	for i := range b {
		b[i] &= other[i]
	}
}

// or adds what is in other.
func (b bitset) or(other bitset) {
	for i := range b {
		b[i] |= other[i]
	}
}

// without takes out what is in other.
func (b bitset) without(other bitset) {
	for i := range b {
		b[i] &^= other[i]
	}
}

func (b bitset) intersects(other bitset) bool {
	for i := range b {
		if b[i]&other[i] != 0 {
			return true
		}
	}
	return false
}

func (b bitset) clone() bitset { return append(bitset(nil), b...) }

// all goes through the numbers in the set, ascending.
func (b bitset) all() iter.Seq[int] {
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

func (b bitset) remove(i int) { b[i/64] &^= 1 << (i % 64) }

// first is the smallest number in the set, -1 without any.
func (b bitset) first() int {
	for i, word := range b {
		if word != 0 {
			return i*64 + bits.TrailingZeros64(word)
		}
	}
	return -1
}

// firstOf is the smallest number in both sets, -1 without any.
func (b bitset) firstOf(other bitset) int {
	for i, word := range b {
		if word &= other[i]; word != 0 {
			return i*64 + bits.TrailingZeros64(word)
		}
	}
	return -1
}

// appendKey appends the set as bytes, to look it up by.
func (b bitset) appendKey(key []byte) []byte {
	for _, word := range b {
		key = binary.LittleEndian.AppendUint64(key, word)
	}
	return key
}
