package main

import (
	"context"
	"errors"
	"net/url"

	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/storage/wal"
)

// logSegmentBytes is the size of a file of etcd's write-ahead log. etcd allocates two in advance.
// The default, 64 MB, is for slow disks.
const logSegmentBytes = 4 << 20

// etcd is a single-member cluster on loopback ports that the kernel chooses.
type etcd struct {
	server *embed.Etcd
	// address is the client URL, for kube-apiserver.
	address string
	// failed receives the first error of a listener.
	failed <-chan error
}

// startEtcd opens or continues the data in the directory, and returns once the member leads its
// cluster of one.
func startEtcd(ctx context.Context, directory string) (*etcd, error) {
	wal.SegmentSizeBytes = logSegmentBytes
	anyPort := []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	config := embed.NewConfig()
	config.Name = "controlplane"
	config.Dir = directory
	config.ListenClientUrls, config.AdvertiseClientUrls = anyPort, anyPort
	config.ListenPeerUrls, config.AdvertisePeerUrls = anyPort, anyPort
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	// The HTTP gateway would dial the configured port, which is 0.
	config.EnableGRPCGateway = false
	config.LogLevel = "error"
	config.LogOutputs = []string{"stderr"}
	// The data need not survive a power cut, and waiting for the disk is most of a write's time.
	config.UnsafeNoFsync = true
	// A cluster of one elects itself after one election timeout, so a short timeout is safe.
	config.TickMs, config.ElectionMs = 10, 100

	server, err := embed.StartEtcd(config)
	if err != nil {
		return nil, err
	}
	select {
	case <-server.Server.ReadyNotify():
	case err := <-server.Err():
		server.Close()
		return nil, err
	case <-server.Server.StopNotify():
		server.Close()
		return nil, errors.New("it stopped before it was ready")
	case <-ctx.Done():
		server.Close()
		return nil, ctx.Err()
	}
	return &etcd{server: server, address: "http://" + server.Clients[0].Addr().String(), failed: server.Err()}, nil
}

// Close stops the member with all its data written. Its listeners end with the process, because
// closing them in order would wait a second for unused connections.
func (e *etcd) Close() {
	e.server.Server.HardStop()
}
