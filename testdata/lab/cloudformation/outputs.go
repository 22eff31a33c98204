package cloudformation

import "fmt"

// Outputs returns the outputs of a stack by their keys.
func (s *Service) Outputs(stackName string) (map[string]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.stacks[stackName]
	if found == nil {
		return nil, fmt.Errorf("stack %s does not exist", stackName)
	}
	outputs := make(map[string]string, len(found.outputs))
	for _, output := range found.outputs {
		outputs[output.key] = output.value
	}
	return outputs, nil
}

// State is a stack's status and the physical ids of its resources by their logical ones.
func (s *Service) State(stackName string) (status string, physicalIDs map[string]string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.stacks[stackName]
	if found == nil {
		return "", nil, fmt.Errorf("stack %s does not exist", stackName)
	}
	physicalIDs = make(map[string]string, len(found.resources))
	for id, r := range found.resources {
		physicalIDs[id] = r.physicalID
	}
	return found.status, physicalIDs, nil
}
