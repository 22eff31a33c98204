package plan

// MinimumSpotTypes is how many interchangeable instance types a node of spot capacity should be
// able to be, where so many exist, so that EC2 can choose one that it has to spare. Karpenter
// requires as many before it replaces spot nodes by a spot node:
// https://karpenter.sh/docs/concepts/disruption/#spot-consolidation
const MinimumSpotTypes = 15
