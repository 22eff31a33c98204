package launch

import "time"

// Misfit says of a pod that it did not fit the initialized nodes that were launched for it.
type Misfit struct {
	// Claims are the names of the nodes' claims, the oldest first.
	Claims []string `json:"claims"`
	// Until is the time before which no further node is launched for the pod.
	Until time.Time `json:"until"`
	// Because is what kept the pod from the last node.
	Because string `json:"because"`
}
