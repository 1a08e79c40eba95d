package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/fluxcd/pkg/kustomize"
	"github.com/opencontainers/go-digest"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func init() { commands["kustomization-build"] = runKustomizationBuild }

// runKustomizationBuild reads cases of files, a directory in them and a Kustomization, and prints for each
// what kustomize-controller makes of it: the manifests after substitution (with inline variables alone) and
// their digest, or the error with the temporary folder's name replaced by ROOT.
func runKustomizationBuild() error {
	var cases []struct {
		Files         map[string]string      `json:"files"`
		Path          string                 `json:"path"`
		Kustomization map[string]interface{} `json:"kustomization"`
		Strict        bool                   `json:"strict"`
	}
	if err := json.NewDecoder(os.Stdin).Decode(&cases); err != nil {
		return err
	}
	type answer struct {
		Manifests string `json:"manifests"`
		Digest    string `json:"digest"`
		Error     string `json:"error,omitempty"`
	}
	answers := make([]answer, 0, len(cases))
	for _, item := range cases {
		root, err := os.MkdirTemp("", "kustomization-")
		if err != nil {
			return err
		}
		manifests, err := buildKustomization(root, item.Files, item.Path, item.Kustomization, item.Strict)
		if removeErr := os.RemoveAll(root); removeErr != nil {
			return removeErr
		}
		if err != nil {
			answers = append(answers, answer{Error: strings.ReplaceAll(err.Error(), root, "ROOT")})
			continue
		}
		answers = append(answers, answer{
			Manifests: string(manifests), Digest: digest.FromBytes(manifests).String(),
		})
	}
	return json.NewEncoder(os.Stdout).Encode(answers)
}

func buildKustomization(
	root string, files map[string]string, path string, content map[string]interface{}, strict bool,
) ([]byte, error) {
	for name, text := range files {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	object := unstructured.Unstructured{Object: content}
	directory := filepath.Join(root, path)
	if _, err := kustomize.NewGenerator(root, object).WriteFile(directory); err != nil {
		return nil, err
	}
	built, err := kustomize.SecureBuild(root, directory, false)
	if err != nil {
		return nil, fmt.Errorf("kustomize build failed: %w", err)
	}
	_, hasPostBuild, err := unstructured.NestedMap(content, "spec", "postBuild")
	if err != nil {
		return nil, err
	}
	strategy, _, err := unstructured.NestedString(content, "spec", "postBuild", "substituteStrategy")
	if err != nil {
		return nil, err
	}
	for _, resource := range built.Resources() {
		if !hasPostBuild {
			continue
		}
		substituted, err := kustomize.SubstituteVariables(context.Background(), nil, object, resource,
			kustomize.SubstituteWithDryRun(true), kustomize.SubstituteWithStrict(strict),
			kustomize.SubstituteWithAlways(strategy == "Always"))
		if err != nil {
			return nil, fmt.Errorf("post build failed for '%s/%s': %w", resource.GetGvk(), resource.GetName(), err)
		}
		if substituted != nil {
			if _, err := built.Replace(resource); err != nil {
				return nil, err
			}
		}
	}
	return built.AsYaml()
}
