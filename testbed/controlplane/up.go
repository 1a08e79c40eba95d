package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// upUsage explains the subcommand.
const upUsage = `usage: control-plane up --dir DIR [--audit] [--remove] [--detached] [--no-kwok | --kwok FILE]

Runs a whole control plane (etcd, kube-apiserver, kube-controller-manager, kube-scheduler, and kwok as the
kubelet of one simulated node) on free loopback ports, with fresh data under DIR. Writes DIR/kubeconfig and
DIR/state.json, and one line of JSON to standard output once it is ready. Ends on SIGTERM, SIGINT, SIGHUP
and when standard input ends; its processes end with it even if it is killed.

  --audit      write the API server's audit log (metadata of every request) to DIR/audit.log
  --remove     delete DIR at the end
  --detached   do not end with standard input: only a signal to the "pid" of state.json ends it
  --kwok FILE  the kwok program (default: beside this one)
  --no-kwok    no simulated node: pods stay pending`

// upOptions are the arguments of the subcommand.
type upOptions struct {
	dir      string
	audit    bool
	remove   bool
	detached bool
	kwok     string
	noKwok   bool
}

// startTimeout bounds the time from start to ready; on a loaded machine a start takes tens of seconds.
const startTimeout = 3 * time.Minute

// runUp is the subcommand up.
func runUp(arguments []string) int {
	options, err := parseUpOptions(arguments)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		fmt.Fprintln(os.Stderr, upUsage)
		return 2
	}
	stop := stopRequests(!options.detached)
	if options.remove {
		defer os.RemoveAll(options.dir)
	}
	for attempt := 1; ; attempt++ {
		plane := &controlPlane{layout: layout{dir: options.dir}, options: options}
		err = plane.run(stop)
		plane.stop()
		var lost *componentEnded
		if errors.As(err, &lost) && !plane.ready && attempt < 3 {
			fmt.Fprintf(os.Stderr, "up: %v; trying again with other ports\n", err)
			continue
		}
		break
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "up:", err)
		return 1
	}
	return 0
}

func parseUpOptions(arguments []string) (*upOptions, error) {
	options := &upOptions{}
	flags := flag.NewFlagSet("up", flag.ContinueOnError)
	flags.Usage = func() {}
	flags.StringVar(&options.dir, "dir", "", "")
	flags.BoolVar(&options.audit, "audit", false, "")
	flags.BoolVar(&options.remove, "remove", false, "")
	flags.BoolVar(&options.detached, "detached", false, "")
	flags.StringVar(&options.kwok, "kwok", "", "")
	flags.BoolVar(&options.noKwok, "no-kwok", false, "")
	if err := flags.Parse(arguments); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 || options.dir == "" {
		return nil, errors.New("up: --dir is needed, and nothing but options is taken")
	}
	var err error
	if options.dir, err = filepath.Abs(options.dir); err != nil {
		return nil, err
	}
	if options.kwok == "" && !options.noKwok {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		options.kwok = filepath.Join(filepath.Dir(self), "kwok")
	}
	if !options.noKwok {
		if _, err := os.Stat(options.kwok); err != nil {
			return nil, fmt.Errorf("up: the kwok program is missing (name it with --kwok, or do without: --no-kwok): %w", err)
		}
	}
	return options, nil
}

// componentEnded is the error of a component that ended by itself.
type componentEnded struct {
	name string
	tail string
}

func (e *componentEnded) Error() string {
	return fmt.Sprintf("%s ended unexpectedly; its last lines:\n%s", e.name, e.tail)
}

// errStopRequested ends a start that is no longer wanted.
var errStopRequested = errors.New("stop requested")

// controlPlane is one running set of processes.
type controlPlane struct {
	layout   layout
	options  *upOptions
	children []*child // in the order of their start
	ports    map[string]int
	ready    bool
}

// run starts everything, announces it, and returns when it is asked to stop or a component ends.
func (p *controlPlane) run(stop <-chan string) error {
	began := time.Now()
	server, token, err := p.startAll(stop)
	if errors.Is(err, errStopRequested) {
		return nil
	}
	if err != nil {
		return err
	}
	now := &state{
		Ready: true, Dir: p.layout.dir, PID: os.Getpid(), Server: server, Kubeconfig: p.layout.kubeconfig(),
		Token: token, Seconds: time.Since(began).Round(time.Millisecond).Seconds(),
	}
	if p.options.audit {
		now.AuditLog = p.layout.auditLog()
	}
	for _, child := range p.children {
		now.Processes = append(now.Processes, processState{Name: child.name, PID: child.pid(), Port: p.ports[child.name], Log: child.log})
	}
	if err := now.write(p.layout.state()); err != nil {
		return err
	}
	p.ready = true
	line, err := json.Marshal(now)
	if err != nil {
		return err
	}
	fmt.Println(string(line))
	return p.watch(stop)
}

// watch returns when a stop is requested (no error) or a component has ended (an error).
func (p *controlPlane) watch(stop <-chan string) error {
	ended := make(chan *child, len(p.children))
	for _, each := range p.children {
		go func() {
			<-each.ended
			ended <- each
		}()
	}
	select {
	case <-stop:
		return nil
	case lost := <-ended:
		return &componentEnded{name: lost.name, tail: lost.lastLines(20)}
	}
}

