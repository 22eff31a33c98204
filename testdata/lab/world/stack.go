package world

// Stack returns the stack's status, and its resources' physical IDs by logical ID.
func (w *World) Stack() (status string, physicalIDs map[string]string, err error) {
	return w.stacks.State(w.stack())
}

// HasRole reports whether a role of this name exists.
func (w *World) HasRole(name string) bool { return w.identity.HasRole(name) }
