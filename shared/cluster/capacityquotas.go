package cluster

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/whittle-dev/whittle/shared/api"
)

// kindAbsentFor is how long a container believes that the cluster lacks the definition of
// CapacityQuotas.
const kindAbsentFor = 5 * time.Minute

// CapacityQuotas lists every CapacityQuota. It returns none for a cluster that does not know the
// kind, which a cache remembers for some minutes, and none for a reader with the rights of an older
// installation.
func (c *Client) CapacityQuotas(ctx context.Context) ([]api.CapacityQuota, error) {
	if c.cache != nil && !c.cache.mayHaveQuotas() {
		return nil, nil
	}
	var list api.CapacityQuotaList
	err := c.readJSON(ctx, api.CapacityQuotasPath, &list, versionParameter, cachedVersion)
	switch {
	case apierrors.IsNotFound(err):
		if c.cache != nil {
			c.cache.lacksQuotas()
		}
		return nil, nil
	case IsForbidden(err):
		return nil, nil
	}
	return list.Items, err
}

func (c *Cache) mayHaveQuotas() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return !c.now().Before(c.noQuotasUntil)
}

func (c *Cache) lacksQuotas() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.noQuotasUntil = c.now().Add(kindAbsentFor)
}
