// Package crash kills each of Whittle's functions at each call that it makes, and looks
// whether the world comes right all the same.
//
// A Story is something that happens to a cluster and that one function acts on. It is
// told once undisturbed, to learn which calls the function makes to AWS and to Kubernetes
// on the way. Then it is told anew until the function's process was killed at each of
// them, twice: when the call is about to be sent, and when it has been carried out and its
// answer not seen. In one telling the function dies in each of its invocations: once after
// a call that changes something, since what comes of that shows by the next, or a few times
// where nothing has changed. What woke the function is delivered again, and it and the
// others go on as the ticks would have them, until the story has come to its end. Whatever
// happens, no pod may be evicted twice and no disruption budget be violated, and in the end
// claims, instances and nodes must belong together one to one, with nothing launched twice
// and nothing held by a finalizer. A kill that never comes about is a violation too, unless
// the function died at another call of the same name in the story.
//
// The functions are their real programs, behind a Lambda Runtime API, with a clock that
// can be set; the control plane is a real one, without its scheduler's and kubelets' part,
// which is played so that stories do not wait for it; AWS is the local one, new for each
// telling. A story is a few lines in one of the files stories_*.go.
package crash
