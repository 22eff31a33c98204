package plan

// MinimumSpotTypes is how many interchangeable instance types a spot node should allow, where so
// many exist. EC2 then chooses one that it has to spare. Karpenter requires as many before it
// replaces spot nodes by a spot node:
// https://karpenter.sh/docs/concepts/disruption/#spot-consolidation
const MinimumSpotTypes = 15
