package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"

	_ "k8s.io/component-base/metrics/prometheus/clientgo" // client metrics, as the released binaries link them
	_ "k8s.io/component-base/metrics/prometheus/version"  // build information metric, likewise
)

// The components of the control plane read their arguments from os.Args, so each of these functions
// presents itself under its own name first, as the released binary of that name would be called.

func runEtcd(arguments []string) int {
	os.Args = append([]string{"etcd"}, arguments...)
	etcdmain.Main(os.Args)
	return 0
}

func runAPIServer(arguments []string) int {
	os.Args = append([]string{"kube-apiserver"}, arguments...)
	return cli.Run(apiserver.NewAPIServerCommand())
}

func runControllerManager(arguments []string) int {
	os.Args = append([]string{"kube-controller-manager"}, arguments...)
	return cli.Run(controllermanager.NewControllerManagerCommand())
}

func runScheduler(arguments []string) int {
	os.Args = append([]string{"kube-scheduler"}, arguments...)
	return cli.Run(scheduler.NewSchedulerCommand())
}
