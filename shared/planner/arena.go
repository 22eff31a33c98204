package planner

// arena hands out slices of larger ones, where many small ones are made that live about as long.
type arena[T any] struct {
	block []T
}

// arenaBlock is how many elements are made at once.
const arenaBlock = 1024

// take is a slice of so many zero elements, that has no room for more.
func (a *arena[T]) take(count int) []T {
	if count > cap(a.block)-len(a.block) {
		a.block = make([]T, 0, max(count, arenaBlock))
	}
	from := len(a.block)
	a.block = a.block[:from+count]
	return a.block[from:len(a.block):len(a.block)]
}

// copyOf is a copy of the elements.
func (a *arena[T]) copyOf(elements []T) []T {
	taken := a.take(len(elements))
	copy(taken, elements)
	return taken
}
