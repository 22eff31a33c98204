package drift

import (
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/nodeclass"
)

// Origin is the objects that the claims of a pool would be made from now.
type Origin struct {
	Pool *api.NodePool
	// Class is nil if it does not exist. Drift from the class is then unknown.
	Class *api.EC2NodeClass
	// PoolHash is PoolHash of the pool. ClassHash is nodeclass.Hash of the class.
	PoolHash, ClassHash string
	// Catalog is nil if it was not read. Drift of instance types is then unknown.
	Catalog *catalog.Catalog
}

// Origins returns the origin of each pool by its name. Pools and classes must have their defaults.
// The error says which pool or class cannot be hashed. No object that the API server stores causes
// one.
func Origins(
	pools []api.NodePool, classes []api.EC2NodeClass, certificateAuthority []byte, known *catalog.Catalog,
) (map[string]*Origin, error) {
	hashes := map[string]string{}
	byName := map[string]*api.EC2NodeClass{}
	for i := range classes {
		class := &classes[i]
		if len(class.Unreadable) > 0 {
			continue // nothing is known of what it makes
		}
		hash, err := nodeclass.Hash(class, certificateAuthority)
		if err != nil {
			return nil, err
		}
		hashes[class.Name], byName[class.Name] = hash, class
	}
	origins := make(map[string]*Origin, len(pools))
	for i := range pools {
		pool := &pools[i]
		hash, err := PoolHash(pool)
		if err != nil {
			return nil, err
		}
		origin := &Origin{Pool: pool, PoolHash: hash, Catalog: known}
		if ref := pool.Spec.Template.Spec.NodeClassRef; ref.IsEC2NodeClass() {
			origin.Class, origin.ClassHash = byName[ref.Name], hashes[ref.Name]
		}
		origins[pool.Name] = origin
	}
	return origins, nil
}
