// Package misfit remembers pods that did not fit the nodes launched for them, so that a plan which
// cannot know the reason does not launch the same node again and again.
//
// Its place: package sight notes misfits in each reading and holds their pods until another launch may
// come. Package inventory keeps them in a ConfigMap. Provision writes them. It is a deciding package.
package misfit
