package world

// Stack is the deployed stack's status, and the physical ids of its resources by their logical ones.
func (w *World) Stack() (status string, physicalIDs map[string]string, err error) {
	return w.stacks.State(stackName)
}

// HasRole tells whether there is a role of this name.
func (w *World) HasRole(name string) bool { return w.identity.HasRole(name) }
