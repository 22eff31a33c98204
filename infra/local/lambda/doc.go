// Package lambda is the local account's Lambda: it runs the real bootstrap of a function as a process of this machine, behind a
// Runtime API of its own, and calls it as AWS would: by request, as an event with retries, or with batches polled from a queue.
//
// A sandbox is one process with one log stream, one set of credentials of the function's role and one invocation at a time. It is
// started when no idle one is left (a cold start, whose init phase is measured), reused as long as it lives, and ended five minutes
// after its last invocation, when its function changes, when an invocation exceeds the timeout, or when it crashes. Its environment is
// what Lambda sets and the function's own variables; nothing of this process's environment leaks into it. AWS_ENDPOINT_URL
// points to the local server.
//
// Each invocation is recorded (see Invocation): durations are true for this machine. Lambda gives a function a share of CPU that
// grows with its memory (one full CPU at 1,769 MB); here every sandbox gets what the machine has, nothing is throttled, so durations
// of small functions are shorter than on AWS. MemorySize is reported and not enforced.
//
// Only provided.al2023 runs, only for the machine's own architecture and operating system, and only $LATEST: versions, aliases,
// layers, images, VPCs and URLs are not simulated, and a template that asks for them fails by name.
package lambda
