// Command control-plane is a Kubernetes control plane, and the servers that tests put around it, in one
// file: the first argument says which part to be. `up` runs them all and ends them all.
package main

import (
	"fmt"
	"os"
	"runtime"
	"sort"
)

// commands maps the first argument to the part that it names; a part gets the arguments after it and
// returns the exit code.
var commands = map[string]func(arguments []string) int{
	"etcd":                    runEtcd,
	"kube-apiserver":          runAPIServer,
	"kube-controller-manager": runControllerManager,
	"kube-scheduler":          runScheduler,
	"exec":                    runExec,
	"fault-proxy":             runFaultProxy,
	"git-server":              runGitServer,
	"up":                      runUp,
}

// init ties the main goroutine to the main thread: a child started with a parent-death signal gets that
// signal when the *thread* that started it ends, and only the main thread lives as long as the process.
func init() {
	runtime.LockOSThread()
}

func main() {
	if len(os.Args) > 1 {
		if run, known := commands[os.Args[1]]; known {
			os.Exit(run(os.Args[2:]))
		}
	}
	names := make([]string, 0, len(commands))
	for name := range commands {
		names = append(names, name)
	}
	sort.Strings(names)
	fmt.Fprintln(os.Stderr, "usage: control-plane COMMAND [ARGUMENTS]; commands:", names)
	os.Exit(2)
}
