// Package lambda is the local account's Lambda. It runs the real bootstrap of a function as a
// process of this machine, behind a Runtime API. It invokes the function as AWS does: by request,
// as an event with retries, or with batches polled from a queue.
//
// A sandbox is one process with one log stream, one set of the role's credentials, and one
// invocation at a time. A new sandbox starts when no idle one is left; its init phase is measured.
// A sandbox ends five minutes after its last invocation. It also ends when its function changes, an
// invocation exceeds the timeout, or it crashes. Its environment has Lambda's variables and the
// function's own, and nothing of this process's environment. AWS_ENDPOINT_URL points to the local
// server.
//
// Each invocation is recorded (see Invocation) with durations on this machine. Lambda gives a
// function a share of CPU that grows with its memory: one full CPU at 1,769 MB. Here nothing is
// throttled, so small functions run faster than on AWS. MemorySize is reported and not enforced.
//
// The package runs only provided.al2023, only for the machine's own architecture and operating
// system, and only $LATEST. A template with versions, aliases, layers, images, VPCs or URLs fails
// by name.
package lambda
