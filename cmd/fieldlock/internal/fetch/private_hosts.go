package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/net/http/httpproxy"
)

// hosts are the hosts of private networks that may be asked, by name or address.
//
// Which URLs are fetched is up to the change under test: `repo: http://169.254.169.254` in a pull request must not read
// the metadata of the machine that checks it. So a connection is made only to public addresses. The address counts, not
// the name, and it counts for each connection, so that neither a name that points to a private address nor a redirect
// gets there.
type hosts []string

var errPrivate = errors.New("it is an address of a private network, which --fetch asks only for hosts in fetch-hosts " +
	"of the settings")

// carrierNAT is shared by the customers of a provider (RFC 6598); some clouds have their metadata in it.
var carrierNAT = netip.MustParsePrefix("100.64.0.0/10")

// isPublic reports whether an address can be reached from anywhere.
func isPublic(addr netip.Addr) bool {
	addr = addr.Unmap()
	return addr.IsGlobalUnicast() && !addr.IsPrivate() && !carrierNAT.Contains(addr)
}

// client returns an HTTP client that connects to public addresses, to those of h, and to the proxies of the
// environment. Redirects from https to http are refused; Go's client keeps credentials from other hosts.
func (h hosts) client() *http.Client {
	var proxies sync.Map // by their host and port
	transport := http.DefaultTransport.(*http.Transport).Clone()
	proxyOf := httpproxy.FromEnvironment().ProxyFunc()
	transport.Proxy = func(r *http.Request) (*url.URL, error) {
		proxy, err := proxyOf(r.URL)
		if proxy != nil {
			proxies.Store(proxy.Hostname(), true)
			if err := h.public(r.URL.String()); err != nil {
				return nil, err // the proxy may be able to reach what is private here
			}
		}
		return proxy, err
	}
	free := &net.Dialer{Timeout: timeout}
	guarded := &net.Dialer{Timeout: timeout, Control: func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil || !isPublic(at.Addr()) {
			return errPrivate
		}
		return nil
	}}
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		if _, isProxy := proxies.Load(host); isProxy || h.has(host) {
			return free.DialContext(ctx, network, address)
		}
		return guarded.DialContext(ctx, network, address)
	}
	return &http.Client{Timeout: timeout, Transport: transport,
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			switch {
			case len(via) >= 10:
				return errors.New("it has more than 10 redirects")
			case r.URL.Scheme != "https" && via[len(via)-1].URL.Scheme == "https":
				return errors.New("it redirects from https to " + r.URL.Scheme)
			}
			return nil
		}}
}

// has reports whether h names a host.
func (h hosts) has(host string) bool {
	return slices.ContainsFunc(h, func(name string) bool { return strings.EqualFold(name, host) })
}

// public returns an error if the host of a URL has an address of a private network and is not in h. It is for
// connections that others make: git resolves the name anew, and a proxy may know names that are unknown here.
func (h hosts) public(at string) error {
	if !strings.Contains(at, "://") {
		at = "https://" + at // github.com/…
	}
	parsed, err := url.Parse(at)
	if err != nil {
		return err
	}
	host := parsed.Hostname()
	if h.has(host) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	addrs, _ := net.DefaultResolver.LookupNetIP(ctx, "ip", host) // an error leaves it to whoever connects
	if slices.ContainsFunc(addrs, func(addr netip.Addr) bool { return !isPublic(addr) }) {
		return fmt.Errorf("%s: %w", host, errPrivate)
	}
	return nil
}
