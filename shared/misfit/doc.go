// Package misfit remembers pods that the nodes launched for them did not serve, so that a plan which
// cannot know the reason does not launch the same node again and again. It knows of nodes that never
// joined, of pods that do not fit or are not bound, and of gangs of which EC2 had room for a part.
//
// Its place: package sight notes misfits in each reading and holds their pods until another launch may
// come. Package inventory keeps them in a ConfigMap. Provision writes them. It is a deciding package.
package misfit