// startAll starts the components, each when what it needs is there.
func (p *controlPlane) startAll(stop <-chan string) (server, token string, err error) {
	if err := p.removeOldData(); err != nil {
		return "", "", err
	}
	identities, err := newIdentities()
	if err != nil {
		return "", "", err
	}
	if err := p.layout.prepare(identities); err != nil {
		return "", "", err
	}
	ports, err := freePorts(3)
	if err != nil {
		return "", "", err
	}
	p.ports = map[string]int{"etcd": ports[0], "kube-apiserver": ports[2]}
	server = fmt.Sprintf("https://127.0.0.1:%d", ports[2])
	authority, err := os.ReadFile(p.layout.authority())
	if err != nil {
		return "", "", err
	}
	kubeconfigs := map[string]string{
		adminUser: p.layout.kubeconfig(), kwokUser: p.layout.user("kwok"),
		controllerManagerUser: p.layout.user("kube-controller-manager"), schedulerUser: p.layout.user("kube-scheduler"),
	}
	for user, path := range kubeconfigs {
		if err := writeKubeconfig(path, server, authority, identities[user].token); err != nil {
			return "", "", err
		}
	}
	token = identities[adminUser].token

	client, err := newClusterClient(server, authority, token)
	if err != nil {
		return "", "", err
	}
	wait := waiter{plane: p, stop: stop, deadline: time.Now().Add(startTimeout)}
	// The API server retries until etcd answers, so the two may start together.
	if err := p.startSelf("etcd", p.etcdArguments(ports[0], ports[1])); err != nil {
		return "", "", err
	}
	if err := p.startSelf("kube-apiserver", p.apiServerArguments(ports[0], ports[2])); err != nil {
		return "", "", err
	}
	if err := wait.until("the API server to be ready", client.serverReady); err != nil {
		return "", "", err
	}
	if err := p.startSelf("kube-controller-manager", p.controllerManagerArguments(kubeconfigs[controllerManagerUser])); err != nil {
		return "", "", err
	}
	if err := p.startSelf("kube-scheduler", schedulerArguments(kubeconfigs[schedulerUser])); err != nil {
		return "", "", err
	}
	if !p.options.noKwok {
		if err := p.startKwok(kubeconfigs[kwokUser]); err != nil {
			return "", "", err
		}
		if err := wait.until("the node object to be created", client.createNode); err != nil {
			return "", "", err
		}
		if err := wait.until("the simulated node to be ready", client.nodeReady); err != nil {
			return "", "", err
		}
	}
	return server, token, wait.until("the default service account", client.defaultServiceAccount)
}

// removeOldData makes sure that a control plane starts empty, whatever an earlier one left in the
// directory; logs are kept.
func (p *controlPlane) removeOldData() error {
	for _, path := range []string{p.layout.etcd(), p.layout.path("private"), p.layout.kubeconfig(), p.layout.state(), p.layout.auditLog()} {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	return nil
}

// startSelf starts this very program as one of the components.
func (p *controlPlane) startSelf(name string, arguments []string) error {
	return p.start(name, "/proc/self/exe", append([]string{name}, arguments...), nil)
}

func (p *controlPlane) start(name, program string, arguments, environment []string) error {
	started, err := start(name, program, arguments, environment, p.layout.log(name))
	if err != nil {
		return err
	}
	p.children = append(p.children, started)
	return nil
}

// graces is how long each component may take to end. Nothing is worth keeping, so they are short; the API
// server must be killed when its etcd is gone, because then its graceful stop takes minutes.
var graces = map[string]time.Duration{"kube-apiserver": 3 * time.Second, "etcd": 3 * time.Second}

// stop ends the components in the reverse order of their start: first what uses the API server, then the
// API server, then etcd.
func (p *controlPlane) stop() {
	for index := len(p.children) - 1; index >= 0; index-- {
		grace, known := graces[p.children[index].name]
		if !known {
			grace = time.Second
		}
		p.children[index].stop(grace)
	}
	for _, path := range []string{p.layout.etcd(), p.layout.path("private"), p.layout.state()} {
		_ = os.RemoveAll(path)
	}
}

// waiter waits for a condition while the components are watched.
type waiter struct {
	plane    *controlPlane
	stop     <-chan string
	deadline time.Time
}

// until asks again and again, at short intervals, until the condition holds. It gives up when a component
// has ended, when the start takes too long, and when a stop is requested.
func (w *waiter) until(what string, condition func() error) error {
	for {
		err := condition()
		if err == nil {
			return nil
		}
		for _, child := range w.plane.children {
			if child.hasEnded() {
				return &componentEnded{name: child.name, tail: child.lastLines(20)}
			}
		}
		if time.Now().After(w.deadline) {
			return fmt.Errorf("gave up waiting for %s: %w", what, err)
		}
		select {
		case <-w.stop:
			return errStopRequested
		case <-time.After(50 * time.Millisecond):
		}
	}
}
