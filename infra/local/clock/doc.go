// Package clock builds Go programs whose clock can be set, and sets it. The programs
// are what they are otherwise; only Go's own time.Now is another one, which adds what
// a file says to the machine's time. Tests make time pass with it, and have machines
// disagree about the time, without a word of it in the programs.
//
// Timers, timeouts and everything else that measures time go on by the machine's clock.
package clock
