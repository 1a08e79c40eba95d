package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// listenLoopback listens on an address, which must be a loopback one: nothing here is meant for others.
func listenLoopback(address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("%s is not a loopback address", address)
	}
	return net.Listen("tcp", address)
}

// serveUntilStopped serves each handler on its listener until a stop is requested, then closes all
// connections, idle or not.
func serveUntilStopped(stop <-chan string, servers map[net.Listener]*http.Server) error {
	failed := make(chan error, len(servers))
	for listener, server := range servers {
		go func() {
			if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
				failed <- err
			}
		}()
	}
	var err error
	select {
	case <-stop:
	case err = <-failed:
	}
	for _, server := range servers {
		ending, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
		if server.Shutdown(ending) != nil {
			server.Close()
		}
		cancel()
	}
	return err
}

// withTLS makes a listener speak TLS; offered are HTTP/2 and HTTP/1.1.
func withTLS(listener net.Listener, configuration *tls.Config) net.Listener {
	configuration.NextProtos = []string{"h2", "http/1.1"}
	return tls.NewListener(listener, configuration)
}

// writeJSON answers with a value.
func writeJSON(writer http.ResponseWriter, status int, value any) {
	writer.Header().Set("Content-Type", "application/json")
	writer.WriteHeader(status)
	_ = json.NewEncoder(writer).Encode(value)
}
