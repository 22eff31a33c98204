package dense

// Arena hands out slices of larger ones, where many small ones are made that live about as long.
type Arena[T any] struct {
	block []T
}

// arenaBlock is how many elements are made at once.
const arenaBlock = 1024

// Take is a slice of so many zero elements, that has no room for more.
func (a *Arena[T]) Take(count int) []T {
	if count > cap(a.block)-len(a.block) {
		a.block = make([]T, 0, max(count, arenaBlock))
	}
	from := len(a.block)
	a.block = a.block[:from+count]
	return a.block[from:len(a.block):len(a.block)]
}

// CopyOf is a copy of the elements.
func (a *Arena[T]) CopyOf(elements []T) []T {
	taken := a.Take(len(elements))
	copy(taken, elements)
	return taken
}
