package main

import (
	"context"
	"fmt"
	"net/url"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

// startEtcd starts a single etcd in this process, on ports of 127.0.0.1 that the system chooses, and returns its
// address for clients.
func startEtcd(ctx context.Context, dir string) (*embed.Etcd, string, error) {
	anyPort := []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	c := embed.NewConfig()
	c.Dir = dir
	c.ListenClientUrls, c.AdvertiseClientUrls = anyPort, anyPort
	c.ListenPeerUrls, c.AdvertisePeerUrls = anyPort, anyPort
	c.InitialCluster = c.InitialClusterFromName(c.Name)
	c.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	e, err := embed.StartEtcd(c)
	if err != nil {
		return nil, "", fmt.Errorf("starting etcd: %w", err)
	}
	select {
	case <-e.Server.ReadyNotify():
		return e, "http://" + e.Clients[0].Addr().String(), nil
	case err := <-e.Err():
		e.Close()
		return nil, "", fmt.Errorf("starting etcd: %w", err)
	case <-ctx.Done():
		e.Close()
		return nil, "", fmt.Errorf("starting etcd: %w", ctx.Err())
	}
}
