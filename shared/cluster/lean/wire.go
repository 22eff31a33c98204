package lean

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Wire types of Protocol Buffers: https://protobuf.dev/programming-guides/encoding/
const (
	typeVarint  = 0
	typeFixed64 = 1
	typeBytes   = 2
	typeFixed32 = 5
)

// errTruncated is the error of a message that ends within a field.
var errTruncated = errors.New("the message ends within a field")

// field is one field of a message.
type field struct {
	number int
	whole  []byte // with its number and length
	bytes  []byte // the content of a field with a length
}

// next returns a message's first field and the rest.
func next(message []byte) (f field, rest []byte, err error) {
	tag, at := binary.Uvarint(message)
	if at <= 0 {
		return field{}, nil, errTruncated
	}
	f.number = int(tag >> 3)
	var length uint64
	begin := at
	switch tag & 7 {
	case typeVarint:
		_, n := binary.Uvarint(message[at:])
		if n <= 0 {
			return field{}, nil, errTruncated
		}
		length = uint64(n)
	case typeFixed64:
		length = 8
	case typeFixed32:
		length = 4
	case typeBytes:
		given, n := binary.Uvarint(message[at:])
		if n <= 0 {
			return field{}, nil, errTruncated
		}
		length, begin = given, at+n
	default:
		return field{}, nil, fmt.Errorf("field %d has the unknown type %d", f.number, tag&7)
	}
	if length > uint64(len(message)-begin) {
		return field{}, nil, errTruncated
	}
	end := begin + int(length)
	f.whole = message[:end]
	if tag&7 == typeBytes {
		f.bytes = message[begin:end]
	}
	return f, message[end:], nil
}

// each visits a message's fields in order.
func each(message []byte, visit func(field) error) error {
	for len(message) > 0 {
		f, rest, err := next(message)
		if err == nil {
			err = visit(f)
		}
		if err != nil {
			return err
		}
		message = rest
	}
	return nil
}

// appendField appends a field with a length.
func appendField(to []byte, number int, content []byte) []byte {
	to = binary.AppendUvarint(to, uint64(number)<<3|typeBytes)
	return append(binary.AppendUvarint(to, uint64(len(content))), content...)
}

// shape says what is kept of a message.
type shape struct {
	drop   map[int]bool
	within map[int]shape
	// keep decides on a repeated field's entry by its content; nil keeps all.
	keep map[int]func(content []byte) bool
}

// prune appends to a message what the shape keeps of another.
func (s shape) prune(to, message []byte) ([]byte, error) {
	err := each(message, func(f field) error {
		if s.drop[f.number] {
			return nil
		}
		if keep := s.keep[f.number]; keep != nil && !keep(f.bytes) {
			return nil
		}
		inner, found := s.within[f.number]
		if !found {
			to = append(to, f.whole...)
			return nil
		}
		content, err := inner.prune(make([]byte, 0, len(f.bytes)), f.bytes)
		to = appendField(to, f.number, content)
		return err
	})
	return to, err
}

// text returns the content of a message's field as a string; "" where it has none.
func text(message []byte, number int) string {
	found := ""
	_ = each(message, func(f field) error { // a malformed message fails when it is decoded
		if f.number == number {
			found = string(f.bytes)
		}
		return nil
	})
	return found
}

// has reports whether a message has one of the fields.
func has(message []byte, numbers ...int) bool {
	found := false
	_ = each(message, func(f field) error {
		for _, number := range numbers {
			found = found || f.number == number
		}
		return nil
	})
	return found
}

// set is a set of fields' numbers.
func set(numbers ...int) map[int]bool {
	made := map[int]bool{}
	for _, number := range numbers {
		made[number] = true
	}
	return made
}
