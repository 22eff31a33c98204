package disruption

import (
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/nodeclass"
)

// Origin is what the claims of a pool would be made from now.
type Origin struct {
	Pool *api.NodePool
	// Class is nil while it does not exist: then nothing is said of what comes from it.
	Class *api.EC2NodeClass
	// PoolHash is PoolHash of the pool, ClassHash nodeclass.Hash of the class.
	PoolHash, ClassHash string
	// Catalog is nil where it was not read: then nothing is said of instance types.
	Catalog *catalog.Snapshot
}

// Origins are those of the pools, by name. Pools and classes have their defaults. An
// error, which no pool that the API server stores leads to, is about one of them.
func Origins(pools []api.NodePool, classes []api.EC2NodeClass, certificateAuthority []byte, known *catalog.Snapshot) (map[string]*Origin, error) {
	hashes := map[string]string{}
	byName := map[string]*api.EC2NodeClass{}
	for i := range classes {
		class := &classes[i]
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
