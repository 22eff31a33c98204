// Package gangs measures whether gangs of pods get all of their nodes or none. It creates random
// gangs in the local world, whose EC2 lacks most of its offerings, and whose scheduler is the real
// kube-scheduler.
//
// Make makes a gang and Short a shortage from a seed, and Judge scores a gang. All are pure. Run
// does the rest.
package gangs
