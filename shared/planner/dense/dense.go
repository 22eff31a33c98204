package dense

import (
	"encoding/binary"
	"maps"
	"slices"
)

func AppendText(key []byte, text string) []byte {
	return append(binary.AppendUvarint(key, uint64(len(text))), text...)
}

func SortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
