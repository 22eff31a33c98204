// Package clock builds Go programs whose clock can be set, and sets it.
//
// Only Go's own time.Now differs in such a program: it adds an offset from a file to the machine's
// time, or it stands still. The program's source does not change. Tests advance time with it, and
// make machines disagree about the time.
//
// Timers, timeouts and other measured durations follow the machine's clock.
package clock
