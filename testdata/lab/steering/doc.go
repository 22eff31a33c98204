// Package steering lets a person with curl, or a test, steer the local world. It interrupts and
// kills instances, takes capacity away, makes calls fail, throttles and counts them, and sets
// delays. It has no counterpart in AWS, and its paths begin with /local/.
package steering
