package laws

// Law is a rule of the world.
type Law struct {
	// Name is what faults that are planted refer to, and Says the rule for people.
	Name, Says string
	// Broken describes each breach in a world. It is nil for a law that a world alone does not show.
	Broken func(*World) []string
}

// Always are the laws that hold at every moment.
func Always() []Law {
	return []Law{
		{"one-instance", "A claim has at most one live instance, and an instance at most one claim.", doubled},
		{"within-limits", "A pool's live instances stay within its limits, without those that leave.", exceeded},
		{"in-service", "A node is not out of service while its instance runs.", outOfService},
		{"volume-in-its-zone", "A pod runs in the zone of its volume.", outside},
		{"volume-on-one-machine", "A volume is attached to one machine at a time.", shared},
	}
}

// AtRest are the laws of a world in which nothing has gone wrong for a while, and nothing is asked for.
func AtRest() []Law {
	return []Law{
		{"claims-have-instances", "A claim has a live instance that carries its tag.", bereft},
		{"instances-have-claims", "An instance that does not end has a claim.", unclaimed},
		{"billed-as-said", "EC2 bills the type, the zone and the capacity type that the claim names.", misbilled},
		{"what-ends-goes", "A claim, a node or a class that is deleted goes.", stuck},
		{"nodes-have-claims", "A node has a claim.", ownerless},
		{"steered-by-wish", "A node with the soft taint is of a pool that asks for it.", steered},
		{"volumes-where-needed", "A volume is attached to the node of its pod, and to no other.", unattached},
	}
}

// Broken describes each breach of the laws, with the name of the law in front.
func Broken(w *World, of []Law) []string {
	var wrong []string
	for _, law := range of {
		for _, breach := range law.Broken(w) {
			wrong = append(wrong, law.Name+": "+breach)
		}
	}
	return wrong
}
