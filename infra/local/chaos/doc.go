// Package chaos lets everything go wrong at once in the local world, for a while, and then
// looks whether all is well again: pods come and go, EC2 takes spot instances back, has no
// room and refuses calls, all nodes are outdated at once, the control plane restarts, functions are killed at their work and
// have clocks that are wrong, and messages come late and twice.
//
// Which of it happens when, and to what, follows from a seed. The same seed gives the same
// happenings at the same times; what they meet depends on the machine.
//
// Nothing is compressed but what the local run shortens anyway: machines boot in seconds. A
// minute of chaos takes a minute.
package chaos
