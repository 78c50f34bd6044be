package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.opentelemetry.io/otel/trace/noop"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	extensions "k8s.io/apiextensions-apiserver/pkg/apiserver"
	extensionsoptions "k8s.io/apiextensions-apiserver/pkg/cmd/server/options"
	generatedopenapi "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/endpoints/openapi"
	genericserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Options are what a server is started with.
type Options struct {
	Listen     string // a loopback address with port; port 0 is any free one
	DataDir    string // for etcd and the certificate
	StatusCode int    // of refusals; 422 when zero
}

// Server is a running API server.
type Server struct {
	ClientConfig *rest.Config // for clients, with the certificate to trust
	Kubeconfig   string       // file with the same for kubectl

	stop func()
	done chan struct{}
	err  error
}

// Start starts etcd and an API server for custom resources, which end with ctx or Stop, and waits until it is ready.
func Start(ctx context.Context, o Options) (*Server, error) {
	if o.StatusCode == 0 {
		o.StatusCode = http.StatusUnprocessableEntity
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &Server{stop: cancel, done: make(chan struct{})}
	etcd, endpoint, err := startEtcd(ctx, filepath.Join(o.DataDir, "etcd"))
	if err != nil {
		cancel()
		return nil, err
	}
	server, err := s.build(o, endpoint)
	if err != nil {
		cancel()
		etcd.Close()
		return nil, err
	}
	go s.run(ctx, server, etcd)
	if err := s.awaitReady(ctx); err != nil {
		s.Stop()
		return nil, errors.Join(err, s.err)
	}
	return s, nil
}

// Stop ends the server and etcd, and waits for their end.
func (s *Server) Stop() {
	s.stop()
	<-s.done
}

// Wait waits until the server has ended, and returns why if it was not told to.
func (s *Server) Wait() error {
	<-s.done
	return s.err
}

func (s *Server) run(ctx context.Context, server *genericserver.GenericAPIServer, etcd *embed.Etcd) {
	defer close(s.done)
	defer etcd.Close()
	s.err = server.PrepareRun().RunWithContext(ctx)
	s.stop()
}

func (s *Server) awaitReady(ctx context.Context) error {
	client, err := rest.HTTPClientFor(s.ClientConfig)
	if err != nil {
		return err
	}
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.ClientConfig.Host+"/readyz", nil)
		if err != nil {
			return err
		}
		if resp, err := client.Do(req); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-s.done:
			return errors.New("the server ended before it was ready")
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// build puts together what apiextensions-apiserver is made of, with three additions: a plugin that lints CRDs, one that
// checks updates, and the filter that carries the keys which the API types have no room for.
func (s *Server) build(o Options, etcd string) (*genericserver.GenericAPIServer, error) {
	config := genericserver.NewRecommendedConfig(extensions.Codecs)
	running := options.NewServerRunOptions()
	if err := running.Complete(); err != nil {
		return nil, err
	}
	if err := running.ApplyTo(&config.Config); err != nil {
		return nil, err
	}
	storage := options.NewEtcdOptions(storagebackend.NewDefaultConfig("/registry",
		extensions.Codecs.LegacyCodec(apiextensionsv1.SchemeGroupVersion)))
	storage.StorageConfig.Transport.ServerList = []string{etcd}
	if err := storage.ApplyTo(&config.Config); err != nil {
		return nil, err
	}
	if err := s.serveAt(config, o); err != nil {
		return nil, err
	}
	config.Authentication.Authenticator = authenticator.RequestFunc(administrator)
	config.Authorization.Authorizer = authorizerfactory.NewAlwaysAllowAuthorizer()
	if err := options.NewAPIEnablementOptions().ApplyTo(&config.Config, extensions.DefaultAPIResourceConfigSource(),
		extensions.Scheme); err != nil {
		return nil, err
	}
	names := openapi.NewDefinitionNamer(extensions.Scheme)
	config.OpenAPIConfig = genericserver.DefaultOpenAPIConfig(generatedopenapi.GetOpenAPIDefinitions, names)
	config.OpenAPIV3Config = genericserver.DefaultOpenAPIV3Config(generatedopenapi.GetOpenAPIDefinitions, names)

	follower, err := newFollower(o.StatusCode)
	if err != nil {
		return nil, err
	}
	config.AdmissionControl = admission.NewChainHandler(crdLint{}, follower)
	config.BuildHandlerChainFunc = func(inner http.Handler, c *genericserver.Config) http.Handler {
		return genericserver.DefaultBuildHandlerChain(newKeyFilter(inner, follower.lister), c)
	}

	server, err := (&extensions.Config{
		GenericConfig: config,
		ExtraConfig: extensions.ExtraConfig{
			CRDRESTOptionsGetter: extensionsoptions.NewCRDRESTOptionsGetter(*storage, config.ResourceTransformers,
				config.StorageObjectCountTracker),
			ServiceResolver: noServices{},
			AuthResolverWrapper: webhook.NewDefaultAuthenticationInfoResolverWrapper(nil, nil,
				config.LoopbackClientConfig, noop.NewTracerProvider()),
		},
	}).Complete().New(genericserver.NewEmptyDelegate())
	if err != nil {
		return nil, err
	}
	follower.crds.Store(server.Informers.Apiextensions().V1().CustomResourceDefinitions().Lister())
	return server.GenericAPIServer, nil
}

// serveAt listens at the address, with a certificate of its own in the data directory.
func (s *Server) serveAt(config *genericserver.RecommendedConfig, o Options) error {
	host, _, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return fmt.Errorf("the address to listen at: %w", err)
	}
	ip := net.ParseIP(host)
	if ip == nil || !ip.IsLoopback() {
		return fmt.Errorf("the address to listen at is %q: everybody is an administrator here, so it has to be of "+
			"loopback, such as 127.0.0.1:8443", o.Listen)
	}
	listener, err := net.Listen("tcp", o.Listen)
	if err != nil {
		return err
	}
	serving := options.NewSecureServingOptions().WithLoopback()
	serving.Listener = listener
	serving.BindAddress = ip
	serving.BindPort = listener.Addr().(*net.TCPAddr).Port
	serving.ServerCert.CertDirectory = o.DataDir
	if err := serving.MaybeDefaultWithSelfSignedCerts("localhost", nil, []net.IP{ip}); err != nil {
		return err
	}
	if err := serving.ApplyTo(&config.SecureServing, &config.LoopbackClientConfig); err != nil {
		return err
	}
	s.ClientConfig = &rest.Config{
		Host:            "https://" + listener.Addr().String(),
		TLSClientConfig: rest.TLSClientConfig{CAFile: filepath.Join(o.DataDir, "apiserver.crt")},
	}
	return s.writeKubeconfig(o.DataDir)
}

// writeKubeconfig writes a kubeconfig with one context. Everybody is an administrator here, so it holds no secret; the
// token is there because kubectl asks for a password without one.
func (s *Server) writeKubeconfig(dir string) error {
	const name = "fieldlock"
	ca, err := filepath.Abs(s.ClientConfig.CAFile)
	if err != nil {
		return err
	}
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: s.ClientConfig.Host, CertificateAuthority: ca}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: "everybody"}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: "default"}
	config.CurrentContext = name
	s.Kubeconfig = filepath.Join(dir, "kubeconfig")
	return clientcmd.WriteToFile(*config, s.Kubeconfig)
}

// administrator takes every client for one. The server's own client comes with a token and is known before.
func administrator(*http.Request) (*authenticator.Response, bool, error) {
	return &authenticator.Response{User: &user.DefaultInfo{Name: "admin",
		Groups: []string{user.SystemPrivilegedGroup}}}, true, nil
}

// noServices resolves no services: conversion webhooks have to have URLs.
type noServices struct{}

func (noServices) ResolveEndpoint(namespace, name string, _ int32) (*url.URL, error) {
	return nil, fmt.Errorf("there are no services here, such as %s/%s: a conversion webhook needs a URL",
		namespace, name)
}
