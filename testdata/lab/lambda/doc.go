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
// A process that has more memory resident than its function's MemorySize is killed, and its
// invocation fails. Lambda gives a function a share of processors that grows with its memory: one
// processor at 1,769 MB. Here a process has all processors, so that tests take no longer. Each
// invocation is recorded (see Invocation) with its processor time here, and with the duration that
// follows from it on Lambda. Timeouts count the time here.
//
// The package runs only provided.al2023, only for the machine's own architecture and operating
// system, and only $LATEST. A template with versions, aliases, layers, images, VPCs or URLs fails
// by name.
package lambda
