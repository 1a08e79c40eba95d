package main

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// Ports are taken below the range from which Linux hands out ports to outgoing connections, so that no
// connection of some other program can take a port between its choice and its use.
const (
	firstPort = 12000
	lastPort  = 31999
)

// freePorts returns distinct loopback ports that were free just now. They were chosen at random, so two
// control planes that start at once hardly ever choose the same; when they do, a component fails to
// listen and the start is tried again with other ports.
func freePorts(count int) ([]int, error) {
	ports := make([]int, 0, count)
	listeners := make([]net.Listener, 0, count)
	defer func() {
		for _, listener := range listeners {
			listener.Close()
		}
	}()
	for attempt := 0; attempt < 1000 && len(ports) < count; attempt++ {
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		listeners = append(listeners, listener)
		ports = append(ports, port)
	}
	if len(ports) < count {
		return nil, fmt.Errorf("found only %d of %d free loopback ports between %d and %d", len(ports), count, firstPort, lastPort)
	}
	return ports, nil
}
