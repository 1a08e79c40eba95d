package main

import (
	_ "github.com/Masterminds/semver/v3"
	_ "github.com/fluxcd/cli-utils/pkg/kstatus/status"
	_ "github.com/fluxcd/pkg/artifact/storage"
	_ "github.com/fluxcd/pkg/envsubst"
	_ "github.com/fluxcd/pkg/kustomize"
	_ "github.com/fluxcd/pkg/runtime/conditions"
	_ "github.com/fluxcd/pkg/sourceignore"
	_ "github.com/fluxcd/pkg/ssa"
	_ "github.com/fluxcd/pkg/tar"
	_ "github.com/fluxcd/pkg/version"
	_ "sigs.k8s.io/kustomize/kyaml/yaml"
	_ "sigs.k8s.io/yaml"
)
